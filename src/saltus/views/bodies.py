"""Pictures of rigid bodies that collide."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.views.base import event_legend, frame_times, mark_events, marker, split_at_jumps, words
from saltus.views.style import FAINT, INK, colour, new_figure
from saltus.views.turning import rotation_matrix

FRAMES = 120
SOLID = 12  # bodies that are drawn with a fine mesh; more of them get a coarse one


def figure(dataset: xr.Dataset) -> Figure:
    """The bodies at the first event, the smallest gap, the contact force, and where the energy went."""
    drawing = new_figure(10.5, 7.0)
    grid = drawing.add_gridspec(3, 2, width_ratios=[1.1, 1.0])
    scene = drawing.add_subplot(grid[:, 0], projection="3d")
    row = first_event_row(dataset)
    _prepare(scene, dataset)
    _draw(scene, dataset, row)
    scene.set_title(f"t = {float(dataset['time'].values[row]):.6g} s")
    gap = drawing.add_subplot(grid[0, 1])
    _gaps(gap, dataset)
    _forces(drawing.add_subplot(grid[1, 1], sharex=gap), dataset)
    _energies(drawing.add_subplot(grid[2, 1], sharex=gap), dataset)
    return drawing


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The bodies as they fly."""
    drawing = new_figure(6.4, 5.6, constrained=False)
    scene = drawing.add_subplot(projection="3d")
    rows = frame_times(dataset, FRAMES)

    def show(frame: int):
        scene.clear()
        _prepare(scene, dataset)
        _draw(scene, dataset, rows[frame])
        scene.set_title(_caption(dataset, rows[frame]), family="monospace")
        return []

    return FuncAnimation(drawing, show, frames=len(rows), blit=False)


def first_event_row(dataset: xr.Dataset) -> int:
    """The row just after the first event, or the middle of a run without any."""
    after = np.flatnonzero(dataset["jump_side"].values == 1)
    return int(after[0]) if len(after) else len(dataset["time"]) // 2


def _caption(dataset: xr.Dataset, row: int) -> str:
    time = float(dataset["time"].values[row])
    past = dataset["event_time"].values <= time
    last = words(str(dataset["event_name"].values[past][-1])) if past.any() else ""
    return f"t = {time:9.4f} s  {last}"


def _prepare(scene, dataset: xr.Dataset) -> None:
    """Equal axes around everything that happens."""
    position = dataset["position"].values
    reach = float(np.max(json.loads(dataset.attrs["shape_axes"]))) * 1.3
    low, high = position.min(axis=(0, 1)) - reach, position.max(axis=(0, 1)) + reach
    period = json.loads(dataset.attrs.get("period", "[]"))
    if period:
        low, high = -np.asarray(period) / 2, np.asarray(period) / 2
    scene.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    scene.set_box_aspect(high - low)
    scene.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")


def _draw(scene, dataset: xr.Dataset, row: int) -> None:
    axes = np.asarray(json.loads(dataset.attrs["shape_axes"]))
    exponents = np.asarray(json.loads(dataset.attrs["shape_exponents"]))
    period = np.asarray(json.loads(dataset.attrs.get("period", "[]")))
    position, quaternion = dataset["position"].values[row], dataset["quaternion"].values[row]
    for i in range(len(position)):
        x, y, z = surface(axes[i], exponents[i], 24 if len(position) <= SOLID else 8)
        points = np.stack([x, y, z], axis=-1) @ rotation_matrix(quaternion[i]).T
        center = position[i] - (period * np.round(position[i] / period) if period.size else 0.0)
        points = points + center
        scene.plot_surface(
            points[..., 0], points[..., 1], points[..., 2], color=colour(i), alpha=0.75, linewidth=0.1, edgecolor=FAINT
        )


def surface(axes: np.ndarray, exponents: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A mesh of a superellipsoid in its own frame: rays of a sphere, cut where they leave the body."""
    theta, phi = np.meshgrid(np.linspace(0.0, np.pi, n), np.linspace(0.0, 2.0 * np.pi, 2 * n))
    rays = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    rays = rays * axes
    low, high = np.zeros(theta.shape), np.full(theta.shape, 2.0)
    for _ in range(45):
        middle = 0.5 * (low + high)
        inside = np.sum(np.abs(middle[..., None] * rays / axes) ** exponents, axis=-1) < 1.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    points = low[..., None] * rays
    return points[..., 0], points[..., 1], points[..., 2]


def _gaps(axes: Axes, dataset: xr.Dataset) -> None:
    times, values = split_at_jumps(dataset, dataset["gap"].values.min(axis=1))
    axes.plot(times, values, color=colour(0))
    axes.axhline(0.0, color=INK, linewidth=0.6)
    mark_events(axes, dataset)
    event_legend(axes, dataset)
    axes.set(ylabel="smallest gap [m]", xlim=(times[0], max(times[-1], times[0] + 1e-12)))
    axes.set_title(f"gap; paradox: {dataset.attrs.get('paradox', '')}")
    if len(dataset["event_time"]):
        axes.legend(ncols=3)


def _forces(axes: Axes, dataset: xr.Dataset) -> None:
    times, values = split_at_jumps(dataset, dataset["contact_force"].values)
    for i in range(min(values.shape[1], 8)):
        axes.plot(times, values[:, i], color=colour(i), label=f"body {i}")
    axes.set(ylabel="contact force [N]")
    axes.set_title("force of sustained contact")


def _energies(axes: Axes, dataset: xr.Dataset) -> None:
    for index, name in enumerate(("kinetic_energy", "potential_energy", "dissipated_energy")):
        times, values = split_at_jumps(dataset, dataset[name].values)
        axes.plot(times, values, color=colour(index), label=words(name))
    for name in dict.fromkeys(str(name) for name in dataset["event_name"].values):
        chosen = dataset["event_time"].values[dataset["event_name"].values == name]
        ground = np.zeros_like(chosen)
        axes.plot(chosen, ground, marker(dataset, name), color=INK, markersize=4, markerfacecolor="white")
    axes.set(xlabel="time [s]", ylabel="energy [J]")
    axes.legend(ncols=3)
