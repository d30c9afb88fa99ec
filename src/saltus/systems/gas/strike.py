"""What a contact does to two bodies."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from saltus.contacts.impact import spin_matrix
from saltus.numerics.components import Turn, Vec
from saltus.systems.gas.arena import Arena, Terms, partner_of
from saltus.systems.gas.flight import FREEDOM, LIGHTNESS, MOMENTUM, PLACE, QUATERNION, VELOCITY, Pose, move_row, vector
from saltus.systems.gas.look import shift, wall_of
from saltus.systems.gas.separation import separation
from saltus.systems.gas.shaped import touching_points

TURNS = 3


class Blow(eqx.Module):
    """What happened at a contact."""

    virial: Array
    normal_impulse: Array
    loss: Array
    gap: Array
    told: Array  # normal, arms, gap, and both rows before and after; empty where it is not kept


def strike(arena: Arena, terms: Terms, row: Array, other: Array, key: Array, t: Array, hint: Array):
    """Both rows, with their clocks put forward to `t`, after the contact, and what happened; then `settle_row`."""
    gravity = terms.pull()
    mine, theirs = (arena.flight.pose(body, t, gravity) for body in (row, other))
    theirs = shift(theirs, terms, key)
    if terms.shapes is None:
        gap, normal, arm, arm2 = _touching_ellipsoids(arena, terms, mine, theirs, key, t, hint)
    else:
        gap, normal, arm, arm2 = touching_points(arena, terms, row, other, mine, theirs, key, t, hint)
    row, other = before = tuple(move_row(arena.flight, body, t, gravity) for body in (row, other))
    size, growth = terms.size(t)
    extent = normal.dot(arm - arm2) / size
    arm, arm2 = arm.array(), arm2.array()
    free, free2 = _inverse_inertia(row), _inverse_inertia(other)
    n = normal.array()
    velocity = other[VELOCITY] + jnp.cross(free2 @ other[MOMENTUM], arm2)
    velocity = velocity - row[VELOCITY] - jnp.cross(free @ row[MOMENTUM], arm)
    # Surfaces of growing bodies move towards each other.
    velocity = velocity - growth * extent * n
    mobility = _mobility(row, free, arm) + _mobility(other, free2, arm2)
    impulse = terms.law.impulse(velocity, n, mobility)
    # From contact to centre to centre: what the images are apart, not the stored places.
    centers = arm - arm2 + gap * n
    lost = -(impulse @ velocity + 0.5 * impulse @ mobility @ impulse)
    lost = jnp.zeros(()) if terms.law.lossless else lost
    after = _kick(row, -impulse, arm), _kick(other, impulse, arm2)
    told = jnp.zeros(0)
    if arena.told:
        rows = [body[PLACE.start : MOMENTUM.stop] for pair in zip(before, after, strict=True) for body in pair]
        told = jnp.concatenate([n, arm, arm2, gap[None], *rows])
    return *after, Blow(impulse @ centers, impulse @ n, lost, gap, told)


def _touching_ellipsoids(
    arena: Arena, terms: Terms, mine: Pose, theirs: Pose, key: Array, t: Array, weight: Array
) -> tuple[Array, Vec, Vec, Vec]:
    """Gap, normal and both arms from the centres to the contact."""
    size = terms.size(t)
    apart = separation(mine, theirs, size, weight, TURNS, wall_of(arena, terms, partner_of(key)))
    normal = apart.normal
    near, far = mine.form @ normal, theirs.form @ normal
    support1, support2 = jnp.sqrt(near.dot(normal)), jnp.sqrt(far.dot(normal))
    arm = near * (size[0] / support1)
    arm2 = far * (-size[0] / jnp.where(support2 > 0.0, support2, 1.0))
    return apart.gap, normal, arm, arm2


def _inverse_inertia(row: Array) -> Array:
    spread = Turn.of_quaternion(row[QUATERNION]).spread(vector(row, FREEDOM))
    return jnp.stack(
        [
            jnp.stack([spread.xx, spread.xy, spread.xz]),
            jnp.stack([spread.xy, spread.yy, spread.yz]),
            jnp.stack([spread.xz, spread.yz, spread.zz]),
        ]
    )


def _mobility(row: Array, free: Array, arm: Array) -> Array:
    spin = spin_matrix(arm)
    return row[LIGHTNESS] * jnp.eye(3) - spin @ free @ spin


def _kick(row: Array, impulse: Array, arm: Array) -> Array:
    """A wall, without lightness, stays as it is."""
    velocity = row[VELOCITY] + impulse * row[LIGHTNESS]
    momentum = row[MOMENTUM] + Vec.of(arm).cross(Vec.of(impulse)).array()
    return jnp.concatenate([row[: PLACE.stop], velocity, row[QUATERNION], momentum, row[MOMENTUM.stop :]])
