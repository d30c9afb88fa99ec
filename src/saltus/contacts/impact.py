"""What an impulse at a contact does to two bodies."""

from __future__ import annotations

from typing import Protocol

import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.contacts.gap import Separation
from saltus.shapes.body import Body


class ImpactLaw(Protocol):
    """Anything with the impulse on the second body for a velocity, normal and mobility."""

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        """Impulse on the second body [N s]."""
        ...


def spin_matrix(v: Float[Array, " 3"]) -> Float[Array, "3 3"]:
    """The matrix [v] with [v] b = v x b."""
    x, y, z = v
    zero = jnp.zeros_like(x)
    return jnp.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])


def body_mobility(body: Body, point: Float[Array, " 3"]) -> Float[Array, "3 3"]:
    """Change of the velocity at `point` per impulse there, for one free body [kg-1]."""
    arm = spin_matrix(point - body.center)
    return jnp.eye(3) / body.mass - arm @ body.inverse_inertia() @ arm


def mobility(body1: Body, body2: Body, point1: Array, point2: Array) -> Float[Array, "3 3"]:
    """Change of the relative velocity of two contact points per impulse between them [kg-1]."""
    return body_mobility(body1, point1) + body_mobility(body2, point2)


def velocity_at(body: Body, point: Float[Array, " 3"]) -> Float[Array, " 3"]:
    """Velocity of the body's material at `point` [m s-1]."""
    return body.velocity + jnp.cross(body.angular_velocity, point - body.center)


def collide(body1: Body, body2: Body, separation: Separation, law: ImpactLaw) -> tuple[Body, Body, Array]:
    """Both bodies after an impact at their closest points, and the impulse on the second."""
    point1, point2 = separation.point1, separation.point2
    velocity = velocity_at(body2, point2) - velocity_at(body1, point1)
    impulse = law.impulse(velocity, separation.normal, mobility(body1, body2, point1, point2))
    return (
        body1.with_impulse(-impulse, point1 - body1.center),
        body2.with_impulse(impulse, point2 - body2.center),
        impulse,
    )
