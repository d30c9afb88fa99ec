"""Where the plates of a Butterfly and what is on them are in space."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.shapes.profile import AbstractProfile

Scalar = Float[Array, ""]


def in_space(vector: Float[Array, "2"], angle: Scalar) -> Array:
    """A vector of the plate frame (x, z) in space (x, y, z), for plates turned by `angle` about +y."""
    s, c = jnp.sin(angle), jnp.cos(angle)
    return jnp.stack([c * vector[0] + s * vector[1], jnp.zeros_like(vector[0]), -s * vector[0] + c * vector[1]])


def outline_in_space(profile: AbstractProfile, angle: Scalar, points: int = 73) -> Array:
    """Points of the edge of plates turned by `angle`, for pictures."""
    phi = jnp.linspace(0.0, 2 * jnp.pi, points)
    r = jax.vmap(lambda x: jnp.asarray(profile.radius(x), float))(phi)
    return in_space(jnp.stack([r * jnp.sin(phi), r * jnp.cos(phi)]), angle).T
