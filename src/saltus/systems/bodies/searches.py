"""Compiled searches over many pairs of a system: gaps now, contacts to come."""

from __future__ import annotations

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus.contacts.first_contact import first_contact, locate_contact, prepare_seek, seek
from saltus.contacts.gap import gap, separation
from saltus.contacts.round_gaps import ellipsoid_gaps, forms_of
from saltus.contacts.wall import wall_contact, wall_gap
from saltus.hybrid import State
from saltus.programs import brief_program, program
from saltus.programs.arrays import numbers
from saltus.shapes.ball import Ball
from saltus.shapes.ellipsoid import Ellipsoid
from saltus.starts.bodies import OVERLAP, image_shift
from saltus.systems.bodies.state import place_of

CHUNK = 32  # pairs that are searched together: one size, so that one program is compiled


def _pad(count: int) -> np.ndarray:
    """Rows 0 .. count - 1, filled up with the last to the size of a chunk."""
    return np.minimum(np.arange(CHUNK), count - 1)


def _fill_up(horizons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a chunk that is filled up, and their horizons: no time for what fills up."""
    rows = _pad(len(horizons))
    return rows, np.where(np.arange(len(rows)) < len(horizons), horizons[rows], -1.0)


def contacts_of_pairs(system, first, second, q, v, shifts, begins, horizons):
    """For each pair of at most a chunk whether it touches within its horizon, when, and whether that is certain.

    Last, how wide the gap is where the search begins, and how wide where it ends.
    """
    if len(first) == 1:
        pair = placed_pair(system, first[0], second[0], q, v, shifts[0])
        sought = seek(*pair, horizons[0], begin=begins[0])
        if bool(sought.over) and not bool(sought.reached):  # nothing to be told exactly
            told = False, horizons[0], True, sought.first_width, np.inf
        else:
            told = _tell(locate_contact(*pair, horizons[0], sought))
        return tuple(np.array([part]) for part in told)
    rows, horizons = _fill_up(horizons)
    found = _search_pairs(system, first[rows], second[rows], q, v, shifts[rows], begins[rows], horizons)
    return tuple(np.asarray(part)[: len(first)] for part in found)


def prepare_search(system, state: State) -> None:
    """Have the search for the next contact of a single pair prepared, which comes when the two part."""
    if system.n == 2:
        q, v = np.asarray(state.q), np.asarray(state.v)
        prepare_seek(*placed_pair(system, 0, 1, q, v, np.zeros(3)))


def contacts_of_walls(system, walls, bodies, q, v, begins, horizons):
    """For each wall and body whether and when they touch, as `contacts_of_pairs` tells it."""
    rows, horizons = _fill_up(horizons)
    found = _search_walls(system, walls[rows], bodies[rows], q, v, begins[rows], horizons)
    return tuple(np.asarray(part)[: len(walls)] for part in found)


def placed_pair(system, i, j, q, v, shift):
    """Two bodies where they are, the first moved by whole periods."""
    return _placed_pair(system, *(numbers(x, None) for x in (i, j, q, v, shift)))


def _tell(found) -> tuple:
    return found.happens, found.time, found.certified, found.first_width, found.separation.gap


@brief_program
def _placed_pair(system, i, j, q, v, shift):
    one = system.at(q[i], v[i], i)
    return eqx.tree_at(lambda b: b.center, one, one.center + shift), system.at(q[j], v[j], j)


@program
def _search_pairs(system, first, second, q, v, shifts, begins, horizons):
    def one(i, j, shift, begin, horizon):
        found = first_contact(*placed_pair(system, i, j, q, v, shift), horizon, begin=begin)
        return _tell(found)

    return jax.vmap(one)(*(jnp.asarray(x) for x in (first, second, shifts, begins, horizons)))


@program
def _search_walls(system, walls, bodies, q, v, begins, horizons):
    """First contacts of bodies with walls, side by side."""
    q, v = jnp.asarray(q), jnp.asarray(v)

    def one(wall, i, begin, horizon):
        body = system.at(q[i], v[i], i)
        found = wall_contact(system.wall(wall), body, horizon, gravity=system.gravity, begin=begin)
        return _tell(found)

    return jax.vmap(one)(*(jnp.asarray(x) for x in (walls, bodies, begins, horizons)))


def overlaps(system, state: State) -> list[tuple[int, int, float]]:
    """Pairs that overlap: body, partner (walls counted on from the bodies), depth."""
    return [(second, first, -g) for (first, second), g, size in close_pairs(system, state) if g < -OVERLAP * size]


def touching_pairs(system, state: State) -> list[tuple[int, int]]:
    """Pairs that touch."""
    return [pair for pair, g, size in close_pairs(system, state) if g <= OVERLAP * size]


def close_pairs(system, state: State) -> list[tuple[tuple[int, int], float, float]]:
    """Pairs whose bounding balls meet, with their gaps and sizes."""
    q, v = np.asarray(state.q), np.asarray(state.v)
    radius = np.asarray(system.radii())
    first, second = np.triu_indices(system.n, 1)
    one, two = place_of(q[first]).centre, place_of(q[second]).centre
    shifts = image_shift(system.period, two, one)
    distance = np.linalg.norm(one + shifts - two, axis=1)
    near = distance <= (radius[first] + radius[second]) * (1.0 + 1e-9)
    first, second, shifts = first[near], second[near], shifts[near]
    found = []
    for i, j, g in zip(first, second, _gaps(system, first, second, q, v, shifts), strict=True):
        found.append(((int(i), int(j)), float(g), radius[i] + radius[j]))
    if system.n_walls:
        gaps = _gaps_of_walls(system, state)
        for i, wall in itertools.product(range(system.n), range(system.n_walls)):
            found.append(((system.n + wall, i), float(gaps[i, wall]), radius[i]))
    return found


def round_axes(shape) -> np.ndarray | None:
    """Semi-axes of stacked balls or ellipsoids; None for other shapes."""
    if isinstance(shape, Ball):
        return np.repeat(np.asarray(shape.size)[..., None], 3, axis=-1)
    return np.asarray(shape.axes) if isinstance(shape, Ellipsoid) else None


def _gaps(system, first, second, q, v, shifts) -> np.ndarray:
    """Gaps of pairs: in NumPy where balls or ellipsoids allow it, by the compiled search where that is not sure."""
    axes = round_axes(system.stock.shape)
    if axes is None or not len(first):
        return _compiled_gaps(system, first, second, q, v, shifts)
    forms = forms_of(axes, q[:, 3:])
    found, sure = ellipsoid_gaps(forms[first], forms[second], q[second, :3] - q[first, :3] - shifts)
    left = np.flatnonzero(~sure)
    found[left] = _compiled_gaps(system, first[left], second[left], q, v, shifts[left])
    return found


def _compiled_gaps(system, first, second, q, v, shifts) -> np.ndarray:
    """Gaps of pairs by the compiled search, so many at a time."""
    if len(first) <= 1:
        pairs = zip(first, second, shifts, strict=True)
        return np.array([float(separation(*placed_pair(system, i, j, q, v, shift)).gap) for i, j, shift in pairs])
    found = []
    for begin in range(0, len(first), CHUNK):
        rows = begin + _pad(min(CHUNK, len(first) - begin))
        found.append(np.asarray(_pair_gaps(system, first[rows], second[rows], q, v, shifts[rows])))
    return np.concatenate(found)[: len(first)]


@program
def _pair_gaps(system, first, second, q, v, shifts):
    def one(i, j, shift):
        return gap(*placed_pair(system, i, j, q, v, shift)).gap

    return jax.vmap(one)(*(jnp.asarray(x) for x in (first, second, shifts)))


def _gaps_of_walls(system, state: State) -> np.ndarray:
    """Gaps of every body to every wall."""
    axes = round_axes(system.stock.shape)
    if axes is None:
        return np.asarray(_wall_gaps(system, state))
    q, normals = np.asarray(state.q), np.asarray(system.walls.normal)
    heights = np.sqrt(np.einsum("wi,nij,wj->nw", normals, forms_of(axes, q[:, 3:]), normals))
    return q[:, :3] @ normals.T - np.asarray(system.walls.offset) - heights


@program
def _wall_gaps(system, state):
    def of(i):
        return jax.vmap(lambda wall: wall_gap(wall, system.body(state, i)).gap)(system.walls)

    return jax.vmap(of)(jnp.arange(system.n))


def pair_index(system, contact: tuple[int, int]) -> int:
    """Number of a contact: pairs of bodies in order, then the bodies of each wall."""
    first, second = contact
    n = system.n
    if first >= n:
        return n * (n - 1) // 2 + (first - n) * n + second
    return first * n - first * (first + 1) // 2 + second - first - 1
