"""The self-similar creep of a ball on two rails with finite spots, and the slope on which it rests.

A spinning spot cannot stick, so the rolling ball creeps: slip stays proportional to spin. All forces depend on
ratios of velocities only, so this motion is a straight ray in the space of velocities, run through with a
constant acceleration, down to complete rest. Near the ray the equations are stiff; on it they are solved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.contacts.ball_contact import ContactMotion
from saltus.laws.friction import Reaction
from saltus.numerics.roots import bisect
from saltus.programs import program
from saltus.systems.ball_common import spot_law
from saltus.systems.ball_on_rails.forces import (
    LEAN,
    Contacts,
    Place,
    RailMotion,
    Scalar,
    contacts_under,
    even_load,
    grip,
    place_contacts,
)

if TYPE_CHECKING:
    from saltus.systems.ball_on_rails.system import BallOnRails

_HALVINGS = 54
_NEWTON_STEPS = 4


def momentum(ball: BallOnRails, velocity: RailMotion) -> Scalar:
    """What forces along the rails do not change: the slow variable of creep [kg m2/s]."""
    return ball.mass * ball.radius * jnp.cos(ball.half_angle) * velocity.along + ball.inertia * velocity.turning[1]


def spot_radius(ball: BallOnRails) -> Scalar:
    """Radius of the spots under the even load [m]."""
    return ball.law.radius(even_load(ball))


def ray(ball: BallOnRails, angle: Scalar) -> RailMotion:
    """Symmetric motion with positive spin whose slip and rim speed are (cos, sin) of `angle`."""
    turning = jnp.sin(angle) / (spot_radius(ball) * jnp.sin(ball.half_angle))
    along = jnp.cos(angle) + ball.radius * jnp.cos(ball.half_angle) * turning
    return RailMotion(along, jnp.zeros(()), jnp.zeros(3).at[1].set(turning))


def ray_motion(ball: BallOnRails, angle: Scalar) -> ContactMotion:
    """Motion at the contacts on the ray, without the difference of nearly equal velocities."""
    spin = jnp.sin(angle) / spot_radius(ball)
    slip, rolling = jnp.cos(angle), spin / jnp.tan(ball.half_angle)
    nothing = jnp.zeros(2)
    return ContactMotion(
        slip=jnp.stack([jnp.full(2, slip), nothing], -1),
        spin=jnp.asarray(LEAN) * spin,
        rolling=jnp.stack([nothing, jnp.full(2, rolling)], -1),
    )


def ray_angle(ball: BallOnRails, velocity: RailMotion) -> Scalar:
    """The angle of `ray` for a symmetric motion."""
    _, rolling, _ = velocity.turning
    forward = jnp.where(rolling < 0.0, -1.0, 1.0)
    slip = velocity.along - ball.radius * jnp.cos(ball.half_angle) * rolling
    return jnp.arctan2(jnp.abs(rolling) * spot_radius(ball) * jnp.sin(ball.half_angle), forward * slip)


def on_ray(ball: BallOnRails, place: Place, angle: Scalar, forward: Scalar) -> Contacts:
    """Creep: friction and acceleration do not change on the ray."""
    motion = jax.tree.map(lambda x: forward * x, ray_motion(ball, angle))
    return contacts_under(ball, place, RailMotion.still(), motion)


def symmetric_acceleration(ball: BallOnRails, angle: Scalar, forward: Scalar) -> RailMotion:
    """Acceleration in the symmetric motion of this angle and direction of spin."""
    return on_ray(ball, place_contacts(ball, jnp.zeros(()), RailMotion.still()), angle, forward).acceleration


def turning_of_ray(ball: BallOnRails, angle: Scalar, forward: Scalar) -> Scalar:
    """How the ratio of slip to rim speed drifts at this angle; zero for creep that stays what it is."""
    gain = symmetric_acceleration(ball, angle, forward)
    _, rolling, _ = gain.turning
    slip = gain.along - ball.radius * jnp.cos(ball.half_angle) * rolling
    rim = rolling * spot_radius(ball) * jnp.sin(ball.half_angle)
    return forward * (slip * jnp.sin(angle) - rim * jnp.cos(angle))


def refine_angle(ball: BallOnRails, angle: Scalar, forward: Scalar) -> Scalar:
    """The angle of self-similar creep near a given one, by Newton's method."""

    def improve(angle, _):
        value, slope = jax.jvp(lambda x: turning_of_ray(ball, x, forward), (angle,), (jnp.ones_like(angle),))
        return jnp.clip(angle - value / slope, 1e-15, jnp.pi - 1e-15), None

    return jax.lax.scan(improve, angle, None, length=_NEWTON_STEPS)[0]


