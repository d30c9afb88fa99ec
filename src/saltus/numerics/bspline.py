"""Cubic B-splines on a regular grid: coefficients through given values, and local evaluation."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

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
    from scipy.sparse import diags_array, lil_matrix
    from scipy.sparse.linalg import splu

    bands: dict[str, Any] = {"offsets": [-1, 0, 1], "shape": (n + 2, n + 2)}  # SciPy's hints know one offset alone
    matrix = lil_matrix(diags_array([1 / 6, 4 / 6, 1 / 6], **bands))
    # The third derivative does not jump at the second and at the last but one value.
    matrix[0, :], matrix[n + 1, :] = 0.0, 0.0
    ends = [1.0, -4.0, 6.0, -4.0, 1.0]
    matrix[0, :5], matrix[n + 1, n - 3 :] = ends, ends
    inner = np.pad(values, [(1, 1), *[(0, 0)] * (values.ndim - 1)])
    return splu(matrix.tocsc()).solve(inner)


def pieces(coefficients: np.ndarray) -> np.ndarray:
    """The polynomial of each cell, of shape (rows - 1, columns - 1, 4, 4): powers of v, then of u, both from 0 to 1."""
    # Rows: powers; columns: the four basis functions of a cell.
    basis = np.array([[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]]) / 6.0
    around = np.lib.stride_tricks.sliding_window_view(coefficients, (4, 4))
    return np.ascontiguousarray(basis @ around @ basis.T)


def value(piece: tuple[Array, ...], t: Float[Array, "..."]) -> Array:
    """A cubic with these coefficients, at t."""
    c0, c1, c2, c3 = piece
    return ((c3 * t + c2) * t + c1) * t + c0


def slope(piece: tuple[Array, ...], t: Float[Array, "..."]) -> Array:
    """Its first derivative."""
    _, c1, c2, c3 = piece
    return c3 * (3 * t * t) + c2 * (2 * t) + c1


def bend(piece: tuple[Array, ...], t: Float[Array, "..."]) -> Array:
    """Its second derivative."""
    _, _, c2, c3 = piece
    return c3 * (6 * t) + 2 * c2


def cell(u: Float[Array, "..."], n_cells: int) -> tuple[Array, Array]:
    """Index of the cell that `u` lies in, and the fraction within it; beyond the grid the last cell goes on."""
    index = jnp.clip(jnp.floor(u), 0, n_cells - 1)
    return index.astype(jnp.int32), u - index
