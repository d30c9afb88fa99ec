"""Pictures of a gas of hard bodies: its last state, its structure, how it forgets, and its averages."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from saltus.numerics.on_host import rotation_matrices
from saltus.views.bodies import surface
from saltus.views.style import FAINT, INK, colour, new_figure

MOST_DRAWN = 400  # bodies in the picture of the last state
FEW = 150  # bodies up to which they are drawn finely
BEHIND = -0.3  # cosine of the angle from a face's normal to the eye below which nobody sees the face


def figure(dataset: xr.Dataset) -> Figure:
    """The bodies at the end, g(r), the mean squared displacement, autocorrelations, and the rate over time.

    Of a packing, which is not followed in time, the bodies and g(r).
    """
    # With room that is known beforehand: to find it, matplotlib would lay out everything, bodies included, twice more.
    drawing = new_figure(10.5, 6.4, constrained=False)
    if not dataset.sizes["bin"]:
        grid = drawing.add_gridspec(1, 2, width_ratios=[1.5, 1.0], left=0.01, right=0.985, bottom=0.09, top=0.87)
        _bodies(drawing.add_subplot(grid[0], projection="3d"), dataset)
        _structure(drawing.add_subplot(grid[1]), dataset)
        return drawing
    room = {"left": 0.01, "right": 0.985, "bottom": 0.09, "top": 0.87, "wspace": 0.32, "hspace": 0.38}
    grid = drawing.add_gridspec(2, 3, width_ratios=[1.5, 1.0, 1.0], **room)
    scene = drawing.add_subplot(grid[:, 0], projection="3d")
    _bodies(scene, dataset)
    _structure(drawing.add_subplot(grid[0, 1]), dataset)
    _displacement(drawing.add_subplot(grid[0, 2]), dataset)
    _memory(drawing.add_subplot(grid[1, 1]), dataset)
    _rate(drawing.add_subplot(grid[1, 2]), dataset)
    return drawing


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The bodies as they fly, over the last states that were kept."""
    drawing = new_figure(6.4, 5.6, constrained=False)
    scene = drawing.add_subplot(projection="3d")

    def show(frame: int):
        scene.clear()
        _bodies(scene, dataset, frame)
        return []

    return FuncAnimation(drawing, show, frames=dataset.sizes["time"], blit=False)


def _bodies(scene, dataset: xr.Dataset, row: int = -1) -> None:
    box = np.asarray(json.loads(dataset.attrs["box"]))
    periodic = bool(json.loads(dataset.attrs["period"]))
    axes = dataset["semi_axes"].values
    exponents = np.asarray(json.loads(dataset.attrs["shape_exponents"]))
    kinds = np.unique(np.c_[axes, exponents], axis=0, return_inverse=True)[1].reshape(-1)
    centers, turns = dataset["position"].values[row], rotation_matrices(dataset["quaternion"].values[row])
    if periodic:
        centers = centers - box * np.round(centers / box)
    faces, tints = [], []
    for i in range(min(len(axes), MOST_DRAWN)):
        points = surface(axes[i], exponents[i], 6 if len(axes) > FEW else 10) @ turns[i].T + centers[i]
        corners = points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]
        around = np.stack(corners, axis=-2).reshape(-1, 4, 3)
        faces.append(around[_seen(around, centers[i], scene)])
        tints += [colour(int(kinds[i]))] * len(faces[-1])
    # All in one piece: drawn in a fraction of the time, and what is in front covers what is behind.
    scene.add_collection3d(
        Poly3DCollection(
            np.concatenate(faces), facecolors=to_rgba_array(tints), edgecolors=FAINT, linewidths=0.05, shade=True
        )
    )
    half = box / 2.0
    scene.set(xlim=(-half[0], half[0]), ylim=(-half[1], half[1]), zlim=(-half[2], half[2]))
    scene.set_box_aspect(box)
    scene.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    scene.set_title(_title(dataset))


def _seen(faces: np.ndarray, center: np.ndarray, scene) -> np.ndarray:
    """Which faces of a convex body are not on its far side; the eye is not so near that perspective turns more."""
    azimuth, elevation = np.radians([scene.azim, scene.elev])
    to_eye = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    across = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    outward = np.sign(np.einsum("ij,ij->i", across, faces.mean(axis=1) - center))
    return outward * (across @ to_eye) > BEHIND * np.linalg.norm(across, axis=1)


def _title(dataset: xr.Dataset) -> str:
    text = f"{dataset.attrs['count']} bodies, volume fraction {dataset.attrs['volume_fraction']:.4g}"
    factor = float(dataset["compressibility"])
    if np.isfinite(factor):
        error = float(dataset["compressibility_error"])
        spread = f" $\\pm$ {error:.2g}" if np.isfinite(error) else ""
        text += f"\n$Z$ = {factor:.5g}{spread}"
    order = float(dataset["mean_order"])
    if np.isfinite(order):
        text += f", $S_2$ = {order:.2g}"
    return text


def _structure(axes: Axes, dataset: xr.Dataset) -> None:
    axes.plot(dataset["distance"], dataset["pair_correlation"], color=colour(0))
    axes.axhline(1.0, color=INK, linewidth=0.6)
    axes.set(xlabel="distance of centres [m]", ylabel="g(r)", title="pair correlation")


def _displacement(axes: Axes, dataset: xr.Dataset) -> None:
    axes.plot(dataset["lag"], dataset["mean_squared_displacement"], color=colour(0))
    slope = 6.0 * float(dataset["diffusion"])
    if np.isfinite(slope):
        late = dataset["lag"].values
        end = float(dataset["mean_squared_displacement"].values[-1])
        axes.plot(late, end + slope * (late - late[-1]), color=INK, linewidth=0.7, linestyle="--")
    axes.set(xlabel="time between [s]", ylabel="mean squared displacement [m$^2$]", title="diffusion", ylim=(0, None))


def _memory(axes: Axes, dataset: xr.Dataset) -> None:
    velocity = dataset["velocity_autocorrelation"].values
    axes.plot(dataset["lag"], velocity / velocity[0] if velocity[0] else velocity, color=colour(0), label="velocity")
    axes.plot(dataset["lag"], dataset["orientation_autocorrelation"], color=colour(1), label="orientation, P2")
    axes.axhline(0.0, color=INK, linewidth=0.6)
    axes.set(xlabel="time between [s]", ylabel="autocorrelation", title="memory")
    axes.legend()


def _rate(axes: Axes, dataset: xr.Dataset) -> None:
    axes.plot(dataset["bin_time"], dataset["bin_collision_rate"], color=FAINT, linewidth=0.6)
    mean = float(dataset["collision_rate"])
    if np.isfinite(mean):
        axes.axhline(mean, color=colour(0))
    axes.set(xlabel="time [s]", ylabel="collisions per body [s$^{-1}$]", title="collision rate")
