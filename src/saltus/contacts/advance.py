"""How far two freely moving bodies can advance in time before they could touch."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.contacts.pair import Facing, Pair
from saltus.numerics.components import Turn, Vec
from saltus.shapes.base import AbstractShape
from saltus.shapes.body import Body

# Rounds of the search for a long safe step; each costs one evaluation of the bound.
ROUNDS = 5


class Agility(eqx.Module):
    """How fast a body's surface can move, for all times of its free motion.

    Args:
        radius: Ball about the centre that holds the body [m].
        turning: Bound of the angular speed [rad s-1].
        bending: Bound of the second derivative of a lab direction seen from the body [s-2].
    """

    radius: Array
    turning: Array
    bending: Array

    @staticmethod
    def of(body: Body) -> Agility:
        """From Euler's equations: |d omega / dt| <= max |I_j - I_k| / I_i |omega|^2 / sqrt 3."""
        a, b, c = body.inertia
        ratios = jnp.stack([jnp.abs(b - c) / a, jnp.abs(c - a) / b, jnp.abs(a - b) / c])
        turning = body.fastest_turn()
        return Agility(body.shape.radius(), turning, turning**2 * (1.0 + jnp.max(ratios) / jnp.sqrt(3.0)))


class Glide(eqx.Module):
    """One body seen along the common direction: direction and support point in its own frame."""

    shape: AbstractShape
    m: Vec
    point: Vec
    speed: Vec  # |dm/dt| by component
    agility: Agility

    def excess(self, s: Array) -> Array:
        """Bound of h(m(t + s)) - h(m) - h' s."""
        second = 0.5 * self.agility.bending * s * s
        reach = Vec(self.speed.x * s + second, self.speed.y * s + second, self.speed.z * s + second)
        return self.point.norm() * second + self.shape.support_excess(self.m, self.point, reach)


def glide(shape, turn: Turn, n: Vec, point: Vec, omega: Vec, agility: Agility) -> Glide:
    """`n` outward for this body; `point` relative to its centre; all in the lab."""
    rate = turn.to_body(n.cross(omega))
    return Glide(shape, turn.to_body(n), turn.to_body(point), Vec(*(jnp.abs(part) for part in rate)), agility)


def sphere_entry(offset: Vec, velocity: Vec, reach: Array) -> Array:
    """Time until two balls whose radii sum to `reach` meet; 0 if they overlap, inf if they never do."""
    b, c = offset.dot(velocity), offset.dot(offset) - reach * reach
    a = velocity.dot(velocity)
    discriminant = b * b - a * c
    hits = (b < 0.0) & (discriminant >= 0.0)
    entry = c / (jnp.sqrt(jnp.where(hits, discriminant, 1.0)) - jnp.where(hits, b, -1.0))
    return jnp.where(c <= 0.0, 0.0, jnp.where(hits, entry, jnp.inf))


def safe_step(
    pair: Pair, seen: Facing, velocity: Vec, omegas: tuple[Vec, Vec], agility: tuple[Agility, Agility]
) -> Array:
    """A time during which the slab along `seen.n` stays open, so that the bodies cannot touch."""
    omega1, omega2 = omegas
    arm2 = seen.point2 - pair.offset
    glides = (
        glide(pair.shape1, pair.turn1, seen.n, seen.point1, omega1, agility[0]),
        glide(pair.shape2, pair.turn2, -seen.n, arm2, omega2, agility[1]),
    )
    closing = seen.n.dot(velocity)
    rate = closing + seen.n.dot(omega2.cross(arm2) - omega1.cross(seen.point1))
    return longest_step(seen.width, rate, closing, jnp.zeros_like(rate), glides)


def longest_step(width: Array, rate: Array, closing: Array, push: Array, glides: tuple[Glide, ...]) -> Array:
    """A time during which a slab of this width, rate and acceleration `push` <= 0 stays open.

    For a fixed direction the width is at least width + rate s + push s^2 / 2 - (excess of the
    support functions), which is concave in s: wherever that is positive, it was positive all the
    way. Near a transversal contact the step converges quadratically, near a grazing one it stays
    of the order sqrt(2 width / curvature).
    """
    width = jnp.maximum(width, 0.0)

    def bound(s):
        excess = sum(one.excess(s) for one in glides)
        return width + rate * s + 0.5 * push * s * s - excess

    # First-order bound, good over long times: no surface moves faster than this.
    surfaces = sum(one.agility.turning * one.agility.radius for one in glides)
    steady = _parabola_zero(width, -jnp.abs(closing) - surfaces, push)
    still = sum(one.agility.bending * one.point.norm() for one in glides)
    high = jnp.minimum(_parabola_zero(width, rate, push - still), 1e6)

    def narrow(_, ends):
        low, at_low, high = ends
        at_high = bound(high)
        inside = at_high >= 0.0
        # The chord of a concave function lies below it: its zero is safe.
        chord = low + (high - low) * at_low / jnp.where(inside, 1.0, at_low - at_high)
        low = jnp.where(inside, high, chord)
        at_low = jnp.where(inside, at_high, jnp.maximum(bound(chord), 0.0))
        # From a closed gap no chord leads on; next to a flat only very short steps are safe at first.
        return low, at_low, low + jnp.where(at_low > 0.0, 0.3, 1e-3) * jnp.maximum(high - low, 0.0)

    low, _, _ = jax.lax.fori_loop(0, ROUNDS, narrow, (jnp.zeros_like(width), width, high))
    return jnp.maximum(low, steady)


def _parabola_zero(width: Array, rate: Array, push: Array) -> Array:
    """First s > 0 where width + rate s + push s^2 / 2 falls to zero, for width >= 0 and push <= 0."""
    root = jnp.sqrt(rate * rate - 2.0 * push * width)
    falling = 2.0 * width / jnp.maximum(root - rate, 1e-300)
    rising = (rate + root) / jnp.maximum(-push, 1e-300)
    return jnp.where(rate < 0.0, falling, rising)
