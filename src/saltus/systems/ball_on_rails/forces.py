"""Loads, friction and accelerations of a ball on two rails, and on one rail after it has lost the other.

Axes: x along the rails (downhill), y across, z up from the plane of the rails. Contact 0 is the rail at y > 0
(its normal leans towards -y), contact 1 the rail at y < 0. The load on a rail depends on the friction across
it and the other way round; all laws with a fixed spot are proportional to the load, which gives a closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from saltus.contacts.ball_contact import ContactMotion, contact_motion, moment, normal_at
from saltus.hybrid import Parts, part
from saltus.laws.friction import Reaction
from saltus.laws.friction.base import direction
from saltus.numerics.elimination import solve
from saltus.numerics.trees import choose
from saltus.systems.ball_common import size

if TYPE_CHECKING:
    from saltus.systems.ball_on_rails.system import BallOnRails

Scalar = Float[Array, ""]
Pair = Float[Array, "2"]
Vector = Float[Array, "3"]

LEAN = np.array([-1.0, 1.0])  # towards which side the normal of each rail leans, in half angles
TURNS_AT_ONCE = 1e2  # times as fast as what counts as none
_NEWTON_STEPS = 6  # for a spot that grows with the load: quadratic convergence from a good guess


class RailPlace(Parts):
    """Where a ball on rails is.

    Args:
        along: Position along the rails [m].
        tilt: Angle by which it has turned about its only rail [rad].
        creep_angle: Angle of the ray on which slip and rim speed fall together [rad]; changed by jumps alone.
    """

    along: Scalar = part()
    tilt: Scalar = part()
    creep_angle: Scalar = part()


class RailMotion(Parts):
    """How it moves; or the rates of that.

    Args:
        along: Velocity along the rails [m s-1].
        tilt: Rate of the tilt [rad s-1].
        turning: Angular velocity about x, y, z [rad s-1].
    """

    along: Scalar = part()
    tilt: Scalar = part()
    turning: Vector = part(1)

    @staticmethod
    def still() -> RailMotion:
        """No motion."""
        return RailMotion(jnp.zeros(()), jnp.zeros(()), jnp.zeros(3))


class RailLosses(Parts):
    """Energy lost since the start to friction, and in impacts on a rail [J]."""

    friction: Scalar = part()
    impact: Scalar = part()


class Place(eqx.Module):
    """Where the ball touches.

    Args:
        one_rail: Whether it touches one rail only.
        touches: Which contacts touch.
        kept: Side of the only rail: +1 for the rail at y < 0, whose normal leans towards +y.
        lean: Angle of the normals from the vertical, towards +y [rad].
        centre: Velocity of the centre [m/s].
        motion: Slip, spin and rolling at the contacts.
    """

    one_rail: Bool[Array, ""]
    touches: Bool[Array, "2"]
    kept: Scalar
    lean: Pair
    centre: Vector
    motion: ContactMotion

    @property
    def normals(self) -> Float[Array, "2 3"]:
        """Contact normals, into the ball."""
        return normal_at(self.lean)


class Loads(eqx.Module):
    """Normal forces, and how far they are from vanishing or growing without bound.

    Args:
        load: Normal forces [N].
        margin: Numerators of the loads: a rail is lost as its margin falls through zero.
        determinant: Falls to zero where the ball jams between the rails.
    """

    load: Pair
    margin: Pair
    determinant: Scalar


class Contacts(eqx.Module):
    """The ball at its two contacts; an open contact carries nothing.

    Args:
        place: Where and how the ball touches.
        loads: Normal forces.
        reaction: Friction on the ball.
        acceleration: Of x [m/s2], of the tilt [rad/s2] and of the angular velocity [rad/s2].
    """

    place: Place
    loads: Loads
    reaction: Reaction
    acceleration: RailMotion

    @property
    def motion(self) -> ContactMotion:
        """Slip, spin and rolling at the contacts."""
        return self.place.motion

    @property
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


def even_load(ball: BallOnRails) -> Scalar:
    """Load on each rail without friction across the rails [N]."""
    return weight(ball) / (2 * jnp.cos(ball.half_angle))


def grip(ball: BallOnRails) -> Scalar:
    """Largest friction of a contact at rest over its load, under the even load [-]."""
    return ball.law.capacity(even_load(ball)) / even_load(ball)


def place_contacts(
    ball: BallOnRails, tilt: Scalar, velocity: RailMotion, is_open: Bool[Array, "2"] | None = None
) -> Place:
    """Where the ball touches: both rails, or one about which it has turned by `tilt`."""
    is_open = jnp.zeros(2, bool) if is_open is None else jnp.asarray(is_open)
    one = is_open.any()
    kept = jnp.where(is_open[0], 1.0, -1.0)
    lean = ball.half_angle - tilt
    turning = -velocity.tilt * ball.radius
    aside, down = turning * kept * jnp.cos(lean), -turning * jnp.sin(lean)
    centre = jnp.stack([velocity.along, jnp.where(one, aside, 0.0), jnp.where(one, down, 0.0)])
    leans = jnp.where(one, kept * lean, LEAN * ball.half_angle)
    motion = contact_motion(normal_at(leans), centre, velocity.turning, ball.radius)
    return Place(one, ~is_open, kept, leans, centre, _mask(motion, ~is_open))


def contacts_under(
    ball: BallOnRails,
    place: Place,
    velocity: RailMotion,
    motion: ContactMotion | None = None,
    held: tuple[Bool[Array, ""], Callable[[Loads], Reaction]] | None = None,
) -> Contacts:
    """Loads, friction and accelerations.

    Args:
        ball: The ball.
        place: Where it touches.
        velocity: How it moves.
        motion: What the friction of sliding contacts follows; the motion of the place if not given.
        held: Whether the contacts do not slide, and what friction then is under which loads. These are without
            friction across the rails.
    """
    motion = place.motion if motion is None else motion

    def friction(load):
        return ball.law.reaction(motion.slip, motion.spin, load, motion.rolling)

    def loads_under(unit):
        across = unit if held is None else jnp.where(held[0], 0.0, unit)
        return loads_of(ball, place, velocity, across)

    if ball.law.proportional:
        unit = friction(jnp.ones(2))
        loads = loads_under(unit.force[:, 1])
        reaction = jax.tree.map(lambda x: x * loads.load.reshape(2, *[1] * (x.ndim - 1)), unit)
    else:

        def consistent(load):
            return loads_under(friction(load).force[:, 1] / load)

        load = consistent(jnp.full(2, even_load(ball))).load
        loads = consistent(_fixed_point(lambda load: consistent(load).load, load))
        reaction = friction(loads.load)
    if held is not None:
        reaction = choose(held[0], held[1](loads), reaction)
    return Contacts(place, loads, reaction, acceleration(ball, place, reaction))


def known_direction(ball: BallOnRails, motion: ContactMotion) -> ContactMotion:
    """The motion, whose derivatives are left out where it is so slow that friction turns it within no time."""
    slow = size(motion.slip) + ball.radius * jnp.abs(motion.spin) < TURNS_AT_ONCE * ball.near_stick * ball.speed
    given = jax.lax.stop_gradient(motion)
    return ContactMotion(
        jnp.where(slow[:, None], given.slip, motion.slip), jnp.where(slow, given.spin, motion.spin), motion.rolling
    )


def loads_of(ball: BallOnRails, place: Place, velocity: RailMotion, across: Pair) -> Loads:
    """Loads for friction forces across the rails that are `across` times the load."""
    S, C = jnp.sin(ball.half_angle), jnp.cos(ball.half_angle)
    t1, t2 = -across[0], -across[1]
    determinant = 2 * S * C * (1 + t1 * t2) + (t1 - t2) * (C * C - S * S)
    safe = jnp.where(jnp.abs(determinant) < 1e-12, 1e-12, determinant)
    margin = jnp.stack([S - t2 * C, S + t1 * C])
    both = weight(ball) * margin / safe
    one = weight(ball) * jnp.cos(place.lean) - ball.mass * ball.radius * velocity.tilt**2
    return Loads(jnp.where(place.one_rail, jnp.where(place.touches, one, 0.0), both), margin, determinant)


def _fixed_point(function, load: Pair) -> Pair:
    """Loads of spots whose radius grows with the load, by Newton's method."""

    def improve(load, _):
        slope = jax.jacfwd(function)(load) - jnp.eye(2)
        return load - solve(slope, function(load) - load), None

    return jax.lax.scan(improve, load, None, length=_NEWTON_STEPS)[0]


