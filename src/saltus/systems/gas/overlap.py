"""All pairs of many bodies looked at, without lists: for starts, and for checks of the loop."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.contacts.gap import closest
from saltus.contacts.pair import Pair
from saltus.numerics.components import Sym, Turn, Vec
from saltus.numerics.on_host import rotation_matrices
from saltus.programs import program
from saltus.shapes.base import AbstractShape
from saltus.systems.gas.bodies import Bodies, shape_at
from saltus.systems.gas.separation import common_direction

TURNS = 12  # of Newton's method, from the middle
SIZE = 4096  # pairs that are looked at together
FEWER = 64  # where they are no ellipsoids
FEW = 600  # points of which all pairs are looked at sooner than a tree of them is made, and its library imported


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
    if len(home) <= FEW and 2.0 * reach <= float(box.min()):
        return _nearest_images(home, reach, edges)
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


def _nearest_images(home: np.ndarray, reach: float, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `near_pairs`, where no second image of a point can be as near: all pairs are asked, without a tree of them."""
    columns = []
    for axis, edge in zip(home.T, edges, strict=True):
        apart = axis[None, :] - axis[:, None]
        # Both are in the box: they are less than an edge apart.
        apart -= edge * ((apart > 0.5 * edge).astype(float) - (apart < -0.5 * edge))
        columns.append(apart)
    x, y, z = columns
    one, two = np.nonzero(np.triu(x * x + y * y + z * z <= reach**2, 1))
    return one, two, np.stack([column[one, two] for column in columns], axis=1)


def gaps(bodies: Bodies, box: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Gaps of all near pairs: lower bounds, exact where they touch or overlap a little.

    Args:
        bodies: The bodies.
        box: Edges of the periodic box; infinite along an edge that is not periodic.
        scale: Factor of all their semi-axes.
    """
    one, two, apart = near_pairs(bodies.place, 2.02 * scale * float(bodies.radius.max()), np.asarray(box, float))
    turns = rotation_matrices(bodies.quaternion)
    forms = np.einsum("nij,nj,nkj->nik", turns, (scale * bodies.hull) ** 2, turns)
    found = _in_pieces(_gaps, len(one), lambda rows: (forms[one[rows]], forms[two[rows]], apart[rows]), SIZE)
    if bodies.shapes is not None:
        near = np.flatnonzero(found < 0.1 * scale * float(bodies.radius.mean()))
        kind, turned, stock = bodies.shapes.kind, bodies.quaternion, bodies.shapes.stock

        def pairs(rows: np.ndarray) -> tuple:
            first, second = one[near[rows]], two[near[rows]]
            between = apart[near[rows]] / scale
            return kind[first], kind[second], turned[first], turned[second], between

        found[near] = scale * _in_pieces(functools.partial(_shape_gaps, stock), len(near), pairs, FEWER)
    return found if len(found) else np.full(1, np.inf)


def supports(bodies: Bodies, direction: np.ndarray) -> np.ndarray:
    """How far each body reaches from its centre in a direction (a unit vector)."""
    seen = np.einsum("nij,i->nj", rotation_matrices(bodies.quaternion), direction)
    if bodies.shapes is None:
        return np.linalg.norm(seen * bodies.axes, axis=1)
    return np.asarray(_supports(bodies.shapes.stock, jnp.asarray(bodies.shapes.kind), jnp.asarray(seen)))


def _in_pieces(compute, count: int, part, size: int) -> np.ndarray:
    """What `compute` finds for so many rows, in pieces of one size: one program for all."""
    found = [np.zeros(0)]
    for begin in range(0, count, size):
        rows = np.minimum(np.arange(begin, begin + size), count - 1)
        found.append(np.asarray(compute(*part(rows)))[: count - begin])
    return np.concatenate(found)


@program
def _supports(stock: AbstractShape, kind: Array, directions: Array) -> Array:
    return jax.vmap(lambda k, n: shape_at(stock, k).support_pair(Vec.of(n))[0])(kind, directions)


@program
def _shape_gaps(stock: AbstractShape, first: Array, second: Array, turn1: Array, turn2: Array, between: Array) -> Array:
    def one(i, j, p, q, apart):
        pair = Pair(shape_at(stock, i), shape_at(stock, j), Turn.of_quaternion(p), Turn.of_quaternion(q), Vec.of(apart))
        return closest(pair)[3]

    return jax.vmap(one)(first, second, turn1, turn2, between)


@program
def _gaps(first: Array, second: Array, between: Array) -> Array:
    a, b, apart = Sym.of(first), Sym.of(second), Vec.of(between)
    normal, _, _ = common_direction(a, b, apart, jnp.full_like(apart.x, 0.5), TURNS)
    return normal.dot(apart) - jnp.sqrt((a @ normal).dot(normal)) - jnp.sqrt((b @ normal).dot(normal))
