"""Measured ground as plain numbers: heights made ready, and what they say at a point.

Nothing here needs JAX; the functions of points take arrays of NumPy and of JAX alike.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from saltus import checks
from saltus.numerics import bspline
from saltus.numerics.on_host import library
from saltus.surfaces.grid import Grid, Label, average_blocks, fill_gaps, smooth_heights


@dataclasses.dataclass(frozen=True)
class Relief:
    """Heights on a regular grid as one polynomial per cell (`surfaces.Terrain` tells the rest).

    Args:
        pieces: The 16 coefficients of each cell.
        known: 1 where a height is known and -1 where it is missing; None if all are known.
        x0: x of the first column [m].
        y0: y of the first row [m].
        dx: Distance of the columns [m].
        dy: Distance of the rows [m].
        shape: Number of rows and columns.
        label: What is written on the map.
    """

    pieces: np.ndarray
    known: np.ndarray | None
    x0: float
    y0: float
    dx: float
    dy: float
    shape: tuple[int, int]
    label: Label

    @staticmethod
    def of(
        heights,
        spacing,
        x0: float = 0.0,
        y0: float = 0.0,
        *,
        crs: str = "",
        coarsen: int = 1,
        smooth: float = 0.0,
        origin: Sequence[float] = (0.0, 0.0),
        source: str = "",
    ) -> Relief:
        """Heights checked, averaged, smoothed, without gaps, and interpolated; arguments as of `surfaces.Terrain`."""
        heights = np.asarray(heights, float)
        checks.shaped("heights", heights, (None, None), "Give a table with one row per y and one column per x.")
        checks.positive("spacing", spacing)
        checks.finite("x0", x0)
        checks.finite("y0", y0)
        checks.nonnegative("smooth", smooth, "It is a length in metres.")
        if int(coarsen) != coarsen or coarsen < 1:
            raise ValueError(f"`coarsen` must be a whole number >= 1, got {coarsen}.")
        dx, dy = (float(one) for one in np.broadcast_to(np.asarray(spacing, float), (2,)))
        heights, (x0, y0, dx, dy) = average_blocks(heights, int(coarsen), (float(x0), float(y0), dx, dy))
        if min(heights.shape) < bspline.SMALLEST:
            raise ValueError(
                f"`heights` must have at least {bspline.SMALLEST} rows and columns, got {heights.shape[0]} by "
                f"{heights.shape[1]}. Coarsen less, or bring a larger map."
            )
        known = np.isfinite(heights)
        if not known.any():
            raise ValueError("`heights` holds no height at all: every value is missing.")
        heights = fill_gaps(smooth_heights(heights, smooth, dx, dy))
        pieces = bspline.pieces(bspline.interpolation_coefficients(heights)).reshape(-1, 16)
        missing = None if known.all() else np.where(known, 1.0, -1.0).ravel()
        label = Label(crs, (float(origin[0]), float(origin[1])), source)
        return Relief(pieces, missing, x0, y0, dx, dy, heights.shape, label)

    @property
    def grid(self) -> Grid:
        """Where the pixels lie."""
        return grid_of(self)


_handed_on: dict[str, Relief] = {}  # at most one, that the next to read the same file takes


def read(
    file: str | os.PathLike,
    *,
    crs: str | None = None,
    coarsen: int = 1,
    smooth: float = 0.0,
    origin: Sequence[float] = (0.0, 0.0),
) -> Relief:
    """The relief of a raster (needs the extra `terrain`); arguments as of `Terrain.read`."""
    if _handed_on and (ready := _handed_on.pop(_key(file, crs, coarsen, smooth, origin), None)):
        return ready
    from saltus.surfaces.raster import read_raster

    raster = read_raster(file, crs)
    origin = float(origin[0]), float(origin[1])
    return Relief.of(
        raster.values, (raster.dx, raster.dy), raster.x0 - origin[0], raster.y0 - origin[1],
        crs=raster.crs, coarsen=coarsen, smooth=smooth, origin=origin, source=Path(file).name,
    )  # fmt: skip


def hand_on(ground: Relief, **read_with: Any) -> None:
    """Keep a relief for who reads the same file next: a start that was looked at is mostly built thereafter.

    Large maps take seconds to read.
    """
    _handed_on.clear()
    _handed_on[_key(**read_with)] = ground


def _key(file: str | os.PathLike, crs: str | None, coarsen: int, smooth: float, origin: Sequence[float]) -> str:
    path = Path(file)
    told = path.stat() if path.is_file() else None
    changed = told and (told.st_mtime_ns, told.st_size)
    return repr((str(path.absolute()), changed, crs, coarsen, smooth, list(origin)))


def grid_of(ground: Any) -> Grid:
    """Where the pixels of a relief or terrain lie."""
    x0, y0, dx, dy = (float(one) for one in (ground.x0, ground.y0, ground.dx, ground.dy))
    return Grid(ground.shape, x0, y0, dx, dy, ground.label.crs, ground.label.origin, ground.label.source)


def piece(ground: Any, x, y):
    """The polynomial around each point, as rows of coefficients, and the place in its cell.

    Height, gradient and curvature look up the same numbers; the compiler does it once for all of them.
    """
    rows, columns = ground.shape
    i, s = bspline.cell((x - ground.x0) * (1.0 / ground.dx), columns - 1)
    j, t = bspline.cell((y - ground.y0) * (1.0 / ground.dy), rows - 1)
    flat = take(ground.pieces, j * (columns - 1) + i)
    return tuple(flat.reshape(*flat.shape[:-1], 4, 4)[..., k] for k in range(4)), s, t


def along_x(function, rows, s):
    """The same function of each row of coefficients."""
    found = function(rows, s[..., None])
    return tuple(found[..., k] for k in range(4))


def local(ground: Any, x, y) -> tuple[Any, tuple[Any, Any], tuple[Any, Any, Any]]:
    """Height, gradient and curvature at points."""
    rows, s, t = piece(ground, x, y)
    value, slope, bend = (along_x(function, rows, s) for function in (bspline.value, bspline.slope, bspline.bend))
    per_x, per_y = 1.0 / ground.dx, 1.0 / ground.dy
    gradient = bspline.value(slope, t) * per_x, bspline.slope(value, t) * per_y
    curvature = (
        bspline.value(bend, t) * (per_x * per_x),
        bspline.slope(slope, t) * (per_x * per_y),
        bspline.bend(value, t) * (per_y * per_y),
    )
    return bspline.value(value, t), gradient, curvature


def margin(ground: Any, x, y):
    """Cells to the border of the map, at most 1; between known and missing heights it falls through zero."""
    xp = library(x, y)
    u, v = (x - ground.x0) / ground.dx, (y - ground.y0) / ground.dy
    rows, columns = ground.shape
    inside = xp.minimum(xp.minimum(u, columns - 1 - u), xp.minimum(v, rows - 1 - v))
    inside = xp.minimum(inside, 1.0)
    if ground.known is None:
        return inside
    (i, s), (j, t) = bspline.cell(u, columns - 1), bspline.cell(v, rows - 1)
    k = [take(ground.known, (j + b) * columns + i + a) for b in (0, 1) for a in (0, 1)]
    near = (1 - t) * ((1 - s) * k[0] + s * k[1]) + t * ((1 - s) * k[2] + s * k[3])
    return xp.minimum(inside, near)


def take(values, index):
    """`values[index]` for indices known to be good; JAX's own indexing of arrays costs as much again to check them."""
    if library(values, index) is np:
        return values[index]
    import jax

    numbers = jax.lax.GatherDimensionNumbers(
        offset_dims=tuple(range(index.ndim, index.ndim + values.ndim - 1)),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
    )
    return jax.lax.gather(values, index[..., None], numbers, (1, *values.shape[1:]), mode="promise_in_bounds")
