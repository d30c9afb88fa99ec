"""Pictures of masses and rods on a surface."""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.views.base import (
    animate,
    draw_panel,
    event_legend,
    marker,
    shade_undefined,
    split_at_jumps,
    time_panels,
)
from saltus.views.ground import extent, ground
from saltus.views.pages.panels import energies, of_each, speeds
from saltus.views.pages.sliding import rod_ends
from saltus.views.sliding_scene import Scene
from saltus.views.style import FAINT, INK, colour, new_figure

FRAMES = 150
MAX_LINES = 12  # masses or rods that are told apart
MAX_PROFILES = 4
MAX_MARKS = 60


def figure(dataset: xr.Dataset) -> Figure:
    """Paths over the contours of the surface, heights along them, rod forces, reactions, speeds and energies."""
    has_rods = dataset.sizes.get("rod", 0) > 0
    moving = [speeds(dataset, "mass")] if "velocity" in dataset else []
    panels = [functools.partial(_reaction, dataset), *moving, energies(dataset)]
    panels = [functools.partial(_rod_force, dataset), *panels] if has_rods else panels
    few = dataset.sizes["mass"] <= MAX_PROFILES and ground(dataset) is not None and not has_rods
    drawing = new_figure(10.5, 0.5 + 1.55 * max(len(panels), 3))
    grid = drawing.add_gridspec(len(panels), 2, width_ratios=[1.0, 1.1])
    left = grid[:, 0].subgridspec(2, 1, height_ratios=[1.4, 1.0]) if few else None
    _paths(drawing.add_subplot(grid[:, 0] if left is None else left[0]), dataset)
    if left is not None:
        _profile(drawing.add_subplot(left[1]), dataset)
    time_panels(drawing, grid, panels, dataset)
    return drawing


def _paths(axes: Axes, dataset: xr.Dataset) -> None:
    """The paths seen from above, with the rods at the start and the end."""
    around = ground(dataset)
    if around is not None and np.isfinite(around.z).any():
        levels = 14
        axes.contourf(around.x, around.y, around.z, levels=levels, cmap="Greys", alpha=0.28)
        lines = axes.contour(around.x, around.y, around.z, levels=levels, colors=FAINT, linewidths=0.5,
                             linestyles="solid")  # fmt: skip
        axes.clabel(lines, list(lines.levels)[::3], fontsize=6.5, fmt="%g m", colors="#777777")
    position = dataset["position"].values
    many = position.shape[1] > MAX_LINES
    _, broken = split_at_jumps(dataset, position)
    for index in range(position.shape[1]):
        label = None if many else f"mass {index}"
        ink = colour(0 if many else index)
        axes.plot(
            *broken[:, index, :2].T, color=ink, linewidth=0.6 if many else 1.1, label=label, alpha=0.7 if many else 1
        )
    size = 3.0 if many else 6.5
    for moment, face in ((0, "white"), (-1, None)):
        _rods(axes, dataset, position[moment], dashed=moment == 0)
        for index, point in enumerate(position[moment]):
            ink = (INK if moment == 0 else colour(1)) if many else colour(index)
            axes.plot(*point[:2], "o", color=ink, markerfacecolor=face or ink, markersize=size, zorder=5)
    if len(dataset["event_time"]) <= MAX_MARKS:
        _mark_places(axes, dataset)
        event_legend(axes, dataset)
    (low_x, high_x), (low_y, high_y) = extent(dataset, padding=0.15)
    axes.set(xlim=(low_x, high_x), ylim=(low_y, high_y), xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.set_title(f"paths{f' of {position.shape[1]} masses' if many else ''} (hollow: start, filled: end)")
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        columns = min(4, max(2, len(handles)))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=4.5, ncols=columns, handlelength=1.6,
                    columnspacing=1.2)  # fmt: skip


def _profile(axes: Axes, dataset: xr.Dataset) -> None:
    """Height over the distance travelled as seen from above, and the ground below: where a mass flies can be seen."""
    position, around = dataset["position"].values, ground(dataset)
    for index in range(position.shape[1]):
        way = position[:, index]
        along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way[:, :2], axis=0).T))])
        if around is not None:
            axes.plot(along, around.heights(way), color="#8C857A", linewidth=2.2, alpha=0.6,
                      label="ground" if index == 0 else None)  # fmt: skip
        axes.plot(along, way[:, 2], color=colour(index), label=f"mass {index}")
    width, height = np.diff(axes.get_xlim())[0], np.diff(axes.get_ylim())[0]
    true = 0.2 < height / width < 5.0
    if true:
        axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="distance travelled, from above [m]", ylabel="z [m]")
    axes.set_title("height along the path" + (" (true to scale)" if true else ""))
    axes.legend()


def _rods(axes: Axes, dataset: xr.Dataset, position: np.ndarray, dashed: bool) -> None:
    for first, second in rod_ends(dataset):
        style = (0, (4, 3)) if dashed else "solid"
        axes.plot(*position[[first, second], :2].T, color=INK, linewidth=1.0, linestyle=style, zorder=4)


def _mark_places(axes: Axes, dataset: xr.Dataset) -> None:
    """A mark on the path where an event happened to a mass."""
    times, before = dataset["time"].values, dataset["jump_side"].values == -1
    for moment, name, index in zip(
        dataset["event_time"].values, dataset["event_name"].values, dataset["event_index"].values, strict=True
    ):
        rows = np.flatnonzero((times == moment) & before)
        if rows.size and 0 <= index < dataset.sizes["mass"]:
            point = dataset["position"].values[rows[0], index]
            axes.plot(*point[:2], marker(dataset, str(name)), color=INK, markerfacecolor="white", markersize=4.5,
                      markeredgewidth=0.8, zorder=6)  # fmt: skip


def _rod_force(dataset: xr.Dataset, axes: Axes) -> None:
    draw_panel(axes, dataset, of_each(dataset, "rod_force", "rod force", "rod", "> 0 pushes the masses apart"))
    shade_undefined(axes, dataset, dataset["rod_force"].values)
    low, high = axes.get_ylim()
    if low < 0.0 < high:
        axes.axhline(0.0, color=FAINT, linewidth=0.6, zorder=0)


def _reaction(dataset: xr.Dataset, axes: Axes) -> None:
    draw_panel(axes, dataset, of_each(dataset, "normal_force", "reaction of the surface", "mass"))
    shade_undefined(axes, dataset, dataset["normal_force"].values)


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The masses moving over the surface in three dimensions, with trails."""
    scene = Scene(dataset, rod_ends(dataset))
    return animate(scene.drawing, dataset, scene.show, FRAMES)
