"""Contact of a body with a fixed plane."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.contacts.advance import Agility, glide, longest_step
from saltus.contacts.first_contact import MAX_STEPS, POLISH_ROUNDS, TOUCH, cubic_zero
from saltus.contacts.gap import Separation
from saltus.contacts.impact import velocity_at
from saltus.contacts.local import LocalMotion, body_side, fixed_side, meet
from saltus.numerics.components import Turn, Vec
from saltus.numerics.rotation import TurnSum, continue_turn
from saltus.shapes.body import Body


class Wall(eqx.Module):
    """A fixed plane that bodies stay on one side of.

    Args:
        normal: Unit normal that points to where the bodies are.
        offset: normal . x on the plane [m].
    """

    normal: Float[Array, " 3"]
    offset: Array


class WallContact(eqx.Module):
    """The first touch of a body and a wall, as `contacts.FirstContact`."""

    happens: Array
    time: Array
    body: Body
    separation: Separation
    n_steps: Array
    certified: Array
    first_width: Array


def wall_gap(wall: Wall, body: Body) -> Separation:
    """Signed distance of a body from a wall; the normal is the wall's."""
    height, point = body.support_pair(-Vec.of(wall.normal))
    width = wall.normal @ body.center - wall.offset - height
    lowest = body.center + point.array()
    return Separation(width, wall.normal, lowest - width * wall.normal, lowest, jnp.zeros_like(width))


def wall_motion(wall: Wall, body: Body, gravity: Array | float = 0.0) -> LocalMotion:
    """Derivatives of the gap of a freely moving body and a wall."""
    separation = wall_gap(wall, body)
    n = wall.normal
    return meet(fixed_side(), body_side(body, separation.point2, -n, jnp.zeros(()), gravity), n, separation.gap)


def wall_contact(wall: Wall, body: Body, until, *, gravity=0.0, begin=0.0) -> WallContact:
    """The first time in [begin, until] at which a freely moving body touches a wall.

    Certified in the same way as `first_contact`.
    """
    gravity = jnp.broadcast_to(jnp.asarray(gravity, float), (3,))
    until, agility = jnp.asarray(until, float), Agility.of(body)
    touch = TOUCH * agility.radius
    pull = wall.normal @ gravity
    rotation = body.quaternion, body.inertia, body.angular_momentum()

    def place(t, q, omega):
        velocity = body.velocity + t * gravity
        return body.with_motion(body.center + t * body.velocity + 0.5 * t * t * gravity, velocity, q, omega)

    def going(carry):
        ahead, *_, k, closed, over, _ = carry
        return ~closed & ~over & (k < MAX_STEPS) & ~jnp.isnan(ahead)

    def step(carry):
        ahead, t, made, k, _, _, first = carry
        later = t + ahead
        made = continue_turn(made, *rotation, later - t)
        q, omega = made.motion(*rotation)
        here = place(later, q, omega)
        separation = wall_gap(wall, here)
        n, arm = -Vec.of(wall.normal), Vec.of(separation.point2 - here.center)
        rate = wall.normal @ velocity_at(here, separation.point2)
        still = 1e-14 * (jnp.sqrt(jnp.sum(here.velocity**2)) + agility.turning * agility.radius)
        closed = (separation.gap <= touch) & (rate <= still)
        gliding = glide(body.shape, Turn.of_quaternion(q), n, arm, Vec.of(omega), agility)
        closing = wall.normal @ here.velocity
        ahead = longest_step(separation.gap, rate, closing, jnp.minimum(pull, 0.0), (gliding,))
        ball = _ball_entry(wall.normal @ here.center - wall.offset - agility.radius, closing, pull)
        ahead = jnp.maximum(ahead, ball)
        over = later + ahead >= until
        first = jnp.where(k == 0, separation.gap, first)
        return jnp.where(over | closed, 0.0, ahead), later, made, k + 1, closed, over, first

    no = jnp.zeros((), bool)
    count, infinite = jnp.zeros((), int), jnp.full((), jnp.inf)
    start = (jnp.asarray(begin, float), jnp.zeros(()), TurnSum.zero(), count, no, no, infinite)
    _, t, made, k, closed, over, first = jax.lax.while_loop(going, step, start)

    def improve(_, carry):
        t, made, change, _, _ = carry
        made = continue_turn(made, *rotation, change, compact=True)
        here = place(t + change, *made.motion(*rotation))
        motion = wall_motion(wall, here, gravity)
        next_change = jnp.where(closed, cubic_zero(motion.gap, motion.v, motion.a_eff, motion.gap3), 0.0)
        return t + change, made, next_change, here, wall_gap(wall, here)

    carry = (t, made, jnp.zeros(()), body, wall_gap(wall, body))
    t, _, _, here, separation = jax.lax.fori_loop(0, POLISH_ROUNDS, improve, carry)
    return WallContact(closed, jnp.where(over, until, t), here, separation, k, closed | over, first)


def _ball_entry(height: Array, closing: Array, pull: Array) -> Array:
    """Time until a ball this high above the wall touches it; 0 if it does already, inf if never."""
    discriminant = closing * closing - 2.0 * pull * height
    root = jnp.sqrt(jnp.maximum(discriminant, 0.0))
    # First positive zero of height + closing s + pull s^2 / 2, in the form that does not cancel.
    entry = 2.0 * height / jnp.where(root - closing > 0.0, root - closing, 1.0)
    hits = (discriminant >= 0.0) & (root - closing > 0.0) & ((closing < 0.0) | (pull < 0.0))
    return jnp.where(height <= 0.0, 0.0, jnp.where(hits, entry, jnp.inf))
