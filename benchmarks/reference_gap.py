"""Gaps in extended precision (80 bits): Newton's method for the common normal, from an answer in double precision."""

from __future__ import annotations

import numpy as np

Long = np.longdouble
STEPS = 4


def rotation_matrices(quaternions: np.ndarray) -> np.ndarray:
    """Matrices (n, 3, 3), body to lab."""
    q = np.asarray(quaternions, Long)
    w, x, y, z = (q / np.sqrt(np.sum(q * q, axis=1))[:, None]).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def level(axes, exponents, turn, x):
    """Level function at lab points relative to the centre: value, gradient, Hessian."""
    z = np.einsum("nji,nj->ni", turn, x) / axes
    power = np.abs(z) ** (exponents - 2)
    value = np.sum(power * z * z, axis=1) - 1
    gradient = np.einsum("nij,nj->ni", turn, exponents * power * z / axes)
    bend = exponents * (exponents - 1) * power / axes**2
    return value, gradient, np.einsum("nij,nj,nkj->nik", turn, bend, turn)


def refined(ones, twos, seen, centers=None, turns=None) -> tuple[np.ndarray, np.ndarray]:
    """Gap and normal of stacked pairs from a `Separation` in double precision.

    `centers` and `turns` are those of both bodies in extended precision, if they are known better than the bodies say.
    """
    sides = []
    for k, body in enumerate((ones, twos)):
        axes = np.asarray(body.shape.axes, Long)
        exponents = np.asarray(getattr(body.shape, "exponents", np.full(axes.shape, 2.0)), Long)
        center = np.asarray(body.center, Long) if centers is None else centers[k]
        turn = rotation_matrices(body.quaternion) if turns is None else turns[k]
        sides.append((axes, exponents, turn, center))
    offset = sides[1][3] - sides[0][3]
    x1 = np.asarray(seen.point1, Long) - np.asarray(ones.center, Long)
    x2 = np.asarray(seen.point2, Long) - np.asarray(twos.center, Long)
    for _ in range(STEPS):
        x1, x2 = _newton(sides, offset, x1, x2)
    _, gradient, _ = level(*sides[0][:3], x1)
    normal = gradient / np.sqrt(np.sum(gradient**2, axis=1))[:, None]
    return np.sum(normal * (offset + x2 - x1), axis=1), normal


def _newton(sides, offset, x1, x2):
    """One step of grad F1 + mu grad F2 = 0, x2 - x1 + offset = nu grad F1, F1 = F2 = 0."""
    n = len(x1)
    f1, g1, h1 = level(*sides[0][:3], x1)
    f2, g2, h2 = level(*sides[1][:3], x2)
    mu = np.sqrt(np.sum(g1**2, axis=1) / np.sum(g2**2, axis=1))
    apart = offset + x2 - x1
    nu = np.sum(apart * g1, axis=1) / np.sum(g1**2, axis=1)
    matrix, right = np.zeros((n, 8, 8), Long), np.zeros((n, 8), Long)
    eye = np.eye(3, dtype=Long)
    matrix[:, :3, :3], matrix[:, :3, 3:6], matrix[:, :3, 6] = h1, mu[:, None, None] * h2, g2
    matrix[:, 3:6, :3] = -eye - nu[:, None, None] * h1
    matrix[:, 3:6, 3:6], matrix[:, 3:6, 7] = eye, -g1
    matrix[:, 6, :3], matrix[:, 7, 3:6] = g1, g2
    right[:, :3] = -(g1 + mu[:, None] * g2)
    right[:, 3:6] = -(apart - nu[:, None] * g1)
    right[:, 6], right[:, 7] = -f1, -f2
    step = solve(matrix, right)
    return x1 + step[:, :3], x2 + step[:, 3:6]


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Linear systems in extended precision by elimination with pivots."""
    a, b = matrix.copy(), right.copy()
    n, rows = a.shape[1], np.arange(len(a))
    for k in range(n):
        pivot = k + np.argmax(np.abs(a[:, k:, k]), axis=1)
        a[rows, k], a[rows, pivot] = a[rows, pivot].copy(), a[rows, k].copy()
        b[rows, k], b[rows, pivot] = b[rows, pivot].copy(), b[rows, k].copy()
        for i in range(k + 1, n):
            factor = a[:, i, k] / a[:, k, k]
            a[:, i] -= factor[:, None] * a[:, k]
            b[:, i] -= factor * b[:, k]
    x = np.zeros_like(b)
    for k in reversed(range(n)):
        x[:, k] = (b[:, k] - np.sum(a[:, k, k + 1 :] * x[:, k + 1 :], axis=1)) / a[:, k, k]
    return x
