"""The surface under a motion as heights in the dataset, so that it can be drawn wherever it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from saltus.hybrid import HybridSystem
    from saltus.surfaces import AbstractSurface

POINTS = 141  # along each side of the rectangle
PADDING = 0.15  # room around the motion, in units of its larger side
_HALVINGS = 40

DIMS = ("ground_row", "ground_column")
MEANING = {
    "ground_x": "x of the points of the surface",
    "ground_y": "y of the points of the surface",
    "ground_height": "height of the surface; NaN where it is not defined",
}


def ground_variables(system: Any, variables: Mapping[str, xr.Variable]) -> dict[str, xr.Variable]:
    """Points of the system's surface over a rectangle around all positions.

    For every system with an attribute `surface` (of `saltus.surfaces`) whose results have a `position` in space;
    nothing otherwise. The points lie on a square grid; those next to the border of the surface are moved onto it.
    """
    from saltus.surfaces import AbstractSurface

    surface, position = getattr(system, "surface", None), variables.get("position")
    if not isinstance(surface, AbstractSurface) or position is None or position.shape[-1] != 3:
        return {}
    if not np.isfinite(position.values).any():
        return {}
    room = _size(variables, position.values)
    x, y = np.meshgrid(*(np.linspace(low - room, high + room, POINTS) for low, high in extent(position.values)))
    values = dict(zip(MEANING, sample(surface, x, y), strict=True))
    return {name: xr.Variable(DIMS, values[name], {"units": "m", "long_name": MEANING[name]}) for name in MEANING}


def prepare(system: HybridSystem) -> None:
    """Have another thread make the program that looks at the surface of a system (`programs.prepare`)."""
    from saltus.programs import ahead, prepare
    from saltus.surfaces import AbstractSurface
    from saltus.surfaces.heights import ground

    surface, points = getattr(system, "surface", None), np.zeros(POINTS**2)
    if isinstance(surface, AbstractSurface) and "position" in system.quantities():
        prepare(ground, surface, points, points, rank=ahead.Rank.at_end)


def _size(variables: Mapping[str, xr.Variable], position: np.ndarray) -> float:
    """Room for a body that touches the ground beside its centre of mass [m]; a point needs none."""
    touch = variables.get("contact_point")
    if touch is None or touch.shape != position.shape:
        return 0.0
    away = np.linalg.norm(touch.values - position, axis=-1)
    near = away[np.isfinite(away)]
    # While it flies, the point below it is farther than the body is large.
    return 2.5 * float(np.quantile(near, 0.5)) if near.size else 0.0


def extent(position: np.ndarray, padding: float = PADDING) -> list[tuple[float, float]]:
    """A rectangle around all positions that is not too narrow, (low, high) along x and y [m]."""
    spans = [(float(np.nanmin(position[..., axis])), float(np.nanmax(position[..., axis]))) for axis in (0, 1)]
    widest = max(high - low for low, high in spans) or 1.0
    out = []
    for low, high in spans:
        half = max((high - low) / 2, 0.3 * widest) + padding * widest
        out.append(((low + high) / 2 - half, (low + high) / 2 + half))
    return out


def sample(surface: AbstractSurface, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The grid with its outermost points moved onto the border, and the heights there."""
    height, margin = _evaluate(surface, x, y)
    inside = (margin > 0) & np.isfinite(height)
    if inside.all() or not inside.any():
        return x, y, np.where(inside, height, np.nan)
    x, y, known = _to_the_border(surface, x, y, inside)
    height, _ = _evaluate(surface, x, y)
    return x, y, np.where(known, height, np.nan)


def _to_the_border(surface, x, y, inside) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points just outside, moved towards a neighbour inside until the surface is defined; and which points have one."""
    rows, columns = np.indices(inside.shape)
    near_x, near_y, found = x.copy(), y.copy(), inside.copy()
    # Straight neighbours before slanted ones: the border then comes out as smooth as the grid allows.
    for down, across in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)):
        row = np.clip(rows + down, 0, inside.shape[0] - 1)
        column = np.clip(columns + across, 0, inside.shape[1] - 1)
        take = ~found & inside[row, column]
        near_x[take], near_y[take] = x[row, column][take], y[row, column][take]
        found |= take
    low, high = np.zeros(inside.shape), np.ones(inside.shape)  # share of the way out: defined, undefined
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        height, margin = _evaluate(surface, near_x + middle * (x - near_x), near_y + middle * (y - near_y))
        defined = (margin > 0) & np.isfinite(height)
        low, high = np.where(defined, middle, low), np.where(defined, high, middle)
    share = np.where(inside, 1.0, low)
    return near_x + share * (x - near_x), near_y + share * (y - near_y), found


def _evaluate(surface, x, y) -> tuple[np.ndarray, np.ndarray]:
    from saltus.surfaces.heights import ground

    height, margin = ground(surface, np.ravel(x), np.ravel(y))
    return np.asarray(height).reshape(x.shape), np.asarray(margin).reshape(x.shape)
