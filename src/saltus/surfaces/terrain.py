"""Measured ground: heights on a regular grid, interpolated twice continuously differentiably."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from saltus import checks
from saltus.numerics import bspline
from saltus.programs.arrays import numbers
from saltus.surfaces.base import AbstractSurface, Local, Values, across, broadcast
from saltus.surfaces.grid import Grid, Label, average_blocks, fill_gaps, smooth_heights

if TYPE_CHECKING:
    from collections.abc import Sequence


class Terrain(AbstractSurface):
    """Ground from heights on a regular grid: a bicubic B-spline through all of them.

    Height, slopes and curvatures are continuous; gradient and curvature are exact derivatives of the height. The
    interpolation of a smooth surface is of fourth order in the spacing up to the border. Every cell keeps its own
    polynomial, 16 numbers: quick to look up, however large the map, and 128 bytes per pixel.

    The surface is defined between the outermost heights and as far as the pixels around known heights reach;
    beyond, it goes on smoothly while `margin` is negative. The polynomials are differentiable leaves.

    >>> x, y = np.meshgrid(np.arange(6.0), np.arange(5.0))
    >>> hill = Terrain(x**2 - y, spacing=1.0)
    >>> round(float(hill.height(2.5, 1.5)), 12)
    4.75

    Args:
        heights: Heights [m]; rows go north (rising y), columns east (rising x). NaN where nothing is known.
        spacing: Distance of the columns and of the rows, one number or (dx, dy), > 0 [m].
        x0: x of the first column [m].
        y0: y of the first row [m].
        crs: Coordinate reference system of x and y, such as "EPSG:32632"; empty if there is none.
        coarsen: Average so many by so many heights into one.
        smooth: Standard deviation of a Gaussian that the heights are smoothed with; 0 for none [m].
        origin: Map coordinates of x = y = 0, for what is written back to maps [m].
        source: Name of the file that the heights came from.
    """

    pieces: Float[Array, "cells 16"]
    known: Float[Array, " all"] | None
    x0: Float[Array, ""]
    y0: Float[Array, ""]
    dx: Float[Array, ""]
    dy: Float[Array, ""]
    shape: tuple[int, int] = eqx.field(static=True)
    label: Label = eqx.field(static=True)

    def __init__(
        self,
        heights,
        spacing: float | Sequence[float],
        x0: float = 0.0,
        y0: float = 0.0,
        *,
        crs: str = "",
        coarsen: int = 1,
        smooth: float = 0.0,
        origin: tuple[float, float] = (0.0, 0.0),
        source: str = "",
    ):
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
        self.pieces = numbers(bspline.pieces(bspline.interpolation_coefficients(heights)).reshape(-1, 16))
        self.known = None if known.all() else numbers(np.where(known, 1.0, -1.0).ravel())
        self.x0, self.y0, self.dx, self.dy = (numbers(one) for one in (x0, y0, dx, dy))
        self.shape = heights.shape
        self.label = Label(crs, (float(origin[0]), float(origin[1])), source)

    @staticmethod
    def read(
        file: str | os.PathLike,
        *,
        crs: str | None = None,
        coarsen: int = 1,
        smooth: float = 0.0,
        origin: Sequence[float] = (0.0, 0.0),
    ) -> Terrain:
        """Ground from a GeoTIFF or an ESRI ASCII grid (needs the extra `terrain`).

        Args:
            file: The raster; its first band holds the heights in metres.
            crs: Coordinate reference system, if the file does not name one; "local" for plain metres.
            coarsen: Average so many by so many pixels into one.
            smooth: Standard deviation of a Gaussian that the heights are smoothed with [m].
            origin: Map coordinates that become x = y = 0. Far from the origin of a map projection a metre keeps
                nine digits only; a near origin keeps them all [m].
        """
        from saltus.surfaces.raster import read_raster

        raster = read_raster(file, crs)
        return Terrain(
            raster.values,
            (raster.dx, raster.dy),
            raster.x0 - float(origin[0]),
            raster.y0 - float(origin[1]),
            crs=raster.crs,
            coarsen=coarsen,
            smooth=smooth,
            origin=(float(origin[0]), float(origin[1])),
            source=Path(file).name,
        )

    @property
    def grid(self) -> Grid:
        """Where the pixels lie."""
        x0, y0, dx, dy = (float(one) for one in (self.x0, self.y0, self.dx, self.dy))
        return Grid(self.shape, x0, y0, dx, dy, self.label.crs, self.label.origin, self.label.source)

    @property
    def finest(self) -> Float[Array, ""]:
        """The smaller side of a cell [m]."""
        return jnp.minimum(jnp.abs(self.dx), jnp.abs(self.dy))

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        piece, s, t = self._piece(x, y)
        return bspline.value(_along_x(bspline.value, piece, s), t)

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        piece, s, t = self._piece(x, y)
        value, slope = (_along_x(function, piece, s) for function in (bspline.value, bspline.slope))
        per_x, per_y = 1.0 / self.dx, 1.0 / self.dy
        return bspline.value(slope, t) * per_x, bspline.slope(value, t) * per_y

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        return self.local(x, y).curvature

    def local(self, x: ArrayLike, y: ArrayLike) -> Local:
        piece, s, t = self._piece(x, y)
        value, slope, bend = (_along_x(function, piece, s) for function in (bspline.value, bspline.slope, bspline.bend))
        per_x, per_y = 1.0 / self.dx, 1.0 / self.dy
        gradient = bspline.value(slope, t) * per_x, bspline.slope(value, t) * per_y
        curvature = (
            bspline.value(bend, t) * (per_x * per_x),
            bspline.slope(slope, t) * (per_x * per_y),
            bspline.bend(value, t) * (per_y * per_y),
        )
        return Local(bspline.value(value, t), gradient, curvature, across(*gradient))

    def margin(self, x: ArrayLike, y: ArrayLike) -> Values:
        """Cells to the border of the map, at most 1; between known and missing heights it falls through zero."""
        x, y = broadcast(x, y)
        u, v = (x - self.x0) / self.dx, (y - self.y0) / self.dy
        rows, columns = self.shape
        inside = jnp.minimum(jnp.minimum(u, columns - 1 - u), jnp.minimum(v, rows - 1 - v))
        inside = jnp.minimum(inside, 1.0)
        if self.known is None:
            return inside
        (i, s), (j, t) = bspline.cell(u, columns - 1), bspline.cell(v, rows - 1)
        k = [take(self.known, (j + b) * columns + i + a) for b in (0, 1) for a in (0, 1)]
        near = (1 - t) * ((1 - s) * k[0] + s * k[1]) + t * ((1 - s) * k[2] + s * k[3])
        return jnp.minimum(inside, near)

    def _piece(self, x: ArrayLike, y: ArrayLike):
        """The polynomial around each point, as rows of coefficients, and the place in its cell.

        Height, gradient and curvature look up the same numbers; the compiler does it once for all of them.
        """
        x, y = broadcast(x, y)
        rows, columns = self.shape
        i, s = bspline.cell((x - self.x0) * (1.0 / self.dx), columns - 1)
        j, t = bspline.cell((y - self.y0) * (1.0 / self.dy), rows - 1)
        flat = take(self.pieces, j * (columns - 1) + i)
        return tuple(flat.reshape(*flat.shape[:-1], 4, 4)[..., k] for k in range(4)), s, t


def _along_x(function, piece: tuple[Array, ...], s: Array) -> tuple[Array, ...]:
    """The same function of each row of coefficients."""
    rows = function(piece, s[..., None])
    return tuple(rows[..., k] for k in range(4))


def take(values: Array, index: Array) -> Array:
    """`values[index]` for indices known to be good; the indexing of arrays costs as much again to check them."""
    numbers = jax.lax.GatherDimensionNumbers(
        offset_dims=tuple(range(index.ndim, index.ndim + values.ndim - 1)),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
    )
    return jax.lax.gather(values, index[..., None], numbers, (1, *values.shape[1:]), mode="promise_in_bounds")
