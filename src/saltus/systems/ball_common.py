"""What the systems with one ball have in common."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.hybrid import Parts, Quantity, part
from saltus.laws.friction import AbstractFrictionLaw, AbstractSpotLaw
from saltus.laws.friction.base import VANISHING
from saltus.programs.arrays import numbers
from saltus.starts.ball import POINT

AXES = ("x", "y", "z")

BALL_QUANTITIES = {
    "position": Quantity(("axis",), "m", "position of the centre"),
    "velocity": Quantity(("axis",), "m s-1", "velocity of the centre"),
    "angular_velocity": Quantity(("axis",), "rad s-1", "angular velocity"),
    "contact_position": Quantity(("contact", "axis"), "m", "point of the support at the contact"),
    "slip": Quantity(("contact", "axis"), "m s-1", "slip velocity of the ball at the contact"),
    "spin": Quantity(("contact",), "rad s-1", "spin of the ball about the contact normal"),
    "normal_force": Quantity(("contact",), "N", "normal force"),
    "friction_force": Quantity(("contact", "axis"), "N", "friction force on the ball"),
    "friction_torque": Quantity(("contact",), "N m", "friction torque on the ball about the contact normal"),
    "rolling_moment": Quantity(("contact", "axis"), "N m", "rolling resistance on the ball"),
    "kinetic_energy": Quantity((), "J", "kinetic energy"),
    "potential_energy": Quantity((), "J", "potential energy"),
    "dissipated_energy": Quantity((), "J", "energy lost to friction and impacts"),
}


class Losses(Parts):
    """Work done against friction since the start [J]."""

    friction: Float[Array, ""] = part()


def is_point(law: AbstractFrictionLaw, radius: Array) -> bool:
    """Whether a law is that of a point contact, which can stick; a radius that is not known yet counts as a spot.

    Args:
        law: Friction law of the contact.
        radius: Radius of the ball [m]; a spot smaller than its rounding is a point.
    """
    checks.instance("law", law, AbstractFrictionLaw, "Give one of saltus.laws.friction, such as Coulomb(mu=0.2).")
    if not isinstance(law, AbstractSpotLaw):
        return True
    checks.note(lambda: (law.spot_radius > POINT * radius).all())
    spot, ball = checks.concrete(law.spot_radius), checks.concrete(radius)
    if spot is None:
        return False
    return bool((spot <= (0.0 if ball is None else POINT * ball)).all())


def atol_limit(near: float | Array, gravity: Array, radius: Array) -> float:
    """A tenth of the speed at which a ball is told to stop, as an error of its velocities.

    Args:
        near: That speed, over an ordinary one, which is sqrt(gravity radius).
        gravity: Acceleration of gravity [m s-2].
        radius: Its radius [m].
    """
    speed, pull, large = (checks.concrete(number) for number in (near, gravity, radius))
    if speed is None or pull is None or large is None:
        return math.inf
    return float(0.1 * float(speed) * np.min(np.sqrt(pull * large)) / max(float(np.max(large)), 1.0))


def no_smaller(near: Array, least: float) -> Array:
    """A speed at which something is told to stop, or the least that can be told."""
    known = checks.concrete(near)
    return jnp.maximum(near, least) if known is None else numbers(max(float(known), least))


def spot_law(law: AbstractFrictionLaw) -> AbstractSpotLaw:
    """The law of a contact that has a spot; `TypeError` for that of a point."""
    if not isinstance(law, AbstractSpotLaw):
        raise TypeError(f"This needs the law of a spot, got {type(law).__name__}. Give one such as Combined.")
    return law


def sliding_force(law: AbstractFrictionLaw, sign: Array, slip: Array, load: Array) -> Array:
    """Force along one line of point contacts that slide to one side (+1, -1) or do not slide (0) [N].

    The side is that of the mode: near a stop the slip may have the other sign by rounding.
    """
    ahead = jnp.maximum(sign * slip, VANISHING)
    speed = jnp.stack([sign * ahead, jnp.zeros_like(ahead)], -1)
    load = jnp.broadcast_to(load, ahead.shape)
    return law.reaction(speed, jnp.zeros_like(ahead), load).force[..., 0]


def size(vector: Array) -> Array:
    """Length of the vector(s), with finite derivatives."""
    square = jnp.sum(vector * vector, -1)
    some = square > 1e-280
    return jnp.where(some, jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
