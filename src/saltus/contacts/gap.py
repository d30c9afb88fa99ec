"""Signed distance of two smooth convex bodies."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus.contacts.pair import Facing, Pair, best_of, face, growth_of, level_at, newton_step
from saltus.numerics.components import Sym, Turn, Vec
from saltus.numerics.trees import choose
from saltus.programs import brief_program, program
from saltus.shapes.ball import Ball
from saltus.shapes.base import AbstractShape
from saltus.shapes.body import Body
from saltus.shapes.ellipsoid import Ellipsoid

# Iterations of the stages; the ascent ends by itself, nearly always within 12 rounds.
BALANCE_STEPS = 8
ELLIPSOID_ROUNDS = 8
ASCENT_ROUNDS = 85
OPENING_ROUNDS = 25
POLISH_STEPS = 5
ROWS = 256  # pairs that `separations` takes at a time


class Separation(eqx.Module):
    """How far apart two bodies are, and where.

    Args:
        gap: Distance if > 0, minus the penetration depth if < 0 [m].
        normal: Outward normal of the first body, from the first to the second.
        point1: Closest point of the first body [m].
        point2: Closest point of the second body [m].
        certificate: For separated bodies the true distance lies between `gap` and
            `gap + certificate`, up to rounding [m].
    """

    gap: Array
    normal: Float[Array, " 3"]
    point1: Float[Array, " 3"]
    point2: Float[Array, " 3"]
    certificate: Array


@program
def gap(body1: Body, body2: Body, *, thorough: bool = False) -> Separation:
    """Signed distance, closest points and normal of two bodies.

    The gap is the widest slab that fits between the bodies, n . d - h1(n) - h2(-n) maximised
    over directions n. The search starts from the touching direction of two ellipsoids grown
    until they meet, climbs by Newton steps in whichever surface coordinates serve best, and
    ends with Newton's method for the common normal. Gap and normal are right to rounding, also on
    flats and for needles; on two facing flats the closest points are not unique.

    Overlapping bodies have several local maxima once the overlap is deep. `thorough` starts from
    the axes of both bodies as well.
    """
    pair = Pair.of(body1, body2)
    n, point1, point2, width = closest(pair, thorough)
    return separation_of(body1, n, point1, point2, width)


def separation(body1: Body, body2: Body) -> Separation:
    """As `gap`, by the program of `separations`: where both are needed, one is compiled."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((body1, body2))):
        return gap(body1, body2)
    one, two = jax.tree.map(lambda leaf: np.asarray(leaf)[None], (body1, body2))
    return jax.tree.map(lambda leaf: leaf[0], separations(one, two))


def separations(body1: Body, body2: Body) -> Separation:
    """As `gap`, for many pairs along the first axis of all numbers, one after the other; gives arrays of NumPy."""
    count = len(np.asarray(body1.mass))
    parts = []
    for begin in range(0, count, ROWS):
        rows = np.minimum(begin + np.arange(ROWS), count - 1)
        one, two = jax.tree.map(lambda leaf, rows=rows: np.asarray(leaf)[rows], (body1, body2))
        used = min(ROWS, count - begin)
        found = _separations(one, two, np.asarray(used))
        parts.append(jax.tree.map(lambda leaf, used=used: np.asarray(leaf)[:used], found))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


@brief_program
def _separations(body1: Body, body2: Body, count) -> Separation:
    """Separations of the first `count` pairs."""

    def one(k, kept):
        found = gap(*jax.tree.map(lambda leaf: leaf[k], (body1, body2)))
        return jax.tree.map(lambda all_of_them, new: all_of_them.at[k].set(new), kept, found)

    none, nowhere = jnp.zeros(ROWS), jnp.zeros((ROWS, 3))
    return jax.lax.fori_loop(0, count, one, Separation(none, nowhere, nowhere, nowhere, none))


def ellipsoid_gap(body1: Body, body2: Body) -> Array:
    """Gap of two ellipsoids or balls that do not overlap and are not slender [m].

    A sixth of `gap` to compile: full steps alone. The same to rounding for axes up to 20 : 1, as measured; else it may
    be too small.
    """
    pair = Pair.of(body1, body2)
    return face(pair, _quick_ellipsoids(pair, start_direction(pair))).width


def separation_of(body1: Body, n: Vec, point1: Vec, point2: Vec, width: Array) -> Separation:
    """The answer from points relative to the centre of the first body."""
    return Separation(
        gap=width,
        normal=n.array(),
        point1=body1.center + point1.array(),
        point2=body1.center + point2.array(),
        certificate=(point2 - point1 - n * width).norm(),
    )


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def closest(pair: Pair, thorough: bool = False) -> tuple[Vec, Vec, Vec, Array]:
    """Normal, closest points (relative to the first centre) and gap."""
    found = ascend(pair, face(pair, start_direction(pair)))
    if thorough:
        others = jax.vmap(lambda n: ascend(pair, face(pair, n)))(_all(_axes_of(pair)))
        other = best_of(others.width, others)
        found = choose(other.width > found.width, other, found)
    n, point1, point2 = polish(pair, found)
    return n, point1, point2, face(pair, n).width


