"""Pictures of a ball on rails or on a plane."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.io import mode_names
from saltus.views.animate import DPI
from saltus.views.ball_scene import DrawnBall
from saltus.views.base import animate, draw_panel, mark_events, time_panels, words
from saltus.views.motion import orientations, radius
from saltus.views.pages.panels import Panel, each, energies, labels, of_each, speeds
from saltus.views.style import FAINT, INK, SURFACE, colour, new_figure

FRAMES = 150
LONG_WAY = 16.0  # radii; the picture goes along with a ball that travels farther
WINDOW = 6.0  # radii to each side of the ball that are then seen


def figure(dataset: xr.Dataset) -> Figure:
    """The path, velocities, slip and spin at the contacts, normal forces and energies."""
    flat = dataset.attrs["kind"] == "plane_ball"
    panels = [
        _speeds(dataset),
        speeds(dataset, "", "slip", "slip at the contacts"),
        of_each(dataset, "normal_force", "normal force", ""),
        energies(dataset),
    ]
    drawing = new_figure(10.0, 7.6)
    grid = drawing.add_gridspec(len(panels), 2, width_ratios=[1.0, 1.25])
    (_path if flat else _along)(drawing.add_subplot(grid[:2, 0]), dataset)
    _ratio(drawing.add_subplot(grid[2:, 0]), dataset)
    time_panels(drawing, grid, panels, dataset)
    return drawing


def _path(axes: Axes, dataset: xr.Dataset) -> None:
    position = dataset["position"].values
    axes.plot(position[:, 0], position[:, 1], color=colour(0))
    axes.plot(*position[0, :2], "o", color=INK, markerfacecolor="white", label="start")
    axes.plot(*position[-1, :2], "o", color=INK, label="end")
    axes.set(xlabel="x [m]", ylabel="y [m]", title="path of the centre, from above")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend()


def _along(axes: Axes, dataset: xr.Dataset) -> None:
    draw_panel(axes, dataset, Panel("place along the rails", "m", {"x": dataset["position"].values[:, 0]}))
    mark_events(axes, dataset)
    axes.set(xlabel="time [s]", ylabel="x [m]")


def _ratio(axes: Axes, dataset: xr.Dataset) -> None:
    """Friction used, force over normal force at each contact."""
    load = dataset["normal_force"].values
    force = np.linalg.norm(dataset["friction_force"].values, axis=-1)
    share = np.divide(force, load, out=np.full_like(force, np.nan), where=load > 0)
    names = labels(dataset, "normal_force", "")
    draw_panel(axes, dataset, each(share, "friction force over normal force", "1", names))
    mark_events(axes, dataset)
    axes.set(xlabel="time [s]", ylabel="|F| / N")
    axes.set_ylim(bottom=0.0)
    if share.shape[1] > 1:
        axes.legend()


def _speeds(dataset: xr.Dataset) -> Panel:
    velocity, turning, r = dataset["velocity"].values, dataset["angular_velocity"].values, radius(dataset)
    turns = {f"r Ω{name}": r * turning[:, i] for i, name in enumerate("xyz")}
    lines = {"x'": velocity[:, 0], "y'": velocity[:, 1], **turns}
    return Panel("velocity, and angular velocity times radius", "m s-1", lines)


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The turning ball: from above on a plane; from the side and from the front on rails.

    Where its way is long beside its size, the picture goes along with the ball.
    """
    position, times = dataset["position"].values, dataset["time"].values
    turned = orientations(times, dataset["angular_velocity"].values)
    r = radius(dataset)
    drawing, axes, balls = (_from_above if dataset.attrs["kind"] == "plane_ball" else _from_two_sides)(dataset, r)
    caption = axes.set_title("", family="monospace")
    modes, names = dataset["mode"].values, [words(name) for name in mode_names(dataset)]
    across = [0, 1] if dataset.attrs["kind"] == "plane_ball" else [0]
    follows = max(np.ptp(position[:, axis]) for axis in across) > LONG_WAY * r

    def show(row: int) -> list:
        told = ", ".join(dict.fromkeys(names[mode] for mode in np.atleast_1d(modes[row])))
        caption.set_text(f"t = {times[row]:7.3f} s   {told}")
        if follows:
            for axis, limit in zip(across, (axes.set_xlim, axes.set_ylim), strict=False):
                half = WINDOW * r * (0.55 if axis == 1 else 1.0)
                limit(position[row, axis] - half, position[row, axis] + half)
        return [caption, *(part for ball in balls for part in ball.show(position[row], turned[row]))]

    return animate(drawing, dataset, show, FRAMES)


def _from_above(dataset: xr.Dataset, r: float) -> tuple[Figure, Axes, list[DrawnBall]]:
    drawing, position = new_figure(8.0, 4.6), dataset["position"].values
    drawing.set_dpi(DPI)
    axes = drawing.add_subplot()
    axes.plot(position[:, 0], position[:, 1], color=FAINT, linewidth=0.8, zorder=1)
    _room(axes, position[:, :2], r)
    axes.grid(color="#DDD6C8", linewidth=0.6)
    axes.set(xlabel="x [m]", ylabel="y [m]")
    return drawing, axes, [DrawnBall(axes, r, (0, 1), (2, 1.0))]


def _from_two_sides(dataset: xr.Dataset, r: float) -> tuple[Figure, Axes, list[DrawnBall]]:
    drawing, position = new_figure(8.0, 3.4), dataset["position"].values
    drawing.set_dpi(DPI)
    grid = drawing.add_gridspec(1, 2, width_ratios=[3.0, 1.0])
    axes, front = drawing.add_subplot(grid[0]), drawing.add_subplot(grid[1])
    _room(axes, position[:, [0, 2]], r)
    touch = dataset["contact_position"].values
    height = float(np.nanmedian(touch[..., 2]))
    axes.axhline(height, color="#8C857A", linewidth=3.5, zorder=6)
    axes.grid(axis="x", color="#DDD6C8", linewidth=0.6)
    axes.set(xlabel="x [m]", ylabel="z [m]")
    _room(front, position[:, 1:], r)
    for rail in touch[0]:
        front.plot(rail[1], rail[2], "o", color="#8C857A", markersize=9, zorder=4)
    front.set(xlabel="y [m]", title="from the front")
    return drawing, axes, [DrawnBall(axes, r, (0, 2), (1, -1.0)), DrawnBall(front, r, (1, 2), (0, 1.0))]


def _room(axes: Axes, points: np.ndarray, r: float) -> None:
    low, high = points.min(axis=0) - 1.4 * r, points.max(axis=0) + 1.4 * r
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), facecolor=SURFACE)
    axes.set_aspect("equal", adjustable="box")
