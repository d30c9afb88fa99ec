"""The piece of the edge link that is over the edge: its direction, length and turning.

At the start of a phase its length r is zero. There the direction is that of the particle's
velocity and r theta'^2 is zero: a removable singularity.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from saltus.systems.chain.state import Motion


class Edge(NamedTuple):
    """The edge link outside the edge.

    Args:
        direction: Unit vector from the edge to the edge particle.
        length: Distance r of the edge particle from the edge [m].
        speed: Rate of r, the speed of the table part [m/s].
        across: Speed of the edge particle across the direction [m/s].
        centrifugal: r theta'^2 [m/s2].
        angle: Angle theta from the downward vertical [rad].
    """

    direction: Float[Array, " 2"]
    length: Float[Array, ""]
    speed: Float[Array, ""]
    across: Float[Array, ""]
    centrifugal: Float[Array, ""]
    angle: Float[Array, ""]

    @staticmethod
    def of(place: Motion, velocity: Motion) -> Edge:
        """The edge link of a configuration and its velocities."""
        extended = jnp.sum(place.edge**2) > 0.0
        pointer = jnp.where(extended, place.edge, velocity.edge)
        defined = jnp.any(pointer != 0.0)
        pointer = jnp.where(defined, pointer, jnp.array([1.0, 0.0]))  # at rest in the edge: straight down
        direction = pointer / jnp.sqrt(jnp.sum(pointer**2))
        # With the direction as a constant, the derivative of the length is right at zero, too.
        length = lax.stop_gradient(direction) @ place.edge
        across = direction[0] * velocity.edge[1] - direction[1] * velocity.edge[0]
        centrifugal = jnp.where(extended, across**2 / jnp.where(extended, length, 1.0), 0.0)
        angle = jnp.arctan2(direction[1], direction[0])
        return Edge(direction, length, direction @ velocity.edge, across, centrifugal, angle)

    @property
    def perpendicular(self) -> Float[Array, " 2"]:
        """Unit vector across the direction, towards growing angle."""
        return jnp.stack([-self.direction[1], self.direction[0]])
