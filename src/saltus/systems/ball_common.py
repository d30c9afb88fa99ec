"""What the systems with one ball have in common."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus import checks
from saltus.hybrid import Quantity, State
from saltus.laws.friction import AbstractFrictionLaw, AbstractSpotLaw

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


def number(value) -> Array:
    """A value as a float64 array."""
    return jnp.asarray(value, float)


def is_point(law: AbstractFrictionLaw) -> bool:
    """Whether a law is that of a point contact, which can stick; a radius that is not known yet counts as a spot."""
    if not isinstance(law, AbstractSpotLaw):
        return True
    checks.note((law.spot_radius > 0.0).all())
    radius = checks.concrete(law.spot_radius)
    return radius is not None and not radius.any()


def size(vector: Array) -> Array:
    """Length of the vector(s), with finite derivatives."""
    square = jnp.sum(vector * vector, -1)
    some = square > 1e-280
    return jnp.where(some, jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)


def changed(state: State, **parts) -> State:
    """The state with some of its parts replaced."""
    names = list(parts)
    return eqx.tree_at(lambda s: [getattr(s, n) for n in names], state, [parts[n] for n in names])


def choose(condition, one, other):
    """`one` where the condition holds, else `other`; for whole states and results."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), one, other)


def of_type(state: State, like: State) -> State:
    """The state with the types of another, so that whatever takes both is compiled once."""
    return jax.tree.map(lambda x, y: jnp.asarray(x, y.dtype), state, like)
