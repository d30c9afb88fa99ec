"""From the contacts of a crowd to the small system that follows them."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from saltus.hybrid.crowd import Band
from saltus.systems.bodies.bond import Bond, Pairs
from saltus.systems.bodies.searches import image_shift

BYSTANDERS = 4  # free bodies that a band may keep an eye on
SHORTEST = 1e-3  # of the time in which a body turns by a radian; a band is not left alone for less


def band_of(plan, t: float, q, v, until: float) -> Band:
    """The band of all bodies in contact, with the free ones that could reach them soon."""
    system = plan.system
    bound = sorted({i for bond in plan.bonds for i in plan._bodies(bond)})
    near, until = _bystanders(plan, bound, t, q, v, until)
    members = [*bound, *near]
    contacts = sorted(plan.bonds, key=lambda bond: (bond[0] >= system.n, bond))
    watched = [
        (i, j) for i, j in itertools.combinations(members, 2) if (min(i, j), max(i, j)) not in plan.bonds
        and (i in bound or j in bound)
    ]  # fmt: skip
    bond = _bond(plan, members, contacts, watched, q, v)
    names = {
        "release": [*contacts, *contacts],
        "touch": [(min(pair), max(pair)) for pair in watched],
        "wall": [(system.n + wall, i) for i in members for wall in range(system.n_walls)],
    }
    start = bond.start(t, q[members], v[members])
    return Band(bond, start, tuple(members), len(bound), names, _slack(contacts), until)


def _slack(contacts) -> frozenset[tuple[str, int]]:
    """The guards of `Bond.release` that tell of a force that pulls."""
    return frozenset(("release", len(contacts) + k) for k in range(len(contacts)))


def _bystanders(plan, bound, t: float, q, v, until: float) -> tuple[list[int], float]:
    """Free bodies that could reach the bound ones, and until when nobody else can."""
    reach = np.full(plan.system.n, np.inf)
    pull = np.linalg.norm(plan.gravity)
    for i in bound:
        apart = q[:, :3] - q[i, :3] + image_shift(plan.period, q[i, :3], q[:, :3])
        distance = np.linalg.norm(apart, axis=1) - plan.radius - plan.radius[i]
        speed = np.linalg.norm(v[:, :3], axis=1) + 2.0 * np.linalg.norm(v[i, :3]) + pull
        reach = np.minimum(reach, np.maximum(distance, 0.0) / np.maximum(speed, 1e-300))
    reach[bound] = np.inf
    order = [int(i) for i in np.argsort(reach) if np.isfinite(reach[i])]
    if len(order) > BYSTANDERS:
        turning = np.linalg.norm(v[bound, 3:6], axis=1).max() + 1e-3
        until = min(until, t + max(float(reach[order[BYSTANDERS]]), SHORTEST / turning))
    return [i for i in order[:BYSTANDERS] if t + reach[i] < until], until


def _bond(plan, members, contacts, watched, q, v) -> Bond:
    system = plan.system
    walls = np.array([(first - system.n, members.index(i)) for first, i in contacts if first >= system.n], int)
    watch_walls = np.ones((len(members), system.n_walls), bool)
    watch_walls[walls.reshape(-1, 2)[:, 1], walls.reshape(-1, 2)[:, 0]] = False
    size = float(plan.radius[members].max())
    speed = float(np.linalg.norm(v[members, :3], axis=1).max())
    pace = float(np.linalg.norm(v[members, 3:6], axis=1).max()) + speed / size
    return Bond(
        stock=jax.tree.map(lambda leaf: leaf[np.asarray(members)], system.stock),
        gravity=system.gravity,
        walls=system.walls,
        contacts=_pairs(plan, members, [pair for pair in contacts if pair[0] < system.n], q),
        wall_contacts=jnp.asarray(walls.reshape(-1, 2)),
        watched=_pairs(plan, members, watched, q),
        watched_walls=jnp.asarray(watch_walls),
        pace=jnp.asarray(pace + float(np.sqrt(np.linalg.norm(plan.gravity) / size))),
    )


def _pairs(plan, members, pairs, q) -> Pairs:
    first = np.array([pair[0] for pair in pairs], int)
    second = np.array([pair[1] for pair in pairs], int)
    shift = image_shift(plan.period, q[second, :3], q[first, :3])
    places = {member: k for k, member in enumerate(members)}
    first, second = ([places[int(i)] for i in side] for side in (first, second))
    return Pairs(jnp.asarray(first, int), jnp.asarray(second, int), jnp.asarray(shift, float).reshape(-1, 3))
