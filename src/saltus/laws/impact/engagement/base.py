"""What every law of engagement answers: the jump of a link that is jerked taut over a table's edge."""

from __future__ import annotations

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Engagement(eqx.Module):
    """The jump of one crossing, scaled with the crossing particle's mass m and the table speed V.

    Args:
        impulse: Impulse of the new link, / (m V) [-].
        velocity: Velocity of the crossing particle just after (down, outward), / V [-].
        loss: Kinetic energy lost, also to friction at the edge, / (m V^2) [-]; negative where a
            law creates energy.
    """

    impulse: Float[Array, ""]
    velocity: Float[Array, " 2"]
    loss: Float[Array, ""]

    @staticmethod
    def of(numbers: Float[Array, " 4"]) -> Engagement:
        """From the four numbers (impulse, velocity down, velocity outward, loss)."""
        return Engagement(numbers[0], numbers[1:3], numbers[3])


class AbstractEngagement(eqx.Module):
    """Law of the jerk when a particle crosses the edge and the link before it starts to pull.

    The crossing particle moves outward with the table speed; the new link, at `angle` from the
    downward vertical, would lengthen, and a tensile impulse stops that. The hanging part and
    the table part enter by one number each, so that the scaled jump has three
    arguments, and a fourth with friction at the edge:

    Args of the call:
        angle: Angle of the new link from the downward vertical, in (-pi/2, pi/2] [rad].
        table_mass: Mass still on the table / mass of the crossing particle, >= 0 [-].
        response: Mass of the crossing particle times the inverse inertia of the hanging part
            along the new link, > 0 [-].
        edge_friction: Coefficient of the edge: the table mass counts exp(coefficient * turn)
            times for the tether that turns round it, >= 0 [-].
    """

    name: ClassVar[str]
    creates_energy: ClassVar[bool] = False

    @abc.abstractmethod
    def __call__(
        self,
        angle: Float[Array, ""] | float,
        table_mass: Float[Array, ""] | float,
        response: Float[Array, ""] | float,
        edge_friction: Float[Array, ""] | float = 0.0,
    ) -> Engagement:
        """The scaled jump."""


def as_floats(*values: Array | float) -> tuple[Array, ...]:
    """Double-precision arrays of the arguments."""
    return tuple(jnp.asarray(value, float) for value in values)
