"""The self-similar creep of a ball on two rails with finite spots, and the slope on which it rests.

A spinning spot cannot stick, so the rolling ball creeps: slip stays proportional to spin. All forces depend on
ratios of velocities only, so this motion is a straight ray in the space of velocities, run through with a
constant acceleration, down to complete rest. Near the ray the equations are stiff; on it they are solved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.systems.ball_on_rails.forces import Contacts, Place, Scalar, Velocity, even_load, placed, slid

if TYPE_CHECKING:
    from saltus.systems.ball_on_rails.system import BallOnRails

_HALVINGS = 54
_NEWTON_STEPS = 4


def momentum(ball: BallOnRails, velocity: Velocity) -> Scalar:
    """What forces along the rails do not change: the slow variable of creep [kg m2/s]."""
    return ball.mass * ball.radius * jnp.cos(ball.half_angle) * velocity[0] + ball.inertia * velocity[3]


def spot_radius(ball: BallOnRails) -> Scalar:
    """Radius of the spots under the even load [m]."""
    return ball.law.radius(even_load(ball))


def ray(ball: BallOnRails, angle: Scalar, forward: Scalar) -> Velocity:
    """Symmetric motion whose slip and rim speed are (cos, sin) of `angle`, times the direction of spin."""
    rim = jnp.sin(angle)
    turning = rim / (spot_radius(ball) * jnp.sin(ball.half_angle))
    along = jnp.cos(angle) + ball.radius * jnp.cos(ball.half_angle) * turning
    return forward * jnp.stack([along, jnp.zeros_like(rim), jnp.zeros_like(rim), turning, jnp.zeros_like(rim)])


def ray_angle(ball: BallOnRails, velocity: Velocity) -> Scalar:
    """The angle of `ray` for a symmetric motion."""
    forward = jnp.where(velocity[3] < 0.0, -1.0, 1.0)
    slip = velocity[0] - ball.radius * jnp.cos(ball.half_angle) * velocity[3]
    return jnp.arctan2(jnp.abs(velocity[3]) * spot_radius(ball) * jnp.sin(ball.half_angle), forward * slip)


def symmetric_acceleration(ball: BallOnRails, angle: Scalar, forward: Scalar) -> Velocity:
    """Acceleration in the symmetric motion of this angle."""
    velocity = ray(ball, angle, forward)
    return slid(ball, placed(ball, jnp.zeros(()), velocity), velocity).acceleration


def turning_of_ray(ball: BallOnRails, angle: Scalar, forward: Scalar) -> Scalar:
    """How the ratio of slip to rim speed drifts at this angle; zero for creep that stays what it is."""
    gain = symmetric_acceleration(ball, angle, forward)
    slip = gain[0] - ball.radius * jnp.cos(ball.half_angle) * gain[3]
    rim = gain[3] * spot_radius(ball) * jnp.sin(ball.half_angle)
    return forward * (slip * jnp.sin(angle) - rim * jnp.cos(angle))


def refined_angle(ball: BallOnRails, angle: Scalar, forward: Scalar) -> Scalar:
    """The angle of self-similar creep near a given one, by Newton's method."""

    def improve(angle, _):
        value, slope = jax.jvp(lambda x: turning_of_ray(ball, x, forward), (angle,), (jnp.ones_like(angle),))
        return jnp.clip(angle - value / slope, 1e-15, jnp.pi - 1e-15), None

    return jax.lax.scan(improve, angle, None, length=_NEWTON_STEPS)[0]


def creep_angle(ball: BallOnRails, forward: Scalar) -> Scalar:
    """The angle of self-similar creep in this direction of spin, from nothing: slip and spin of the same sign."""

    def halve(_, ends):
        low, high = ends
        middle = 0.5 * (low + high)
        above = turning_of_ray(ball, middle, forward) > 0.0
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    ends = jnp.asarray(0.0), jnp.asarray(jnp.pi / 2)
    low, high = jax.lax.fori_loop(0, _HALVINGS, halve, ends)
    return refined_angle(ball, jax.lax.stop_gradient(0.5 * (low + high)), forward)


def terminal_creep(ball: BallOnRails, forward: float = 1.0) -> tuple[Scalar, Scalar]:
    """Ratio of slip to rim speed of the self-similar creep, and its acceleration along the rails [m/s2]."""
    forward = jnp.asarray(forward, float)
    angle = creep_angle(ball, forward)
    return 1.0 / jnp.tan(angle), symmetric_acceleration(ball, angle, forward)[0]


def critical_slope(ball: BallOnRails) -> tuple[Scalar, Scalar]:
    """Tangent of the steepest slope on which the ball rests, and the ratio of rim speed to slip at its onset.

    Without locked-in forces across the rails, which could wedge the ball on steeper slopes.
    """
    S, C = jnp.sin(ball.half_angle), jnp.cos(ball.half_angle)
    radius, law = spot_radius(ball), ball.law
    resistance = radius * law.pressure.centre_shift * law.rolling_shift * C

    def shares(angle):
        share = law.coupling(jnp.cos(angle) ** 2, jnp.sin(angle))
        return share.drag * jnp.cos(angle), share.lift, share.twist

    def excess(angle):
        drag, _, twist = shares(angle)
        return law.mu * (drag * ball.radius * C - radius * twist * S) - resistance

    def halve(_, ends):
        low, high = ends
        middle = 0.5 * (low + high)
        above = excess(middle) > 0.0
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    low, high = jax.lax.fori_loop(0, _HALVINGS, halve, (jnp.asarray(0.0), jnp.asarray(jnp.pi / 2)))
    angle = 0.5 * (low + high)
    drag, lift, _ = shares(angle)
    shift = law.rolling_shift + law.sliding_shift
    return law.mu * drag / (C + law.mu * shift * lift * S), jnp.tan(angle)


def contacts(ball: BallOnRails, place: Place, velocity: Velocity, on_ray: Array, direction: Scalar) -> Contacts:
    """Sliding contacts; on the ray of self-similar creep all velocities keep their ratios.

    `direction` is that of the creep: past the stop, which only the end of a step sees, forces stay what they are.
    """
    slow = momentum(ball, velocity)
    past = on_ray & (direction * slow < 0.0)
    here = slid(ball, place, velocity, jnp.where(past, -1.0, 1.0))
    growth = momentum(ball, here.acceleration) / jnp.where(slow == 0.0, 1.0, slow)
    gain = jnp.where(on_ray, velocity * growth, here.acceleration)
    return eqx.tree_at(lambda c: c.acceleration, here, gain)


def rests(ball: BallOnRails) -> Array:
    """Whether a ball at rest stays at rest."""
    return jnp.abs(jnp.tan(ball.slope)) <= critical_slope(ball)[0]
