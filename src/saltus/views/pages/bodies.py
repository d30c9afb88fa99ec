"""A page of rigid bodies: colliding ones, and one on the ground."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import xarray as xr

from saltus.numerics.on_host import rotation_matrices
from saltus.views.ground import ground
from saltus.views.pages.arrays import pack
from saltus.views.pages.panels import Panel, each, energies, labels, of_each, speeds
from saltus.views.pages.scene import Scene, add_ground, inks, of_attribute

NEEDS = ("position", "quaternion")
COIN = 0.03  # half of the thickness with which a disc is drawn, in radii
FEW = 12  # bodies that are drawn with arrows and trails


def scene(dataset: xr.Dataset, rows: np.ndarray) -> Scene:
    """The bodies, walls, box or ground around them, and the points of contact."""
    drawn = Scene(rows, view=view_of(dataset))
    position = each_body(dataset["position"].values, 3)
    quaternion = each_body(dataset["quaternion"].values, 4)
    count = position.shape[1]
    shapes, which, reach = _shapes_to_draw(dataset, count)
    period, walls = of_attribute(dataset, "period"), of_attribute(dataset, "walls")
    if period.size:
        drawn.around(np.array([-period / 2, period / 2]))
        drawn.add("box", low=(-period / 2).tolist(), high=(period / 2).tolist(), periodic=True)
    else:
        drawn.around(position, margin=reach)
    if "ground_height" in dataset:
        _ground(drawn, dataset, reach)
    elif walls.size:
        _walls(drawn, walls)
    place, few = position[rows], count <= FEW
    drawn.add(
        "bodies",
        name="bodies",
        position=drawn.place(place),
        quaternion=pack(quaternion[rows]),
        shapes=shapes,
        which=which,
        inks=inks(count),
        trail=few and not period.size,
        period=period.tolist(),
        labels=[f"body {index}" for index in range(count)] if count > 1 else ["body"],
        clear=False,
    )
    if few:
        drawn.arrows_of(dataset, "velocity", place, 5)
        drawn.arrows_of(dataset, "angular_velocity", place, 3)
    _contact(drawn, dataset, rows, reach)
    if count == 1:
        drawn.follow_if_small(reach)
    return drawn


def each_body(values: np.ndarray, parts: int) -> np.ndarray:
    """With a dimension for the bodies, also where there is one alone."""
    return values.reshape(len(values), -1, parts)


def shapes_of(dataset: xr.Dataset, count: int) -> tuple[list[dict[str, Any]], list[int]]:
    """The different shapes, and which one each body has."""
    axes, exponents = of_attribute(dataset, "shape_axes"), of_attribute(dataset, "shape_exponents")
    axes = np.broadcast_to(axes.reshape(-1, 3), (count, 3)) if axes.size else np.ones((count, 3))
    exponents = np.broadcast_to(exponents.reshape(-1, 3), (count, 3)) if exponents.size else np.full((count, 3), 2.0)
    found: dict[tuple[float, ...], int] = {}
    which = [found.setdefault((*a, *p), len(found)) for a, p in zip(axes.tolist(), exponents.tolist(), strict=True)]
    return [{"axes": list(one[:3]), "exponents": list(one[3:])} for one in found], which


def _shapes_to_draw(dataset: xr.Dataset, count: int) -> tuple[list[dict[str, Any]], list[int], float]:
    """Shapes for the player, which one each body has, and the largest radius [m]; a body may be made of pieces."""
    if "mesh" not in dataset.attrs:
        shapes, which = shapes_of(dataset, count)
        return shapes, which, max(max(shape["axes"]) for shape in shapes)
    pieces = [np.asarray(piece, float) for piece in json.loads(dataset.attrs["mesh"])]
    reach = max(float(np.linalg.norm(piece, axis=-1).max()) for piece in pieces)
    pieces = [_with_thickness(piece, reach) for piece in pieces]
    return [{"pieces": [pack(piece) for piece in pieces]}], [0] * count, reach


def _with_thickness(piece: np.ndarray, reach: float) -> np.ndarray:
    """A disc without thickness is drawn as a thin coin, so that it is seen edge-on and from behind."""
    spans = np.ptp(piece.reshape(-1, 3), axis=0)
    flat = int(np.argmin(spans))
    if spans[flat] > 1e-6 * reach:
        return piece
    rim = piece[len(piece) // 2]
    middle, up = np.broadcast_to(rim[:-1].mean(axis=0), rim.shape), COIN * reach * np.eye(3)[flat]
    # Each edge twice, so that the faces stay flat and the rim is shaded apart from them.
    return np.stack([middle + up, rim + up, rim + up, rim - up, rim - up, middle - up])


def view_of(dataset: xr.Dataset) -> tuple[float, float]:
    """Azimuth and elevation [deg] from which the motion is well seen."""
    quaternion = each_body(dataset["quaternion"].values, 4)
    if quaternion.shape[1] != 1 or "shape_axes" not in dataset.attrs:
        return -58.0, 20.0
    return _broadside(shapes_of(dataset, 1)[0][0]["axes"], quaternion[:, 0]), 20.0


def _broadside(axes: list[float], quaternion: np.ndarray) -> float:
    """The azimuth [deg] from which the longest axis of a turning body is seen least end-on."""
    longest = np.array(
        [rotation_matrices(one)[:, int(np.argmax(axes))] for one in quaternion[:: len(quaternion) // 50 + 1]]
    )
    azimuths = np.arange(-150.0, 30.0, 10.0)
    towards = np.stack([np.cos(np.radians(azimuths)), np.sin(np.radians(azimuths))])
    return float(azimuths[int(np.argmin(np.mean((longest[:, :2] @ towards) ** 2, axis=0)))])


def _ground(drawn: Scene, dataset: xr.Dataset, reach: float) -> None:
    """The surface under one body; a plane reaches beyond the body, however little that has moved."""
    found = ground(dataset)
    if found is None:
        return
    known = np.isfinite(found.z)
    x, y, z = found.x[known], found.y[known], found.z[known]
    plane = np.linalg.lstsq(np.stack([x, y, np.ones(len(x))], axis=1), z, rcond=None)[0]
    if np.abs(plane[0] * x + plane[1] * y + plane[2] - z).max() > 1e-9 * (np.ptp(x) + np.ptp(y)):
        add_ground(drawn, dataset, exaggerate=False)
        return
    low, high = drawn.low[:2] - 0.6 * reach, drawn.high[:2] + 0.6 * reach

    def on_plane(at: np.ndarray) -> np.ndarray:
        return np.array([*at, plane[0] * at[0] + plane[1] * at[1] + plane[2]])

    corner = on_plane(low)
    sides = on_plane(np.array([high[0], low[1]])) - corner, on_plane(np.array([low[0], high[1]])) - corner
    drawn.add("sheet", corner=corner.tolist(), along=sides[0].tolist(), across=sides[1].tolist())
    drawn.around(np.array([corner, corner + sides[0] + sides[1]]))


def _walls(drawn: Scene, walls: np.ndarray) -> None:
    """Six walls of a box as its edges; others as sheets, seen from inside."""
    normals, offsets = walls[:, :3], walls[:, 3]
    axes = [np.flatnonzero(np.isclose(np.abs(normals[:, axis]), 1.0)) for axis in range(3)]
    if len(walls) == 6 and all(len(pair) == 2 for pair in axes):
        low = [float(max(offsets[i] for i in pair if normals[i, axis] > 0)) for axis, pair in enumerate(axes)]
        high = [float(min(-offsets[i] for i in pair if normals[i, axis] < 0)) for axis, pair in enumerate(axes)]
        drawn.around(np.array([low, high]))
        drawn.add("box", low=low, high=high, periodic=False)
        return
    middle, half = 0.5 * (drawn.low + drawn.high), 0.75 * float(np.max(drawn.high - drawn.low))
    for normal, offset in zip(normals, offsets, strict=True):
        foot = middle + (offset - middle @ normal) * normal
        across = np.eye(3)[int(np.argmin(np.abs(normal)))]
        first = np.cross(normal, across)
        first /= np.linalg.norm(first)
        second = np.cross(normal, first)
        corner = foot - half * (first + second)
        drawn.add(
            "sheet", corner=corner.tolist(), along=(2 * half * first).tolist(), across=(2 * half * second).tolist()
        )
        drawn.around(np.array([foot]))


def _contact(drawn: Scene, dataset: xr.Dataset, rows: np.ndarray, reach: float) -> None:
    """Where one body touches the ground, and the forces there."""
    if "contact_point" not in dataset or dataset["contact_point"].values.shape[-1] != 3:
        return
    at = dataset["contact_point"].values[rows].reshape(len(rows), -1, 3)
    load = np.nan_to_num(dataset["normal_force"].values[rows]).reshape(len(rows), -1)
    touching = load > 0 if load.shape[1] == at.shape[1] else np.linalg.norm(load, axis=1, keepdims=True) > 0
    at = np.where(touching[..., None], at, np.nan)
    drawn.add("contacts", name="contact", at=drawn.place(at), radius=0.04 * reach)
    drawn.arrows_of(dataset, "friction_force", at, 1)


def panels(dataset: xr.Dataset) -> list[Panel | None]:
    """Gaps, speeds, turning, forces of contact and energies."""
    # Of a body on the ground the height over it is told, which is zero in contact without rounding.
    gap = dataset["gap"].values if "gap" in dataset and "jump_height" not in dataset else None
    found: list[Panel | None] = []
    if gap is not None and gap.ndim == 2 and gap.shape[1] > 2:
        found.append(Panel("smallest gap", "m", {"of all": np.nanmin(gap, axis=1)}))
    elif gap is not None:
        found.append(each(gap, "gap", "m", labels(dataset, "gap", "body")))
    found += [speeds(dataset, "body"), speeds(dataset, "body", "angular_velocity", "angular velocity")]
    if "jump_height" in dataset and dataset["jump_height"].values.any():  # not of a body that never leaves the ground
        found.insert(0, each(dataset["jump_height"].values, "height over the ground", "m", ["body"]))
    for name in ("slip", "spin"):
        if name in dataset:
            vector = dataset[name].ndim > 1
            panel = speeds(dataset, "", name, name) if vector else of_each(dataset, name, name, "")
            if panel is not None and name == "slip":  # of a body that rolls, rounding
                panel = dataclasses.replace(panel, scale=float(np.nanmax(np.abs(dataset["velocity"].values))))
            found.append(panel)
    for name, title in (("contact_force", "force of sustained contact"), ("normal_force", "normal force")):
        if name in dataset and np.nan_to_num(dataset[name].values).any():
            found.append(of_each(dataset, name, title, "body"))
    if "friction_force" in dataset:
        found.append(speeds(dataset, "body", "friction_force", "friction force"))
    return [*found, energies(dataset)]