@closest.defjvp
def _closest_jvp(thorough, primals, tangents):
    """One more Newton step from the answer depends on the pair as the answer does."""
    n, point1, point2, width = closest(primals[0], thorough)

    def step_once(pair):
        step = newton_step(pair, point1, point2)
        return step.normal1 + step.turn, point1 + step.move1, point2 + step.move2, face(pair, n).width

    return (n, point1, point2, width), jax.jvp(step_once, primals, tangents)[1]


def _is_round(pair: Pair) -> bool:
    """Whether both support functions are twice differentiable everywhere, with closed forms."""
    return isinstance(pair.shape1, Ball | Ellipsoid) and isinstance(pair.shape2, Ball | Ellipsoid)


def start_direction(pair: Pair) -> Vec:
    """Normal at the touching point of two ellipsoids grown about their centres until they touch.

    Perram and Wertheim's balance: the growth factor is the largest over w of
    w (1 - w) d . [(1 - w) A1 + w A2]^-1 d. It separates the ellipsoids whenever they are separate.
    """
    one, two = _spread(pair.shape1, pair.turn1), _spread(pair.shape2, pair.turn2)
    concentric = pair.offset.dot(pair.offset) < 1e-24 * pair.size() ** 2
    offset = choose(concentric, pair.turn1.e1, pair.offset)

    def balance(_, weight):
        z = one.blend(two, weight).solve(offset)
        ratio = jnp.sqrt(z.dot(one @ z) / z.dot(two @ z))
        return ratio / (1.0 + ratio)

    weight = jax.lax.fori_loop(0, BALANCE_STEPS, balance, jnp.full_like(offset.x, 0.5))
    return one.blend(two, weight).solve(offset).unit()


def ascend(pair: Pair, start: Facing, quick: int = ELLIPSOID_ROUNDS) -> Facing:
    """Climb to the direction of the widest slab.

    From an open slab on, the width has one maximum only. Bodies with flats first look for one, or for the
    direction of the least overlap to scale; the start direction of ellipsoids is open by itself. The result is
    right to rounding in width, to about 1e-8 in direction. `quick` is the number of full steps that ellipsoids
    take before anything else; few are enough from a start that is nearly right.
    """
    return climb(pair, start, quick)[0]


def climb(
    pair: Pair, start: Facing, quick: int = ELLIPSOID_ROUNDS, rounds: int = ASCENT_ROUNDS
) -> tuple[Facing, Array]:
    """Climb to the direction of the widest slab in so many rounds at most; and whether it is found. See `ascend`."""
    opening, going = start.width <= 0.0, jnp.ones_like(start.width, bool)
    if _is_round(pair):
        start = face(pair, _quick_ellipsoids(pair, start.n, quick))
        step = newton_step(pair, start.point1, start.point2)
        opening = jnp.zeros_like(going)
        going = step.turn.dot(_pull(start)) > 0.25 * rounding_of(pair)  # twice the gain that the next step promises

    def climb(carry):
        k, here, opening, _ = carry
        best, gain = _round_of_climbing(pair, here, opening)
        on = opening | (gain > rounding_of(pair))
        return k + 1, best, opening & (gain > 1e-6) & (best.width <= 0.0) & (k < OPENING_ROUNDS), on

    carry = (jnp.zeros((), int), start, opening, going)
    _, found, _, going = jax.lax.while_loop(lambda c: c[3] & (c[0] < rounds), climb, carry)
    return found, ~going


def rounding_of(pair: Pair) -> Array:
    """Rounding of a slab's width [m]."""
    return 4e-16 * (pair.size() + pair.offset.norm())


def _quick_ellipsoids(pair: Pair, n: Vec, rounds: int = ELLIPSOID_ROUNDS) -> Vec:
    """Full Newton steps on the sphere of directions, each kept if it widens the slab."""
    one, two = _spread(pair.shape1, pair.turn1), _spread(pair.shape2, pair.turn2)

    def newton(_, carry):
        kept, width, n = carry
        y1, y2 = one @ n, two @ n
        h1, h2 = jnp.sqrt(n.dot(y1)), jnp.sqrt(n.dot(y2))
        y1, y2 = y1 / h1, y2 / h2
        apart = pair.offset - y1 - y2
        g = n.dot(apart)
        wins = g > width
        kept, width = choose(wins, n, kept), jnp.where(wins, g, width)
        bend = jax.tree.map(lambda a, b, c, d: (a - c) / h1 + (b - d) / h2, one, two, _square(y1), _square(y2))
        bend = jax.tree.map(lambda a, b, unit: a + (1.0 - g) * b + g * unit, bend, _square(n), Sym(1, 0, 0, 1, 0, 1))
        return kept, width, (n + bend.solve(apart - n * g)).unit()

    carry = (n, jnp.full_like(n.x, -jnp.inf), n)
    return jax.lax.fori_loop(0, rounds + 1, newton, carry)[0]


