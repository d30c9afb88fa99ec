"""The path of a ball's centre along turning plates, and what its motion asks of the contacts."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.shapes.profile import AbstractProfile, OutlinePoint

Scalar = Float[Array, ""]


class Track(NamedTuple):
    """The track of the centre at one angle, in the frame of the plates.

    Args:
        outline: The profile there.
        curvature: Of the path of the centre [1/m].
        arc: Length of that path per angle [m].
        along: Component of the centre's position along the tangent [m].
        outward: Component along the normal [m].
    """

    outline: OutlinePoint
    curvature: Scalar
    arc: Scalar
    along: Scalar
    outward: Scalar


def track(profile: AbstractProfile, phi: Scalar, effective_radius: Scalar) -> Track:
    """The track of a ball whose centre is `effective_radius` above the profile."""
    outline = profile.at(phi)
    stretch = 1.0 + outline.curvature * effective_radius
    centre = outline.point + effective_radius * outline.normal
    return Track(
        outline,
        outline.curvature / stretch,
        outline.arc * stretch,
        jnp.sum(centre * outline.tangent),
        jnp.sum(centre * outline.normal),
    )


class Demand(NamedTuple):
    """What gravity and the turning of the plates do to a ball that moves with speed w along the track.

    Args:
        pull: Acceleration along the track without friction [m/s2].
        load: Normal force per mass, > 0 presses [m/s2].
    """

    pull: Scalar
    load: Scalar


def demand(track: Track, speed: Scalar, turning: tuple[Scalar, Scalar, Scalar], gravity: Scalar) -> Demand:
    """Acceleration along the track without friction, and load per mass."""
    angle, rate, gain = turning
    down = gravity * jnp.stack([jnp.sin(angle), -jnp.cos(angle)])
    pull = jnp.sum(down * track.outline.tangent) - gain * track.outward + rate**2 * track.along
    load = (
        -track.curvature * speed**2
        - 2 * rate * speed
        - gain * track.along
        - rate**2 * track.outward
        - jnp.sum(down * track.outline.normal)
    )
    return Demand(pull, load)


def in_space(vector: Float[Array, "2"], angle: Scalar) -> Array:
    """A vector of the plate frame (x, z) in space (x, y, z), for plates turned by `angle` about +y."""
    s, c = jnp.sin(angle), jnp.cos(angle)
    return jnp.stack([c * vector[0] + s * vector[1], jnp.zeros_like(vector[0]), -s * vector[0] + c * vector[1]])


def outline_in_space(profile: AbstractProfile, angle: Scalar, points: int = 73) -> Array:
    """Points of the edge of plates turned by `angle`, for pictures."""
    phi = jnp.linspace(0.0, 2 * jnp.pi, points)
    r = jax.vmap(lambda x: jnp.asarray(profile.radius(x), float))(phi)
    return in_space(jnp.stack([r * jnp.sin(phi), r * jnp.cos(phi)]), angle).T


def circle_lift_off(half_angle: float) -> float:
    """Cosine of the angle from the top at which a ball that rolls from rest down a fixed circle lifts off.

    >>> circle_lift_off(0.0) == 10 / 17
    True
    """
    square = math.cos(half_angle) ** 2
    return 10 * square / (15 * square + 2)
