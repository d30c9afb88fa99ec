"""One look at a body and its partner: how far they are apart, and for how long they certainly stay so."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array

from saltus.numerics.components import Vec
from saltus.systems.gas.arena import Arena, Terms, image_of, partner_of
from saltus.systems.gas.flight import BEND, RADIUS, SWAY, Pose
from saltus.systems.gas.separation import Separation, certain_time, separation


def shift(pose: Pose, terms: Terms, key: Array) -> Pose:
    """The image of a partner that a key names."""
    image = image_of(key)
    edges = Vec.of(jnp.where(jnp.isfinite(terms.box), terms.box, 0.0))
    return dataclasses.replace(pose, center=pose.center + image.times(edges))


def wall_of(arena: Arena, terms: Terms, who: Array):
    """Whether a partner is a wall, and the direction towards it; None where there are no walls."""
    if not arena.walls:
        return None
    face = jnp.clip(who - arena.n, 0, arena.walls - 1)
    return (who >= arena.n) & (who < arena.spare), -Vec.of(terms.normals[face])


def separation_at(
    arena: Arena,
    terms: Terms,
    row: Array,
    other: Array,
    key: Array,
    t: Array,
    weight: Array,
    *,
    turns: int,
    limit: Array,
) -> tuple[Separation, Array]:
    """The separation of a body from its partner (or from many) at a time, and for how long they stay apart.

    The second answer is certain up to the time `limit`.
    """
    gravity = terms.pull()
    mine = arena.flight.pose(row, t, gravity)
    theirs = shift(arena.flight.pose(other, t, gravity), terms, key)
    wall = wall_of(arena, terms, partner_of(key))
    size, growth = terms.size(t)
    apart = separation(mine, theirs, (size, growth), weight, turns, wall)
    # Bodies that grow are largest at the end, which is far away for a body at rest that does not grow.
    largest, _ = terms.size(jnp.where(growth > 0.0, limit, t))
    bend = largest * (row[BEND] + other[..., BEND]) + 2.0 * jnp.abs(growth) * (row[SWAY] + other[..., SWAY])
    if wall is not None:
        bend = bend + jnp.where(wall[0], jnp.maximum(apart.normal.dot(gravity), 0.0), 0.0)
    sure = certain_time(apart.gap, apart.rate, bend)
    # Balls about both bodies part or meet uniformly: far away that is the longer step.
    closing = -apart.normal.dot(theirs.velocity - mine.velocity)
    far = apart.normal.dot(theirs.center - mine.center) - size * (row[RADIUS] + other[..., RADIUS])
    closing = closing + growth * (row[RADIUS] + other[..., RADIUS])
    balls = jnp.where(closing > 0.0, far / jnp.where(closing > 0.0, closing, 1.0), jnp.inf)
    balls = jnp.where(far > 0.0, balls, 0.0)
    if wall is not None:
        balls = jnp.where(wall[0], 0.0, balls)
    return apart, jnp.maximum(sure, balls)