def _spread(shape: AbstractShape, turn: Turn) -> Sym:
    """Lab tensor of the squared semi-axes of the ellipsoid that stands for a shape."""
    axes = Vec.of(shape.proxy_axes())
    return turn.spread(axes.times(axes))


def _square(v: Vec) -> Sym:
    return Sym(v.x * v.x, v.x * v.y, v.x * v.z, v.y * v.y, v.y * v.z, v.z * v.z)


def _round_of_climbing(pair: Pair, here: Facing, opening: Array) -> tuple[Facing, Array]:
    """The best of several steps, and by how much it is better; `opening`: towards an open slab."""

    def merit(seen):
        return jnp.where(opening, growth_of(pair, seen), seen.width)

    growth = jnp.where(opening, growth_of(pair, here), jnp.inf)
    candidates = _round_candidates if _is_round(pair) else _flat_candidates
    seen = jax.vmap(lambda n: face(pair, n))(candidates(pair, here, growth))
    best = best_of(jax.vmap(merit)(seen), seen)
    gain = merit(best) - merit(here)
    return choose(gain > 0.0, best, here), gain


def _round_candidates(pair: Pair, here: Facing, growth: Array) -> Vec:
    step = newton_step(pair, here.point1, here.point2)
    turns = _all([step.turn, step.turn * 0.3, step.turn * 0.05, _pull(here) / pair.size()])
    return jax.vmap(lambda turn: (here.n + turn).unit())(turns)


def _flat_candidates(pair: Pair, here: Facing, growth: Array) -> Vec:
    """Where flats make the width rough as a function of n, follow the surfaces instead."""
    step = newton_step(pair, here.point1, here.point2, growth)
    pull = _pull(here) / pair.size()

    def at(part):
        _, on1, _ = level_at(pair.shape1, pair.turn1, here.point1 + step.move1 * part)
        _, on2, _ = level_at(pair.shape2, pair.turn2, here.point2 + step.move2 * part - pair.offset)
        return _all([on1, -on2, (here.n + step.turn * part).unit(), (here.n + pull * part).unit()])

    return jax.tree.map(jnp.ravel, jax.vmap(at)(jnp.array([1.0, 0.3, 0.1, 0.01])))


def _all(several: list[Vec]) -> Vec:
    return jax.tree.map(lambda *parts: jnp.stack(parts), *several)


def _pull(here: Facing) -> Vec:
    """Gradient of the width along the sphere of directions."""
    apart = here.point2 - here.point1
    return apart - here.n * here.n.dot(apart)


def polish(pair: Pair, found: Facing) -> tuple[Vec, Vec, Vec]:
    """Normal and closest points to rounding, by Newton steps that are kept where they help."""
    if _is_round(pair):
        found = jax.lax.fori_loop(0, 2, lambda _, seen: turn_direction(pair, seen), found)
        return found.n, found.point1, found.point2

    def improve(_, points):
        step = newton_step(pair, *points)
        return points[0] + step.move1, points[1] + step.move2

    point1, point2 = jax.lax.fori_loop(0, POLISH_STEPS, improve, (found.point1, found.point2))
    _, normal1, _ = level_at(pair.shape1, pair.turn1, point1)
    _, normal2, _ = level_at(pair.shape2, pair.turn2, point2 - pair.offset)
    n = (normal1 - normal2).unit()
    rounding = 1e-15 * (pair.size() + pair.offset.norm())
    helps = face(pair, n).width >= found.width - rounding
    return (
        choose(helps, n, found.n),
        choose(helps, point1, found.point1),
        choose(helps, point2, found.point2),
    )


def turn_direction(pair: Pair, seen: Facing) -> Facing:
    """One Newton step in the direction."""
    return face(pair, (seen.n + newton_step(pair, seen.point1, seen.point2).turn).unit())


def _axes_of(pair: Pair) -> list[Vec]:
    axes = [pair.turn1.e1, pair.turn1.e2, pair.turn1.e3, pair.turn2.e1, pair.turn2.e2, pair.turn2.e3]
    return [axis if sign > 0 else -axis for axis in axes for sign in (1, -1)]
