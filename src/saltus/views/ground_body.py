"""Pictures of a body on the ground, with its shape."""

from __future__ import annotations

import functools
import json

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from saltus.numerics.on_host import rotation_matrices
from saltus.views.base import animate, event_legend, event_names, marker, split_at_jumps, time_panels
from saltus.views.ground import ground
from saltus.views.pages.panels import Panel, energies
from saltus.views.style import FAINT, INK, SURFACE, colour, new_figure

FRAMES = 150
POSES = 7  # of the body in the figure
FAR = 25.0  # sizes of the body that a path may be long for the body to be seen beside it
DIRECTIONS = 180  # in which the outline of a body is found
NEAR = 4.0  # sizes of the body around it that are shown where the path is longer


def figure(dataset: xr.Dataset) -> Figure:
    """The body at some instants, its height and speeds, the forces on it, and where the energy went."""
    drawing = new_figure(11.0, 6.4)
    grid = drawing.add_gridspec(4, 2, width_ratios=[1.15, 1.0])
    far = _is_far(dataset)
    scene = drawing.add_subplot(grid[: 3 if far else 4, 0], projection="3d")
    _frame(scene, dataset)
    _path(scene, dataset, dataset.sizes["time"])
    for row in _poses(dataset):
        _body(scene, dataset, row, alpha=0.8)
    if far:
        _strip(drawing.add_subplot(grid[3, 0]), dataset)
    time_panels(
        drawing,
        grid,
        [functools.partial(_height, dataset), _speeds(dataset), _forces(dataset), energies(dataset, from_least=True)],
        dataset,
    )
    return drawing


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The body as it moves over the ground."""
    drawing = new_figure(6.4, 5.4, constrained=False)
    scene = drawing.add_subplot(projection="3d")
    names = str(dataset.attrs["mode_names"]).split(", ")

    def show(row: int) -> list:
        scene.clear()
        _frame(scene, dataset, row if _is_far(dataset) else None)
        _path(scene, dataset, row + 1)
        _body(scene, dataset, row, alpha=0.9)
        mode = names[int(dataset["mode"].values[row])]
        scene.set_title(f"t = {float(dataset['time'].values[row]):8.3f} s  {mode}", family="monospace")
        return []

    return animate(drawing, dataset, show, FRAMES)


def _size(dataset: xr.Dataset) -> float:
    """Largest distance of the body's surface from its centre of mass [m]."""
    return float(max(np.max(np.linalg.norm(np.asarray(piece), axis=-1)) for piece in _meshes(dataset)))


def _meshes(dataset: xr.Dataset) -> list:
    return json.loads(dataset.attrs["mesh"])


def _poses(dataset: xr.Dataset) -> np.ndarray:
    """Rows evenly along the path, those of the start and the end among them."""
    steps = np.linalg.norm(np.diff(dataset["position"].values, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    count = int(np.clip(way[-1] / (2.2 * _size(dataset)) + 1, 1, POSES))
    return np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], count)).clip(0, len(way) - 1))


def _is_far(dataset: xr.Dataset) -> bool:
    """Whether the body is too small to be seen beside its path."""
    return bool(np.max(np.ptp(dataset["position"].values, axis=0)) > FAR * _size(dataset))


def _strip(axes: Axes, dataset: xr.Dataset) -> None:
    """The body at its poses, side by side at one scale, seen along y."""
    reach = _size(dataset)
    for place, row in enumerate(_poses(dataset)):
        turn = rotation_matrices(dataset["quaternion"].values[row])
        for i, piece in enumerate(_meshes(dataset)):
            points = np.asarray(piece) @ turn.T
            x, z = points[..., 0] + 2.3 * reach * place, points[..., 2]
            axes.fill(*_outline(x, z), color=colour(i), alpha=0.35, linewidth=0.0)
            front = np.where(points[..., 1] <= 0.0, z, np.nan)  # what looks towards us
            lines = np.stack([x, front], axis=-1)
            mesh = [*lines[::2], *lines.swapaxes(0, 1)[::4]]
            axes.add_collection(LineCollection(mesh, colors=INK, linewidths=0.35, capstyle="projecting"))
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title("the body at these places, seen along y")


