"""Cubic B-splines on a regular grid: coefficients through given values, and local evaluation.

The elimination is written by hand: `scipy.interpolate` would have to be imported (0.22 s), and the evaluation is part
of programs of JAX, for known points of NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from saltus.numerics.on_host import library

if TYPE_CHECKING:
    from jaxtyping import Array, Float

SMALLEST = 4  # values along an axis that a cubic needs


def interpolation_coefficients(values: np.ndarray) -> np.ndarray:
    """Coefficients of the bicubic spline through `values`, one more at each side of the grid.

    The two outermost cells of each side share one polynomial (not-a-knot), so that cubics are met exactly and
    the error is of fourth order in the spacing up to the border.
    """
    return _along_first(_along_first(np.asarray(values, float)).T).T


def _along_first(values: np.ndarray) -> np.ndarray:
    """Coefficients c with (c[i - 1] + 4 c[i] + c[i + 1]) / 6 = values[i - 1], numbered from 0 to n + 1."""
    n, right = len(values), 6.0 * np.ascontiguousarray(values)
    if n < SMALLEST:
        raise ValueError(f"A grid needs at least {SMALLEST} values along each axis, got {n}.")
    found = np.empty((n + 2, *values.shape[1:]))
    # The third derivative does not jump at the second and at the last but one value, which gives their coefficients.
    found[2] = (8.0 * right[1] - right[0] - right[2]) / 36.0
    found[n - 1] = (8.0 * right[n - 2] - right[n - 3] - right[n - 1]) / 36.0
    # Between them elimination, from the second on and back; then outwards at both ends.
    weights = np.zeros(n)
    for i in range(3, n - 1):
        weights[i] = 1.0 / (4.0 - weights[i - 1])
        found[i] = (right[i - 1] - found[i - 1]) * weights[i]
    for i in range(n - 2, 2, -1):
        found[i] -= weights[i] * found[i + 1]
    for i in (1, 0):
        found[i] = right[i] - 4.0 * found[i + 1] - found[i + 2]
        found[n + 1 - i] = right[n - 1 - i] - 4.0 * found[n - i] - found[n - 1 - i]
    return found


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
    xp = library(u)
    index = xp.clip(xp.floor(u), 0, n_cells - 1)
    return index.astype(np.int32), u - index
