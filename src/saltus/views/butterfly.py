"""Pictures of a ball on turning plates."""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from saltus.views.animate import DPI
from saltus.views.ball_scene import DrawnBall
from saltus.views.base import animate, draw_panel, frame_times, time_panels
from saltus.views.motion import orientations, radius
from saltus.views.pages.panels import Panel
from saltus.views.style import FAINT, INK, SURFACE, colour, new_figure

FRAMES = 150
SHOTS = 4


def figure(dataset: xr.Dataset) -> Figure:
    """Plates and ball at some instants, angles, normal force, required friction."""
    panels = [functools.partial(draw, dataset) for draw in (_angles, _load, _friction)]
    drawing = new_figure(10.0, 6.0)
    grid = drawing.add_gridspec(len(panels), 2, width_ratios=[1.0, 1.2])
    _scene(drawing.add_subplot(grid[:, 0]), dataset)
    time_panels(drawing, grid, panels, dataset)
    return drawing


def _scene(axes: Axes, dataset: xr.Dataset) -> None:
    position = dataset["position"].values
    outline = dataset["outline"].values
    for shot, row in enumerate(frame_times(dataset, SHOTS)):
        shade = 0.25 + 0.75 * shot / (SHOTS - 1)
        axes.plot(outline[row, :, 0], outline[row, :, 2], color=INK, alpha=shade, linewidth=1.0)
        x, z = position[row, [0, 2]]
        axes.add_patch(Circle((x, z), _seen_radius(dataset), color=colour(0), alpha=0.5 * shade))
        axes.plot(x, z, "o", color=colour(0), alpha=shade, markersize=3.0)
    axes.plot(position[:, 0], position[:, 2], color=colour(1), linewidth=1.0, label="path of the centre")
    axes.set(xlabel="x [m]", ylabel="z [m]", title="plates and ball, later is darker")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="lower center")


def _seen_radius(dataset: xr.Dataset) -> float:
    """Distance of the centre from the edge as seen from the side: the ball hangs between the plates."""
    gap = dataset["position"].values[0] - dataset["contact_position"].values[0, 0]
    return float(np.hypot(gap[0], gap[2]))


def _angles(dataset: xr.Dataset, axes: Axes) -> None:
    lines = {"plates θ": dataset["plate_angle"].values, "ball φ": dataset["profile_angle"].values}
    draw_panel(axes, dataset, Panel("angle of the plates, angle of the ball on them", "rad", lines))
    axes.legend()


def _load(dataset: xr.Dataset, axes: Axes) -> None:
    load = dataset["normal_force"].values
    load = {"N": load if load.ndim == 1 else load[:, 0]}
    draw_panel(axes, dataset, Panel("normal force of each contact", "N", load, note="0: lift-off"))
    axes.axhline(0.0, color=FAINT, linewidth=0.6)


def _friction(dataset: xr.Dataset, axes: Axes) -> None:
    needed = dataset["required_friction"].values
    draw_panel(axes, dataset, Panel("friction along the track over normal force", "1", {"F / N": needed}))
    axes.set_ylabel("[-]")
    top = np.nanquantile(needed, 0.98)
    if np.isfinite(top) and top > 0:
        axes.set_ylim(0.0, 1.3 * top)


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """Plates and ball from the side."""
    times, position, outline = dataset["time"].values, dataset["position"].values, dataset["outline"].values
    drawing = new_figure(5.6, 5.6)
    drawing.set_dpi(DPI)
    axes = drawing.add_subplot()
    reach = 1.15 * float(np.abs(np.concatenate([position[:, [0, 2]], outline[0][:, [0, 2]]])).max())
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="x [m]", ylabel="z [m]")
    plate = Polygon(outline[0][:, [0, 2]], facecolor=SURFACE, edgecolor=INK, linewidth=1.2)
    axes.add_patch(plate)
    (arm,) = axes.plot([], [], color=FAINT, linewidth=1.0)
    (trail,) = axes.plot([], [], color=colour(1), linewidth=1.0)
    caption = axes.set_title("", family="monospace")
    turned = orientations(times, dataset["angular_velocity"].values)
    ball = DrawnBall(axes, radius(dataset), (0, 2), (1, -1.0))

    def show(row: int) -> list:
        plate.set_xy(outline[row][:, [0, 2]])
        arm.set_data([0.0, outline[row][0, 0]], [0.0, outline[row][0, 2]])
        trail.set_data(position[: row + 1, 0], position[: row + 1, 2])
        caption.set_text(f"t = {times[row]:7.3f} s")
        return [plate, arm, trail, caption, *ball.show(position[row], turned[row])]

    return animate(drawing, dataset, show, FRAMES)
