"""Measured ground: heights on a regular grid, interpolated twice continuously differentiably."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from saltus.hybrid.state import build_unchecked
from saltus.numerics import bspline
from saltus.programs.arrays import numbers
from saltus.surfaces import relief
from saltus.surfaces.base import AbstractSurface, Local, Values, across, broadcast
from saltus.surfaces.grid import Grid, Label

if TYPE_CHECKING:
    from collections.abc import Sequence


class Terrain(AbstractSurface):
    """Ground from heights on a regular grid: a bicubic B-spline through all of them.

    Height, slopes and curvatures are continuous; gradient and curvature are exact derivatives of the height. The
    interpolation of a smooth surface is of fourth order in the spacing up to the border. Every cell keeps its own
    polynomial, 16 numbers: quick to look up, however large the map, and 128 bytes per pixel.

    The surface is defined between the outermost heights and as far as the pixels around known heights reach;
    beyond, it goes on smoothly while `margin` is negative. The polynomials are differentiable leaves.

    >>> import numpy as np
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
        ground = relief.Relief.of(
            heights, spacing, x0, y0, crs=crs, coarsen=coarsen, smooth=smooth, origin=origin, source=source
        )
        for name, value in _fields_of(ground).items():
            setattr(self, name, value)

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
        ground = relief.read(file, crs=crs, coarsen=coarsen, smooth=smooth, origin=origin)
        return build_unchecked(Terrain, **_fields_of(ground))

    @property
    def grid(self) -> Grid:
        """Where the pixels lie."""
        return relief.grid_of(self)

    @property
    def finest(self) -> Float[Array, ""]:
        """The smaller side of a cell [m]."""
        return jnp.minimum(jnp.abs(self.dx), jnp.abs(self.dy))

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        rows, s, t = relief.piece(self, *broadcast(x, y))
        return bspline.value(relief.along_x(bspline.value, rows, s), t)

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        rows, s, t = relief.piece(self, *broadcast(x, y))
        value, slope = (relief.along_x(function, rows, s) for function in (bspline.value, bspline.slope))
        per_x, per_y = 1.0 / self.dx, 1.0 / self.dy
        return bspline.value(slope, t) * per_x, bspline.slope(value, t) * per_y

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        return self.local(x, y).curvature

    def local(self, x: ArrayLike, y: ArrayLike) -> Local:
        height, gradient, curvature = relief.local(self, *broadcast(x, y))
        return Local(height, gradient, curvature, across(*gradient))

    def margin(self, x: ArrayLike, y: ArrayLike) -> Values:
        """Cells to the border of the map, at most 1; between known and missing heights it falls through zero."""
        return relief.margin(self, *broadcast(x, y))


def _fields_of(ground: relief.Relief) -> dict[str, Any]:
    """The fields of a terrain: the numbers of a relief as those of JAX, the rest as it is."""
    fields = {name: numbers(getattr(ground, name)) for name in ("pieces", "x0", "y0", "dx", "dy")}
    known = None if ground.known is None else numbers(ground.known)
    return {**fields, "known": known, "shape": ground.shape, "label": ground.label}
