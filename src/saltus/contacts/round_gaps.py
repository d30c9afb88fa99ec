"""Gaps of many pairs of ellipsoids in NumPy: for starts and checks, where a compiled program would not pay."""

from __future__ import annotations

import numpy as np

from saltus.numerics.on_host import rotation_matrices

ROUNDS = 24  # of Newton's method; four to eight are the rule
SHORT = 1e-8  # last step of a direction after which the width is right to rounding


def forms_of(axes: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """Tensors A with support function sqrt(n . A n) of ellipsoids with these semi-axes and orientations (n, 3, 3)."""
    turns = rotation_matrices(quaternion)
    return np.einsum("nij,nj,nkj->nik", turns, np.asarray(axes, float) ** 2, turns)


def ellipsoid_gaps(one: np.ndarray, two: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Widths of the widest slabs between pairs of ellipsoids, and whether the search for each has converged.

    Newton's method on the sphere of directions, from that of two ellipsoids grown until they touch. Any direction
    gives a lower bound. Measured against `contacts.gap`: right to 1e-15 of the size wherever it says to have converged
    for separate bodies; of a deep overlap it may give another local maximum.

    Args:
        one: Forms of the first bodies (m, 3, 3).
        two: Forms of the second bodies.
        offset: From the first centres to the second (m, 3).
    """
    with np.errstate(all="ignore"):  # what is no number has not converged
        n = _start(one, two, offset)
        best, last = np.full(len(n), -np.inf), np.full(len(n), np.inf)
        for _ in range(ROUNDS):
            width, step = _newton(one, two, offset, n)
            wins = width > best
            best, last = np.where(wins, width, best), np.where(wins | ~(last < SHORT), _length(step), last)
            if np.all(last < SHORT):
                break
            n = _unit(n + step)
    return best, last < SHORT


def overlap_deeply(one: np.ndarray, two: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Whether pairs certainly overlap: grown about their centres they touched when a tenth smaller at least."""
    with np.errstate(all="ignore"):
        weight = _weight(one, two, offset)
        z = _solve(_blend(one, two, weight), offset)
        return ~(weight * (1.0 - weight) * np.einsum("ni,ni->n", z, offset) > 0.81)


def _start(one: np.ndarray, two: np.ndarray, offset: np.ndarray) -> np.ndarray:
    return _unit(_solve(_blend(one, two, _weight(one, two, offset)), offset))


def _weight(one: np.ndarray, two: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Perram and Wertheim's balance, as `contacts.gap.start_direction` has it."""
    weight = np.full(len(offset), 0.5)
    for _ in range(8):
        z = _solve(_blend(one, two, weight), offset)
        ratio = np.sqrt(np.einsum("ni,nij,nj->n", z, one, z) / np.einsum("ni,nij,nj->n", z, two, z))
        weight = ratio / (1.0 + ratio)
    return weight


def _newton(one: np.ndarray, two: np.ndarray, offset: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Width along a direction, and the step to the direction of the widest slab as it looks from there."""
    bend, apart = 0.0, offset
    for form in (one, two):
        point = np.einsum("nij,nj->ni", form, n)
        support = np.sqrt(np.einsum("ni,ni->n", point, n))[:, None]
        point = point / support
        apart = apart - point
        bend = bend + (form - point[:, :, None] * point[:, None, :]) / support[:, :, None]
    width = np.einsum("ni,ni->n", n, apart)
    g = width[:, None, None]
    bend = bend + (1.0 - g) * n[:, :, None] * n[:, None, :] + g * np.eye(3)
    return width, _solve(bend, apart - n * width[:, None])


def _blend(one: np.ndarray, two: np.ndarray, weight: np.ndarray) -> np.ndarray:
    weight = weight[:, None, None]
    return (1.0 - weight) * one + weight * two


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """By cofactors: a singular matrix gives what is no number, and no error."""
    a, b, c = np.moveaxis(matrix, 1, 0)
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)  # of a symmetric matrix
    return np.einsum("nij,nj->ni", cofactors, right) / np.einsum("ni,ni->n", a, cofactors[:, 0])[:, None]


def _length(vector: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(vector * vector, axis=1))


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / _length(vector)[:, None]