def acceleration(ball: BallOnRails, place: Place, reaction: Reaction) -> RailMotion:
    """Acceleration of the ball for given friction."""
    lean = place.kept * place.lean[0]
    sinks = -ball.gravity * jnp.cos(ball.slope) * jnp.sin(lean) / ball.radius
    pushed = push(ball, place, reaction)
    return pushed.replace(
        along=ball.gravity * jnp.sin(ball.slope) + pushed.along,
        tilt=pushed.tilt + jnp.where(place.one_rail, sinks, 0.0),
    )


def push(ball: BallOnRails, place: Place, reaction: Reaction) -> RailMotion:
    """Acceleration by friction alone; or, by an impulse of it, the change of the velocities."""
    turning = moment(place.normals, reaction.force, reaction.spin_torque, reaction.rolling_moment, ball.radius)
    aside = place.kept * jnp.sum(reaction.force[:, 1]) / ball.mass
    return RailMotion(
        jnp.sum(reaction.force[:, 0]) / ball.mass,
        jnp.where(place.one_rail, -aside / ball.radius, 0.0),
        jnp.sum(turning, 0) / ball.inertia,
    )


def along_rails(force: Pair) -> Reaction:
    """Friction of point contacts along the rails only."""
    nothing = jnp.zeros(2)
    return Reaction(jnp.stack([force, nothing], -1), nothing, jnp.zeros((2, 2)))


def rolling_on_one(ball: BallOnRails, place: Place, velocity: RailMotion, loads: Loads) -> Reaction:
    """Friction that keeps the only contact at rest on its rail: no slip, and no spin of a finite spot."""
    motion = place.motion
    spin, rolling = jnp.sum(motion.spin), jnp.sum(motion.rolling, 0)
    resistance, torque = jnp.zeros(2), jnp.zeros(())
    if not ball.point:
        resistance = -ball.law.rolling_capacity(jnp.sum(loads.load)) * direction(rolling)
        torque = ball.inertia * place.kept * velocity.tilt * rolling[1]
    turn = -ball.radius * velocity.tilt * place.kept * spin
    pull = ball.mass * (ball.gravity * jnp.sin(ball.slope) + turn)
    along = (-2 * pull + 5 * resistance[1] / ball.radius) / 7
    across = (-2 * weight(ball) * jnp.sin(place.lean[0]) - 5 * resistance[0] / ball.radius) / 7
    whole = Reaction(jnp.stack([along, across]), torque, resistance)
    return jax.tree.map(lambda x: jnp.where(place.touches.reshape(2, *[1] * x.ndim), x, 0.0), whole)


def _mask(motion: ContactMotion, touches: Bool[Array, "2"]) -> ContactMotion:
    """The motion with zeros at contacts that do not touch."""
    return jax.tree.map(lambda x: jnp.where(touches.reshape(2, *[1] * (x.ndim - 1)), x, 0.0), motion)
