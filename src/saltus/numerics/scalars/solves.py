"""Small linear systems, written out."""

from __future__ import annotations

import numpy as np

from saltus.numerics.scalars.arrays import array_of
from saltus.numerics.scalars.graph import CannotScalariseError, Scalars

LONG = 64  # unknowns of a chain; longer ones are not written out


def eliminate(s: Scalars, matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of a small linear system, by elimination with row exchanges."""
    n = len(matrix)
    rows = [list(matrix[i]) + list(right[i]) for i in range(n)]

    def op(name, *nodes):
        return s.operation(name, *nodes)

    for k in range(n):
        for i in range(k + 1, n):
            if rows[i][k].equals(0):
                continue
            swap = op("gt", op("abs", rows[i][k]), op("abs", rows[k][k]))
            upper = [op("select", swap, b, a) for a, b in zip(rows[k], rows[i], strict=True)]
            rows[i] = [op("select", swap, a, b) for a, b in zip(rows[k], rows[i], strict=True)]
            rows[k] = upper
        inverse = op("div", s.constant(1.0), rows[k][k])
        rows[k] = [op("mul", inverse, x) if j > k else x for j, x in enumerate(rows[k])]
        for i in range(k + 1, n):
            factor = rows[i][k]
            rows[i] = [op("sub", x, op("mul", factor, y)) if j > k else x
                       for j, (x, y) in enumerate(zip(rows[i], rows[k], strict=True))]  # fmt: skip
    for k in range(n - 1, -1, -1):
        for i in range(k):
            rows[i][n:] = [
                op("sub", x, op("mul", rows[i][k], y)) for x, y in zip(rows[i][n:], rows[k][n:], strict=True)
            ]
    return np.stack([array_of(row[n:], (len(row) - n,)) for row in rows])


def tridiagonal(s: Scalars, eqn, below, diagonal, above, right) -> np.ndarray:
    """Elimination along the diagonal, as for any chain."""
    if diagonal.ndim != 1 or len(diagonal) > LONG:
        raise CannotScalariseError("tridiagonal_solve of many unknowns")
    n = len(diagonal)
    ups, ends = [], []

    def op(name, *nodes):
        return s.operation(name, *nodes)

    for k in range(n):
        pivot = op("sub", diagonal[k], op("mul", below[k], ups[-1])) if k else diagonal[k]
        inverse = op("div", s.constant(1.0), pivot)
        ups.append(op("mul", above[k], inverse))
        row = [op("sub", b, op("mul", below[k], e)) for b, e in zip(right[k], ends[-1], strict=True)] if k else right[k]
        ends.append([op("mul", b, inverse) for b in row])
    for k in range(n - 2, -1, -1):
        ends[k] = [op("sub", b, op("mul", ups[k], e)) for b, e in zip(ends[k], ends[k + 1], strict=True)]
    return np.stack([array_of(row, (len(row),)) for row in ends])
