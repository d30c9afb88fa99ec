"""Motion of a ball at a contact whose normal lies in the (y, z) plane, and what forces there do to the ball.

The contact frame is e1 = x, e2 = n x e1, n; the normal n points from the support into the ball. Axes: x along
the rails, z up. One ball, any number of contacts (leading dimensions).
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

Scalar = Float[Array, "..."]
Vector = Float[Array, "... 3"]
Tangent = Float[Array, "... 2"]


class ContactMotion(eqx.Module):
    """How the ball moves against the support at a contact.

    Args:
        slip: Velocity of the ball at the contact along (e1, e2) [m/s].
        spin: Angular velocity about the normal [rad/s].
        rolling: Angular velocity along (e1, e2) [rad/s].
    """

    slip: Tangent
    spin: Scalar
    rolling: Tangent


def normal_at(lean: Scalar) -> Vector:
    """Contact normal that leans from the vertical by `lean` towards +y [rad]."""
    return jnp.stack([jnp.zeros_like(lean), jnp.sin(lean), jnp.cos(lean)], -1)


def across(normal: Vector) -> Vector:
    """e2 = n x e1."""
    return jnp.stack([jnp.zeros_like(normal[..., 0]), normal[..., 2], -normal[..., 1]], -1)


def contact_motion(normal: Vector, velocity: Vector, angular_velocity: Vector, radius: Scalar) -> ContactMotion:
    """Slip, spin and rolling of a ball of this radius.

    Args:
        normal: Contact normals, into the ball.
        velocity: Velocity of the centre relative to the support [m/s].
        angular_velocity: Angular velocity relative to the support [rad/s].
        radius: Radius of the ball [m].
    """
    e2 = across(normal)
    turning_across = jnp.sum(angular_velocity * e2, -1)
    along = velocity[..., 0] - radius * turning_across
    lateral = jnp.sum(velocity * e2, -1) + radius * angular_velocity[..., 0]
    rolling_along = jnp.broadcast_to(angular_velocity[..., 0], turning_across.shape)
    return ContactMotion(
        slip=jnp.stack(jnp.broadcast_arrays(along, lateral), -1),
        spin=jnp.sum(angular_velocity * normal, -1),
        rolling=jnp.stack([rolling_along, turning_across], -1),
    )


def moment(normal: Vector, force: Tangent, spin_torque: Scalar, rolling_moment: Tangent, radius: Scalar) -> Vector:
    """Moment about the centre of the ball of a friction force and moments at the contact [N m]."""
    along_x = radius * force[..., 1] + rolling_moment[..., 0]
    along_e2 = -radius * force[..., 0] + rolling_moment[..., 1]
    e1 = jnp.zeros_like(normal).at[..., 0].set(1.0)
    return along_x[..., None] * e1 + along_e2[..., None] * across(normal) + spin_torque[..., None] * normal
