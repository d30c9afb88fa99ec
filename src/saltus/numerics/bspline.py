"""Cubic B-splines on a regular grid: coefficients through given values, and local evaluation."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.sparse import diags, lil_matrix
from scipy.sparse.linalg import splu

SMALLEST = 4  # values along an axis that a cubic needs


def interpolation_coefficients(values: np.ndarray) -> np.ndarray:
    """Coefficients of the bicubic spline through `values`, one more at each side of the grid.

    The two outermost cells of each side share one polynomial (not-a-knot), so that cubics are met exactly and
    the error is of fourth order in the spacing up to the border.
    """
    return _along_first(_along_first(np.asarray(values, float)).T).T


def _along_first(values: np.ndarray) -> np.ndarray:
    n = len(values)
    if n < SMALLEST:
        raise ValueError(f"A grid needs at least {SMALLEST} values along each axis, got {n}.")
    matrix = lil_matrix(diags([1 / 6, 4 / 6, 1 / 6], [-1, 0, 1], shape=(n + 2, n + 2)))
    # The third derivative does not jump at the second and at the last but one value.
    matrix[0, :], matrix[n + 1, :] = 0.0, 0.0
    ends = [1.0, -4.0, 6.0, -4.0, 1.0]
    matrix[0, :5], matrix[n + 1, n - 3 :] = ends, ends
    inner = np.pad(values, [(1, 1), *[(0, 0)] * (values.ndim - 1)])
    return splu(matrix.tocsc()).solve(inner)


def weights(t: Float[Array, "..."]) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]]:
    """The four basis functions of a cell at the fraction t, their first and their second derivatives."""
    s, square = 1.0 - t, t * t
    cube = square * t
    value = (s * s * s / 6, (3 * cube - 6 * square + 4) / 6, (3 * (square + t - cube) + 1) / 6, cube / 6)
    slope = (-0.5 * s * s, 1.5 * square - 2 * t, -1.5 * square + t + 0.5, 0.5 * square)
    bend = (s, 3 * t - 2, 1 - 3 * t, t)
    return value, slope, bend


def cell(u: Float[Array, "..."], n_cells: int) -> tuple[Array, Array]:
    """Index of the cell that `u` lies in, and the fraction within it; beyond the grid the last cell goes on."""
    index = jnp.clip(jnp.floor(u), 0, n_cells - 1)
    return index.astype(jnp.int32), u - index
