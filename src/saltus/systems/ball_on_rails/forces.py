"""Loads, friction and accelerations of a ball on two rails, and on one rail after it has lost the other.

Axes: x along the rails (downhill), y across, z up from the plane of the rails. Contact 0 is the rail at y > 0
(its normal leans towards -y), contact 1 the rail at y < 0. The load on a rail depends on the friction across
it and the other way round; all laws with a fixed spot are proportional to the load, which gives a closed form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from saltus.contacts.ball_contact import ContactMotion, contact_motion, moment, normal_at
from saltus.laws.friction import Reaction

if TYPE_CHECKING:
    from saltus.systems.ball_on_rails.system import BallOnRails

Scalar = Float[Array, ""]
Pair = Float[Array, "2"]
Vector = Float[Array, "3"]

LEAN = np.array([-1.0, 1.0])  # towards which side the normal of each rail leans, in half angles
_NEWTON_STEPS = 6  # for a spot that grows with the load: quadratic convergence from a good guess


class Contacts(eqx.Module):
    """The ball at its two contacts; an open contact carries nothing.

    Args:
        motion: Slip, spin and rolling at each contact.
        load: Normal forces [N].
        reaction: Friction on the ball.
        margin: Numerators of the loads: a rail is lost as its margin falls through zero.
        determinant: Falls to zero where the ball jams between the rails.
        acceleration: Of x [m/s2], of the tilt [rad/s2] and of the angular velocity [rad/s2].
    """

    motion: ContactMotion
    load: Pair
    reaction: Reaction
    margin: Pair
    determinant: Scalar
    acceleration: Float[Array, "5"]

    def power(self) -> Scalar:
        """Power that friction takes from the ball [W]."""
        return -(
            jnp.sum(self.reaction.force * self.motion.slip)
            + jnp.sum(self.reaction.spin_torque * self.motion.spin)
            + jnp.sum(self.reaction.rolling_moment * self.motion.rolling)
        )


def weight(ball: BallOnRails) -> Scalar:
    """Part of the weight that presses on the plane of the rails [N]."""
    return ball.mass * ball.gravity * jnp.cos(ball.slope)


def seated_motion(ball: BallOnRails, velocity: Float[Array, "5"]) -> ContactMotion:
    """Contact motion of a ball that touches both rails, from (x', tilt', angular velocity)."""
    normals = normal_at(LEAN * ball.half_angle)
    centre = jnp.zeros(3).at[0].set(velocity[0])
    return contact_motion(normals, centre, velocity[2:], ball.radius)


def seated(ball: BallOnRails, velocity: Float[Array, "5"]) -> Contacts:
    """Both rails slide: loads, friction and accelerations."""
    motion = seated_motion(ball, velocity)
    S, C = jnp.sin(ball.half_angle), jnp.cos(ball.half_angle)
    W = weight(ball)

    def loads(across):
        """Loads for friction forces -across N_i along e2 of each contact."""
        t1, t2 = across
        determinant = 2 * S * C * (1 + t1 * t2) + (t1 - t2) * (C * C - S * S)
        safe = jnp.where(jnp.abs(determinant) < 1e-12, 1e-12, determinant)
        margin = jnp.stack([S - t2 * C, S + t1 * C])
        return W * margin / safe, margin, determinant

    def across_at(load):
        reaction = ball.law.reaction(motion.slip, motion.spin, load, motion.rolling)
        return -reaction.force[:, 1] / load

    guess = jnp.full(2, W / (2 * C))
    load, margin, determinant = loads(across_at(guess))
    if getattr(ball.law, "reference_load", None) is not None:
        load = _consistent_loads(lambda load: loads(across_at(load))[0] - load, load)
        _, margin, determinant = loads(across_at(load))
    reaction = ball.law.reaction(motion.slip, motion.spin, load, motion.rolling)
    return Contacts(motion, load, reaction, margin, determinant, acceleration(ball, reaction))


def _consistent_loads(residual, load: Pair) -> Pair:
    """Loads of spots whose radius grows with the load, by Newton's method."""

    def improve(load, _):
        return load - jnp.linalg.solve(jax.jacfwd(residual)(load), residual(load)), None

    return jax.lax.scan(improve, load, None, length=_NEWTON_STEPS)[0]