def _outline(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Outline of a convex body's points, x and z as rows: those that lie farthest out in one of many directions."""
    angle = np.linspace(0.0, 2.0 * np.pi, DIRECTIONS, endpoint=False)[:, None]
    farthest = np.argmax(np.cos(angle) * x.ravel() + np.sin(angle) * z.ravel(), axis=1)
    farthest = farthest[np.diff(farthest, prepend=farthest[-1]) != 0]  # each corner once
    return np.stack([x.ravel()[farthest], z.ravel()[farthest]])


def _limits(dataset: xr.Dataset, row: int | None) -> tuple[np.ndarray, np.ndarray]:
    """A box around everything that happens, or around the body at one row."""
    size = _size(dataset)
    position = dataset["position"].values if row is None else dataset["position"].values[row][None]
    reach = 1.15 * size if row is None else NEAR * size
    low, high = position.min(axis=0) - reach, position.max(axis=0) + reach
    middle, half = 0.5 * (low + high), 0.5 * np.maximum(high - low, 0.35 * np.max(high - low))
    low, high = middle - half, middle + half
    if row is None:
        low[2] = min(low[2], float(np.min(dataset["contact_point"].values[:, 2])))
    return low, high


def _frame(scene, dataset: xr.Dataset, row: int | None = None) -> None:
    """Equal axes around everything that happens (or around the body at one row), and the ground."""
    low, high = _limits(dataset, row)
    scene.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    scene.set_box_aspect(high - low)
    scene.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    around = ground(dataset)
    if around is None:
        return
    x, y = np.meshgrid(np.linspace(low[0], high[0], 41), np.linspace(low[1], high[1], 41))
    z = around.heights(np.stack([x, y], axis=-1))
    z = np.where(z <= high[2], z, np.nan)
    scene.plot_surface(x, y, np.maximum(z, low[2]), color=SURFACE, alpha=0.55, linewidth=0.2, edgecolor=FAINT, zorder=0)


def _path(scene, dataset: xr.Dataset, rows: int) -> None:
    low, high = (np.asarray(part) for part in zip(scene.get_xlim(), scene.get_ylim(), scene.get_zlim(), strict=True))

    def within(points):
        inside = np.all((points >= low) & (points <= high), axis=1)
        return np.where(inside[:, None], points, np.nan)

    position = within(dataset["position"].values[:rows])
    scene.plot(*position.T, color=INK, linewidth=0.8, zorder=5)
    contact = dataset["mode"].values[:rows] > 0
    touched = np.where(contact[:, None], within(dataset["contact_point"].values[:rows]), np.nan)
    scene.plot(*touched.T, color=colour(1), linewidth=1.0, zorder=5)


def _body(scene, dataset: xr.Dataset, row: int, alpha: float) -> None:
    """The body as it is placed and turned at this row."""
    turn = rotation_matrices(dataset["quaternion"].values[row])
    center = dataset["position"].values[row]
    for i, piece in enumerate(_meshes(dataset)):
        points = np.asarray(piece) @ turn.T + center
        scene.plot_surface(
            points[..., 0], points[..., 1], points[..., 2],
            color=colour(i), alpha=alpha, linewidth=0.15, edgecolor=FAINT, rstride=1, cstride=2,
        )  # fmt: skip


def _height(dataset: xr.Dataset, axes: Axes) -> None:
    times, values = split_at_jumps(dataset, dataset["jump_height"].values)
    axes.plot(times, values, color=colour(0))
    event_legend(axes, dataset)
    if event_names(dataset):
        axes.legend(ncols=1, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for name in event_names(dataset):
        moments = dataset["event_time"].values[dataset["event_name"].values == name]
        axes.plot(moments, np.zeros_like(moments), marker(dataset, name), color=INK, markersize=4,
                  markerfacecolor="white", clip_on=False)  # fmt: skip
    axes.set_ylabel("height [m]")
    axes.set_title("height over the ground")


def _speeds(dataset: xr.Dataset) -> Panel:
    reach = _size(dataset)
    lines = {
        "centre of mass": np.linalg.norm(dataset["velocity"].values, axis=1),
        "size times turning": reach * np.linalg.norm(dataset["angular_velocity"].values, axis=1),
        "slip": np.linalg.norm(dataset["slip"].values, axis=1),
        "size times spin": reach * dataset["spin"].values,
    }
    return Panel("speed", "m s-1", lines)


def _forces(dataset: xr.Dataset) -> Panel:
    friction = np.linalg.norm(dataset["friction_force"].values, axis=1)
    return Panel("force of the ground", "N", {"normal": dataset["normal_force"].values, "friction": friction})
