"""Pictures of masses and rods on a surface."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.views import raft
from saltus.views.base import (
    event_legend,
    event_names,
    marker,
    over_time,
    shade_undefined,
    split_at_jumps,
    time_panels,
)
from saltus.views.ground import extent, ground
from saltus.views.sliding_scene import Scene
from saltus.views.style import FAINT, INK, colour, new_figure

FRAMES = 150
MAX_LINES = 12


def figure(dataset: xr.Dataset) -> Figure:
    """Paths over the contours of the surface, rod forces, reactions and energies over time."""
    if "rod_whole" in dataset:
        return raft.figure(dataset)
    has_rods = dataset.sizes.get("rod", 0) > 0
    panels = [_rod_force, _reaction, _energies] if has_rods else [_reaction, _energies]
    drawing = new_figure(10.0, 5.6 if has_rods else 4.6)
    grid = drawing.add_gridspec(len(panels), 2, width_ratios=[1.0, 1.1])
    _paths(drawing.add_subplot(grid[:, 0]), dataset)
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
        axes.clabel(lines, lines.levels[::3], fontsize=6.5, fmt="%g m", colors="#777777")
    position = dataset["position"].values
    _, broken = split_at_jumps(dataset, position)
    for index in range(position.shape[1]):
        label = f"mass {index}" if index < MAX_LINES else None
        axes.plot(*broken[:, index, :2].T, color=colour(index), linewidth=1.1, label=label)
    for moment, face in ((0, "white"), (-1, None)):
        _rods(axes, dataset, position[moment], dashed=moment == 0)
        for index, point in enumerate(position[moment]):
            axes.plot(*point[:2], "o", color=colour(index), markerfacecolor=face or colour(index), markersize=6.5,
                      zorder=5)  # fmt: skip
    _mark_places(axes, dataset)
    (low_x, high_x), (low_y, high_y) = extent(dataset, padding=0.15)
    axes.set(xlim=(low_x, high_x), ylim=(low_y, high_y), xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.set_title("paths (open: start, filled: end)")
    event_legend(axes, dataset)
    columns = min(4, max(2, min(position.shape[1], MAX_LINES) + len(event_names(dataset))))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=4.5, ncols=columns, handlelength=1.6,
                columnspacing=1.2)  # fmt: skip


def rod_ends(dataset: xr.Dataset) -> list[tuple[int, int]]:
    """The masses that each rod joins, from its label such as "0-1"."""
    if "rod" not in dataset.coords:
        return []
    return [tuple(int(end) for end in str(label).split("-")) for label in dataset["rod"].values]  # type: ignore[misc]


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


def _rod_force(axes: Axes, dataset: xr.Dataset) -> None:
    over_time(axes, dataset, "rod_force", "h", "rod")
    shade_undefined(axes, dataset, dataset["rod_force"].values)
    low, high = axes.get_ylim()
    if low < 0.0 < high:
        axes.axhline(0.0, color=FAINT, linewidth=0.6, zorder=0)
    axes.set_ylabel("rod force [N]")
    axes.set_title("rod force (> 0 pushes the masses apart)")
    _side_legend(axes, dataset.sizes["rod"], "rods")


def _reaction(axes: Axes, dataset: xr.Dataset) -> None:
    over_time(axes, dataset, "normal_force", "N", "mass")
    shade_undefined(axes, dataset, dataset["normal_force"].values)
    axes.set_ylabel("normal force [N]")
    axes.set_title("reaction of the surface")
    _side_legend(axes, dataset.sizes["mass"], "masses")


def _side_legend(axes: Axes, count: int, plural: str) -> None:
    """A legend beside the axes, as long as it stays readable."""
    if 1 < count <= MAX_LINES:
        columns = 1 if count <= 5 else 2
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns, handlelength=1.2)
    elif count > MAX_LINES:
        axes.text(1.01, 0.5, f"{count} {plural}", transform=axes.transAxes, va="center", fontsize=8)


def _energies(axes: Axes, dataset: xr.Dataset) -> None:
    kinetic, potential, lost = (
        dataset[name].values for name in ("kinetic_energy", "potential_energy", "dissipated_energy")
    )
    lowest = potential.min()
    far = abs(lowest) > 5.0 * (np.ptp(potential) + kinetic.max())  # high up in the mountains
    potential = potential - (lowest if far else 0.0)
    series = {"kinetic": kinetic, "potential": potential, "dissipated": lost, "sum": kinetic + potential + lost}
    for index, (label, values) in enumerate(series.items()):
        times, broken = split_at_jumps(dataset, values)
        is_sum = label == "sum"
        ink = INK if is_sum else colour(index + 2)  # not the colours of the first masses
        axes.plot(times, broken, color=ink, linestyle="--" if is_sum else "-", label=label)
    axes.set_ylabel("energy [J]")
    axes.set_title("energies (potential from its least)" if far else "energies")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.6)


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The masses moving over the surface in three dimensions, with trails."""
    if "rod_whole" in dataset:
        return raft.animation(dataset)
    scene = Scene(dataset, rod_ends(dataset))
    frames = min(FRAMES, max(2, dataset.sizes["time"]))
    return FuncAnimation(scene.drawing, scene.show, frames=scene.rows(frames), blit=False)