def acceleration(ball: BallOnRails, reaction: Reaction) -> Float[Array, "5"]:
    """Acceleration of a ball that keeps both rails, for given friction."""
    normals = normal_at(LEAN * ball.half_angle)
    turning = moment(normals, reaction.force, reaction.spin_torque, reaction.rolling_moment, ball.radius)
    along = ball.gravity * jnp.sin(ball.slope) + jnp.sum(reaction.force[:, 0]) / ball.mass
    return jnp.concatenate([jnp.stack([along, jnp.zeros_like(along)]), jnp.sum(turning, 0) / ball.inertia])


def longitudinal(ball: BallOnRails, velocity: Float[Array, "5"], force: Pair) -> Contacts:
    """Both rails touch at points, no turning about x: given forces along the rails and even loads."""
    motion = seated_motion(ball, velocity)
    load = jnp.full(2, weight(ball) / (2 * jnp.cos(ball.half_angle)))
    nothing = jnp.zeros(2)
    reaction = Reaction(jnp.stack([force, nothing], -1), nothing, jnp.zeros((2, 2)))
    return Contacts(motion, load, reaction, jnp.ones(2), jnp.asarray(1.0), acceleration(ball, reaction))


def centre_velocity(ball: BallOnRails, tilt: Scalar, velocity: Float[Array, "5"], kept: Scalar) -> Vector:
    """Velocity of the centre of a ball that turns about one rail; `kept` is its side (-1 for y > 0, +1 for y < 0)."""
    lean = ball.half_angle - tilt
    turning = -velocity[1] * ball.radius
    return jnp.stack([velocity[0], turning * kept * jnp.cos(lean), -turning * jnp.sin(lean)])


def on_one_rail(
    ball: BallOnRails, tilt: Scalar, velocity: Float[Array, "5"], is_open: Bool[Array, "2"], sticks: Bool[Array, ""]
) -> Contacts:
    """One rail touches: slides with the law, or rolls without slip (`sticks`, point contacts only)."""
    kept = jnp.where(is_open[0], 1.0, -1.0)
    lean = ball.half_angle - tilt
    normal = normal_at(kept * lean)
    motion = contact_motion(normal, centre_velocity(ball, tilt, velocity, kept), velocity[2:], ball.radius)
    down = ball.gravity * jnp.cos(ball.slope)
    load = ball.mass * (down * jnp.cos(lean) - ball.radius * velocity[1] ** 2)
    sliding = ball.law.reaction(motion.slip, motion.spin, load, motion.rolling)
    # What keeps the contact point at rest: along the rail, and across it.
    along = -ball.mass * (ball.gravity * jnp.sin(ball.slope) - ball.radius * velocity[1] * kept * motion.spin) * 2 / 7
    across = -ball.mass * down * kept * jnp.sin(lean) * 2 / 7
    force = jnp.where(sticks, jnp.stack([along, across]), sliding.force)
    spin_torque = jnp.where(sticks, 0.0, sliding.spin_torque)
    rolling_moment = jnp.where(sticks, 0.0, sliding.rolling_moment)
    turning = moment(normal, force, spin_torque, rolling_moment, ball.radius) / ball.inertia
    x = ball.gravity * jnp.sin(ball.slope) + force[0] / ball.mass
    falling = (kept * force[1] / ball.mass + down * jnp.sin(lean)) / ball.radius
    return _with_open_contact(
        Contacts(
            motion,
            load,
            Reaction(force, spin_torque, rolling_moment),
            jnp.ones(2),
            jnp.asarray(1.0),
            jnp.concatenate([jnp.stack([x, -falling]), turning]),
        ),
        is_open,
    )


def _with_open_contact(contacts: Contacts, is_open: Bool[Array, "2"]) -> Contacts:
    """The quantities of the touching contact in its place, zeros in the other."""

    def spread(x):
        mask = is_open.reshape(2, *([1] * x.ndim))
        return jnp.where(mask, 0.0, x[None])

    wide = jax.tree.map(spread, (contacts.motion, contacts.load, contacts.reaction))
    return Contacts(*wide, contacts.margin, contacts.determinant, contacts.acceleration)
