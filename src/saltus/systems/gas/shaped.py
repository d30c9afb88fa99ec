"""Bodies of any smooth convex shape in the loop: the same certified steps, with their support functions.

Each body lies in an ellipsoid, its hull. Lists of neighbours and long steps go by the hulls; where these are near each
other or overlap, the shapes are looked at. There h has no bounded second derivative on flats, so that the parabola of
ellipsoids gives way to the bound of `contacts.advance`, which is valid for any direction too.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.contacts.advance import Agility, Glide, glide, longest_step
from saltus.contacts.gap import ascend, climb, polish
from saltus.contacts.pair import Facing, Pair, face
from saltus.numerics.components import Vec
from saltus.shapes.base import AbstractShape
from saltus.systems.gas.arena import Arena, Terms, partner_of
from saltus.systems.gas.bodies import shape_at
from saltus.systems.gas.flight import FREEDOM, KIND, MOMENTUM, RADIUS, Pose, vector
from saltus.systems.gas.look import shift, wall_of
from saltus.systems.gas.separation import PairView, Separation

ROOMY = 0.03  # gap of the hulls over both radii beyond which the shapes need no look
# Rounds of climbing to the best direction in one look, since any direction is valid; two at least, because the first
# may be one that looks for an open slab.
ROUNDS = 2


def shape_of(terms: Terms, row: Array) -> AbstractShape:
    """The shape of the body of a row."""
    if terms.shapes is None:
        raise TypeError("All bodies are ellipsoids; their rows say which.")
    return shape_at(terms.shapes, row[KIND].astype(jnp.int32))


def _agility(row: Array, pose: Pose) -> Agility:
    """How fast the surface of a body can move in its flight."""
    freedom = vector(row, FREEDOM)
    moments = Vec(*(1.0 / jnp.where(f > 0.0, f, 1.0) for f in freedom))
    freest = jnp.maximum(jnp.maximum(freedom.x, freedom.y), freedom.z)
    fastest2 = vector(row, MOMENTUM).dot(pose.omega) * freest
    ratios = (
        jnp.abs(moments.y - moments.z) * freedom.x,
        jnp.abs(moments.z - moments.x) * freedom.y,
        jnp.abs(moments.x - moments.y) * freedom.z,
    )
    wobble = jnp.maximum(jnp.maximum(ratios[0], ratios[1]), ratios[2])
    return Agility(row[RADIUS], jnp.sqrt(jnp.maximum(fastest2, 0.0)), fastest2 * (1.0 + wobble / jnp.sqrt(3.0)))


def _pair(terms: Terms, row: Array, other: Array, mine: Pose, theirs: Pose, size: Array) -> Pair:
    """Both shapes as they lie, in units of the size to which all bodies have grown."""
    apart = (theirs.center - mine.center) / size
    return Pair(shape_of(terms, row), shape_of(terms, other), mine.orientation, theirs.orientation, apart)


def _poses(arena: Arena, terms: Terms, row: Array, other: Array, key: Array, t: Array) -> tuple[Pose, Pose]:
    gravity = terms.pull()
    mine, theirs = (arena.flight.pose(body, t, gravity) for body in (row, other))
    return mine, shift(theirs, terms, key)


# ---- one look ------------------------------------------------------------------------------------


def _largest(terms: Terms, t: Array, limit: Array) -> Array:
    """The largest size up to `limit`, which is far away for a body at rest that does not grow."""
    return terms.size(jnp.where(terms.growth > 0.0, limit, t))[0]


def _steady(terms: Terms, seen: Facing, velocity: Vec, agility: tuple[Agility, Agility], t, limit: Array) -> Array:
    """For how long a slab stays open however the bodies turn; infinite where the centres part faster than that."""
    (size, growth), largest = terms.size(t), _largest(terms, t, limit)
    width = size * seen.width
    surfaces = sum((largest * one.turning + jnp.maximum(growth, 0.0)) * one.radius for one in agility)
    rate = seen.n.dot(velocity) - surfaces
    falling = width / jnp.where(rate < 0.0, -rate, 1.0)
    return jnp.where(width > 0.0, jnp.where(rate < 0.0, falling, jnp.inf), 0.0)


def look(
    arena: Arena,
    terms: Terms,
    row: Array,
    other: Array,
    key: Array,
    t: Array,
    hint: Array,
    limit: Array,
    hulls: Separation,
    sure: Array,
) -> PairView:
    """One look at a body and its partner.

    Args:
        arena: Sizes.
        terms: Numbers.
        row: The body.
        other: Its partner.
        key: Which image of it is meant.
        t: Time.
        hint: A direction that is nearly right.
        limit: Up to when what is found must be certain.
        hulls: How far the hulls are apart.
        sure: How long these stay apart.
    """
    size, _ = terms.size(t)
    roomy = hulls.gap > ROOMY * size * (row[RADIUS] + other[RADIUS])

    def by_hulls():
        return PairView(hulls.gap, hulls.rate, jnp.zeros_like(t), hulls.normal.array(), sure)

    def by_shapes():
        mine, theirs = _poses(arena, terms, row, other, key, t)
        wall = wall_of(arena, terms, partner_of(key))
        if wall is None:
            return _pair_look(terms, row, other, mine, theirs, t, hint, limit)
        at_wall, towards = wall
        return jax.lax.cond(
            at_wall,
            lambda: _wall_look(terms, row, mine, theirs, t, towards, limit),
            lambda: _pair_look(terms, row, other, mine, theirs, t, hint, limit),
        )

    return jax.lax.cond(roomy, by_hulls, by_shapes)


def _pair_look(
    terms: Terms, row: Array, other: Array, mine: Pose, theirs: Pose, t, hint: Array, limit: Array
) -> PairView:
    pair = _pair(terms, row, other, mine, theirs, terms.size(t)[0])
    seen, settled = climb(pair, face(pair, Vec.of(hint)), rounds=ROUNDS)
    found = _see(terms, row, other, mine, theirs, t, limit, pair, seen)
    return eqx.tree_at(lambda s: s.change, found, jnp.where(settled, 0.0, 1.0))


def _see(
    terms: Terms, row: Array, other: Array, mine: Pose, theirs: Pose, t, limit, pair: Pair, seen: Facing
) -> PairView:
    """What a slab between two bodies tells."""
    size, growth = terms.size(t)
    arm2 = seen.point2 - pair.offset
    agility = _agility(row, mine), _agility(other, theirs)
    glides = (
        glide(pair.shape1, mine.orientation, seen.n, seen.point1, mine.omega, agility[0]),
        glide(pair.shape2, theirs.orientation, -seen.n, arm2, theirs.omega, agility[1]),
    )
    closing = seen.n.dot(theirs.velocity - mine.velocity)
    turning = seen.n.dot(theirs.omega.cross(arm2) - mine.omega.cross(seen.point1))
    extent = seen.n.dot(pair.offset) - seen.width
    rate = closing + size * turning - growth * extent
    sure = _open_for(terms, t, limit, size * seen.width, rate, closing, jnp.zeros_like(t), glides)
    steady = _steady(terms, seen, theirs.velocity - mine.velocity, agility, t, limit)
    sure = jnp.where(seen.width > 0.0, jnp.maximum(sure, steady), sure)
    return PairView(size * seen.width, rate, jnp.ones_like(t), seen.n.array(), sure)


def _wall_look(terms: Terms, row: Array, mine: Pose, wall: Pose, t: Array, towards: Vec, limit: Array) -> PairView:
    size, growth = terms.size(t)
    shape = shape_of(terms, row)
    height, point = shape.support_pair(mine.orientation.to_body(towards))
    point = mine.orientation.to_lab(point)
    gap = towards.dot(wall.center - mine.center) - size * height
    closing = -towards.dot(mine.velocity)
    rate = closing - size * towards.dot(mine.omega.cross(point)) - growth * height
    push = -jnp.maximum(towards.dot(terms.pull()), 0.0)
    glides = (glide(shape, mine.orientation, towards, point, mine.omega, _agility(row, mine)),)
    sure = _open_for(terms, t, limit, gap, rate, closing, push, glides)
    return PairView(gap, rate, jnp.zeros_like(t), towards.array(), sure)


def _open_for(
    terms: Terms,
    t: Array,
    limit: Array,
    gap: Array,
    rate: Array,
    closing: Array,
    push: Array,
    glides: tuple[Glide, ...],
) -> Array:
    """How long a slab stays open that may close at the rate of growth too; certain up to `limit`."""
    # In units of the largest size, to which what bodies turn in excess of their present rate is then proportional.
    growth, largest = terms.growth, _largest(terms, t, limit)
    sways = sum(one.agility.turning * one.agility.radius for one in glides)
    reaches = sum(one.agility.radius for one in glides)
    push = push - 2.0 * jnp.abs(growth) * sways
    closing = jnp.abs(closing) + jnp.abs(growth) * reaches
    return longest_step(gap / largest, rate / largest, closing / largest, push / largest, glides)


# ---- the contact itself --------------------------------------------------------------------------


def touching_points(
    arena: Arena, terms: Terms, row: Array, other: Array, mine: Pose, theirs: Pose, key: Array, t: Array, hint: Array
) -> tuple[Array, Vec, Vec, Vec]:
    """Gap, normal and both arms from the centres to the contact, of bodies that touch."""
    size, _ = terms.size(t)
    pair = _pair(terms, row, other, mine, theirs, size)

    def bodies():
        found = ascend(pair, face(pair, Vec.of(hint)))
        normal, point1, point2 = polish(pair, found)
        return size * face(pair, normal).width, normal, point1 * size, (point2 - pair.offset) * size

    wall = wall_of(arena, terms, partner_of(key))
    if wall is None:
        return bodies()
    at_wall, towards = wall

    def side():
        height, point = pair.shape1.support_pair(mine.orientation.to_body(towards))
        arm = mine.orientation.to_lab(point) * size
        gap = towards.dot(theirs.center - mine.center) - size * height
        return gap, towards, arm, arm * 0.0

    return jax.lax.cond(at_wall, side, bodies)
