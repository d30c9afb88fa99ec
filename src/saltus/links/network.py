"""The graph that rods make of masses: its connected parts, and whether rods repeat what others hold."""

from __future__ import annotations

import functools

import numpy as np

MINIMUM_NORM_UP_TO = 1500  # rods; a redundant network needs a dense eigenvalue problem


def has_redundant_rods(pairs, n_masses: int) -> bool:
    """Whether some rods only repeat what others hold, for masses in general position in a plane.

    The same answer holds on a sphere; on a less symmetric surface a redundant rod can lock the
    network instead.
    """
    return _has_redundant_rods(tuple((int(i), int(j)) for i, j in pairs), n_masses)


@functools.lru_cache(maxsize=4)  # a start that is looked at is mostly built thereafter
def _has_redundant_rods(pairs: tuple[tuple[int, int], ...], n_masses: int) -> bool:
    if len(pairs) <= forest_size(pairs, n_masses):
        return False
    if len(pairs) > 2 * n_masses - 3:
        return True
    place = np.random.default_rng(0).normal(size=(n_masses, 2))
    rows = np.zeros((len(pairs), 2 * n_masses))
    for r, (i, j) in enumerate(pairs):
        rows[r, 2 * i : 2 * i + 2] = place[i] - place[j]
        rows[r, 2 * j : 2 * j + 2] = place[j] - place[i]
    return int(np.linalg.matrix_rank(rows, tol=1e-9)) < len(pairs)


def components(pairs, n_masses: int) -> np.ndarray:
    """Label of the connected part of the network to which each mass belongs.

    By hand: `scipy.sparse.csgraph` would have to be imported (0.12 s).
    """
    parent = list(range(n_masses))

    def root(mass: int) -> int:
        while parent[mass] != mass:
            parent[mass] = mass = parent[parent[mass]]
        return mass

    for i, j in pairs:
        low, high = sorted((root(int(i)), root(int(j))))
        parent[high] = low
    # The least mass of a part is its root, so that parts are numbered in the order of their first masses.
    return np.unique([root(mass) for mass in range(n_masses)], return_inverse=True)[1]


def forest_size(pairs, n_masses: int) -> int:
    """How many rods the network would have if it were cut open to trees."""
    return n_masses - (int(components(pairs, n_masses).max()) + 1)
