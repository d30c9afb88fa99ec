"""All pairs of many bodies looked at, without lists: for starts, and for checks of the loop."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.numerics.components import Sym, Vec
from saltus.systems.gas.bodies import matrices
from saltus.systems.gas.separation import common_direction

TURNS = 12  # of Newton's method, from the middle
SIZE = 4096  # pairs that are looked at together


def near_pairs(place: np.ndarray, reach: float, box: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of points nearer than `reach`, all images counted: two indices, and the vector between them.

    Args:
        place: Points (n, 3).
        reach: Distance.
        box: Edges of the periodic box; infinite along an edge that is not periodic.
    """
    periodic = np.isfinite(box)
    edges = np.where(periodic, box, 0.0)
    home = place - edges * np.floor(np.where(periodic, place / np.where(periodic, box, 1.0), 0.0))
    points, owners = [home], [np.arange(len(home))]
    for image in itertools.product(*((-1, 0, 1) if p else (0,) for p in periodic)):
        ghost = home + np.array(image) * edges
        close = np.all(~periodic | ((ghost > -reach) & (ghost < edges + reach)), axis=1)
        if any(image) and close.any():
            points.append(ghost[close])
            owners.append(np.flatnonzero(close))
    everyone, owner = np.concatenate(points), np.concatenate(owners)
    from scipy.spatial import KDTree

    found = KDTree(home).sparse_distance_matrix(KDTree(everyone), reach, output_type="ndarray")
    one, two = found["i"], found["j"]
    keep = (owner[two] > one) | ((owner[two] == one) & (two != one))
    one, two = one[keep], two[keep]
    return one, owner[two], everyone[two] - home[one]


def gaps(axes: np.ndarray, place: np.ndarray, quaternion: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Gaps of all near pairs of ellipsoids: lower bounds, exact where they touch or overlap a little.

    Args:
        axes: Semi-axes (n, 3).
        place: Centres (n, 3).
        quaternion: Orientations (n, 4), body to lab.
        box: Edges of the periodic box; infinite along an edge that is not periodic.
    """
    one, two, apart = near_pairs(place, 2.02 * float(axes.max()), np.asarray(box, float))
    turns = matrices(quaternion)
    forms = np.einsum("nij,nj,nkj->nik", turns, axes**2, turns)
    found = []
    for begin in range(0, len(one), SIZE):
        rows = np.minimum(np.arange(begin, begin + SIZE), len(one) - 1)  # padded: one program for all
        bound = _gaps(*(jnp.asarray(part) for part in (forms[one[rows]], forms[two[rows]], apart[rows])))
        found.append(np.asarray(bound)[: len(one) - begin])
    return np.concatenate(found) if found else np.full(1, np.inf)


@jax.jit
def _gaps(first: Array, second: Array, between: Array) -> Array:
    a, b, apart = Sym.of(first), Sym.of(second), Vec.of(between)
    normal, _, _ = common_direction(a, b, apart, jnp.full_like(apart.x, 0.5), TURNS)
    return normal.dot(apart) - jnp.sqrt((a @ normal).dot(normal)) - jnp.sqrt((b @ normal).dot(normal))