def creep_angle(ball: BallOnRails, forward: Scalar) -> Scalar:
    """The angle of self-similar creep in this direction of spin, from nothing: slip and spin of the same sign."""
    ends = jnp.asarray(0.0), jnp.asarray(jnp.pi / 2)
    low, high = bisect(lambda angle: ~(turning_of_ray(ball, angle, forward) > 0.0), *ends, _HALVINGS)
    return refine_angle(ball, jax.lax.stop_gradient(0.5 * (low + high)), forward)


@program
def terminal_creep(ball: BallOnRails, forward: float = 1.0) -> tuple[Scalar, Scalar]:
    """Ratio of slip to rim speed of the self-similar creep, and its acceleration along the rails [m/s2].

    `forward` is 1 for rolling towards +x, -1 for the other direction; the creep must keep slip and spin of one sign.
    """
    way = jnp.asarray(forward, float)
    angle = creep_angle(ball, way)
    return 1.0 / jnp.tan(angle), symmetric_acceleration(ball, angle, way).along


@program
def critical_slope(ball: BallOnRails) -> tuple[Scalar, Scalar]:
    """Tangent of the steepest slope on which the ball rests, and the ratio of rim speed to slip at its onset.

    Without locked-in forces across the rails, which could wedge the ball on steeper slopes.
    """
    S, C = jnp.sin(ball.half_angle), jnp.cos(ball.half_angle)
    radius, law = spot_radius(ball), spot_law(ball.law)
    mu, resistance = grip(ball), law.rolling_capacity(even_load(ball)) / even_load(ball) * C

    def shares(angle):
        share = law.coupling(jnp.cos(angle) ** 2, jnp.sin(angle))
        return share.drag * jnp.cos(angle), share.lift, share.twist

    def excess(angle):
        drag, _, twist = shares(angle)
        return mu * (drag * ball.radius * C - radius * twist * S) - resistance

    low, high = bisect(lambda angle: excess(angle) > 0.0, jnp.asarray(0.0), jnp.asarray(jnp.pi / 2), _HALVINGS)
    angle = 0.5 * (low + high)
    drag, lift, _ = shares(angle)
    shift = law.rolling_shift + law.sliding_shift
    return mu * drag / (C + mu * shift * lift * S), jnp.tan(angle)


def static_reaction(ball: BallOnRails) -> Reaction:
    """Static friction of a ball at rest: along the rails evenly, the moment by rolling resistance and spin torque."""
    S, C = jnp.sin(ball.half_angle), jnp.cos(ball.half_angle)
    held = ball.mass * ball.gravity * jnp.sin(ball.slope)
    limit = ball.law.rolling_capacity(even_load(ball))
    resistance = jnp.clip(-0.5 * ball.radius * held, -limit, limit)
    torque = (0.5 * ball.radius * held + resistance) * C / S
    nothing = jnp.zeros(2)
    return Reaction(
        force=jnp.stack([jnp.full(2, -0.5 * held), nothing], -1),
        spin_torque=-jnp.asarray(LEAN) * torque,
        rolling_moment=jnp.stack([nothing, jnp.full(2, resistance)], -1),
    )


def rests(ball: BallOnRails) -> Array:
    """Whether a ball at rest stays at rest."""
    return jnp.abs(jnp.tan(ball.slope)) <= critical_slope(ball)[0]
