"""What every system with one ball shows."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array

from saltus.hybrid import Quantity

AXES = ("x", "y", "z")

BALL_QUANTITIES = {
    "position": Quantity(("axis",), "m", "position of the centre"),
    "velocity": Quantity(("axis",), "m s-1", "velocity of the centre"),
    "angular_velocity": Quantity(("axis",), "rad s-1", "angular velocity"),
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
