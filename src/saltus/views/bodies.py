"""Pictures of rigid bodies: colliding ones, and one on the ground."""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from saltus.numerics.on_host import rotation_matrices
from saltus.views.base import animate, draw_panel, mark_events, words
from saltus.views.ground import ground
from saltus.views.pages.bodies import each_body, panels, shapes_of, view_of
from saltus.views.pages.scene import of_attribute
from saltus.views.style import FAINT, SURFACE, colour, new_figure

FRAMES = 120
SOLID = 12  # bodies that are drawn with a fine mesh; more of them get a coarse one
MOST_PANELS = 4


def figure(dataset: xr.Dataset) -> Figure:
    """The bodies at the first event within their walls, and gaps, speeds, forces and energies over time."""
    found = [panel for panel in panels(dataset) if panel is not None]
    chosen = [*found[: MOST_PANELS - 1], found[-1]] if len(found) > MOST_PANELS else found
    drawing = new_figure(11.0, 0.6 + 1.75 * max(len(chosen), 3))
    grid = drawing.add_gridspec(len(chosen), 2, width_ratios=[1.0, 1.0])
    scene = drawing.add_subplot(grid[:, 0], projection="3d")
    row = first_event_row(dataset)
    _prepare(scene, dataset)
    _draw(scene, dataset, row)
    scene.set_title(_caption(dataset, row))
    first = None
    for number, panel in enumerate(chosen):
        axes = first = drawing.add_subplot(grid[number, 1], sharex=first)
        draw_panel(axes, dataset, panel)
        mark_events(axes, dataset)
        axes.tick_params(labelbottom=number == len(chosen) - 1)
    if first is not None:
        first.set_xlabel("time [s]")
    return drawing


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The bodies as they fly."""
    drawing = new_figure(6.4, 5.6, constrained=False)
    scene = drawing.add_subplot(projection="3d")

    def show(row: int) -> list:
        scene.clear()
        _prepare(scene, dataset)
        _draw(scene, dataset, row)
        scene.set_title(_caption(dataset, row), family="monospace")
        return []

    return animate(drawing, dataset, show, FRAMES)


def first_event_row(dataset: xr.Dataset) -> int:
    """The row just after the first event, or the middle of a run without any."""
    after = np.flatnonzero(dataset["jump_side"].values == 1)
    return int(after[0]) if len(after) else len(dataset["time"]) // 2


def _caption(dataset: xr.Dataset, row: int) -> str:
    time = float(dataset["time"].values[row])
    past = dataset["event_time"].values <= time
    last = f", after {words(str(dataset['event_name'].values[past][-1]))}" if past.any() else ""
    return f"t = {time:.4g} s{last}"


def _prepare(scene, dataset: xr.Dataset) -> None:
    """Equal axes around everything that happens, with walls, floor, box or ground."""
    position = each_body(dataset["position"].values, 3)
    reach = max(max(shape["axes"]) for shape in shapes_of(dataset, position.shape[1])[0])
    low, high = position.min(axis=(0, 1)) - reach, position.max(axis=(0, 1)) + reach
    period, walls = of_attribute(dataset, "period"), of_attribute(dataset, "walls")
    if period.size:
        low, high = -period / 2, period / 2
        scene.add_collection3d(Line3DCollection(_edges(low, high), colors=FAINT, linewidths=0.8, linestyles="dashed"))
    around = ground(dataset)
    for *normal, offset in walls.tolist():
        low, high = _wall(scene, np.array(normal), offset, low, high)
    if len(walls) == 6:
        scene.add_collection3d(Line3DCollection(_edges(low, high), colors="#8C857A", linewidths=0.9))
    if around is not None:
        low[2] = min(low[2], around.range[0])
        scene.plot_surface(around.x, around.y, around.z, color=SURFACE, alpha=0.5, linewidth=0, rcount=40, ccount=40)
    scene.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    scene.set_box_aspect(high - low, zoom=0.88)
    azimuth, elevation = view_of(dataset)
    scene.view_init(elev=elevation, azim=azimuth)
    scene.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    scene.locator_params(nbins=4)
    for axis in (scene.xaxis, scene.yaxis, scene.zaxis):
        axis.pane.set_facecolor((1, 1, 1, 0))
        axis._axinfo["grid"]["color"] = "#EEEEEE"


def _wall(scene, normal: np.ndarray, offset: float, low: np.ndarray, high: np.ndarray):
    """Limits that end at a wall along an axis; one from below is drawn as a floor."""
    axis = int(np.argmax(np.abs(normal)))
    if not np.isclose(abs(normal[axis]), 1.0):
        return low, high
    low, high = low.copy(), high.copy()
    (low if normal[axis] > 0 else high)[axis] = offset * normal[axis]
    if axis == 2 and normal[axis] > 0:
        (left, front), (right, back) = low[:2], high[:2]
        corners = [(left, front, offset), (right, front, offset), (right, back, offset), (left, back, offset)]
        floor = Poly3DCollection([corners], facecolors=SURFACE, alpha=0.7, edgecolors="#8C857A")
        scene.add_collection3d(floor)
        floor.set_sort_zpos(-1e9)  # behind all bodies, which stand on it
    return low, high


def _edges(low: np.ndarray, high: np.ndarray) -> list[list[np.ndarray]]:
    """The twelve edges of a box."""
    corners = [np.where([k & 1, k & 2, k & 4], high, low) for k in range(8)]
    return [[corners[a], corners[b]] for a in range(8) for b in range(a + 1, 8) if bin(a ^ b).count("1") == 1]


def _draw(scene, dataset: xr.Dataset, row: int) -> None:
    position, quaternion = (each_body(dataset[name].values, n)[row] for name, n in (("position", 3), ("quaternion", 4)))
    shapes, which = shapes_of(dataset, len(position))
    period = of_attribute(dataset, "period")
    for i in range(len(position)):
        shape = shapes[which[i]]
        fine = 24 if len(position) <= SOLID else 8
        mesh = surface(np.array(shape["axes"]), np.array(shape["exponents"]), fine)
        points = mesh @ rotation_matrices(quaternion[i]).T
        center = position[i] - (period * np.round(position[i] / period) if period.size else 0.0)
        points = points + center
        scene.plot_surface(
            points[..., 0], points[..., 1], points[..., 2], color=colour(i), alpha=0.75, linewidth=0.1, edgecolor=FAINT
        )


def surface(axes: np.ndarray, exponents: np.ndarray, n: int) -> np.ndarray:
    """A mesh of a superellipsoid in its own frame, (2 n, n, 3)."""
    return axes * _of_unit_axes(tuple(exponents.tolist()), n)


@functools.lru_cache(maxsize=64)
def _of_unit_axes(exponents: tuple[float, ...], n: int) -> np.ndarray:
    """The mesh for semi-axes of length one: rays of a sphere, cut where they leave the body."""
    theta, phi = np.meshgrid(np.linspace(0.0, np.pi, n), np.linspace(0.0, 2.0 * np.pi, 2 * n))
    rays = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    low, high = np.zeros(theta.shape), np.full(theta.shape, 2.0)
    for _ in range(45):
        middle = 0.5 * (low + high)
        inside = np.sum(np.abs(middle[..., None] * rays) ** exponents, axis=-1) < 1.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low[..., None] * rays
