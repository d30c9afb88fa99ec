"""Smooth closed outlines in polar form, on which a ball can roll.

The point at angle phi (from the z axis towards x) is radius(phi) (sin phi, cos phi) in the (x, z) plane; the
tangent points towards growing phi, the normal outwards.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.programs import program
from saltus.programs.arrays import numbers

Scalar = Float[Array, ""]
Plane = Float[Array, "2"]


class OutlinePoint(NamedTuple):
    """The outline at one angle: point [m], unit tangent, outward normal, curvature [1/m], arc per angle [m]."""

    point: Plane
    tangent: Plane
    normal: Plane
    curvature: Scalar
    arc: Scalar


class AbstractProfile(eqx.Module):
    """An outline given by its radius over the polar angle."""

    @abc.abstractmethod
    def radius(self, phi: Scalar) -> Scalar:
        """Distance from the centre at this angle [m]; twice continuously differentiable."""

    def at(self, phi: Scalar) -> OutlinePoint:
        """Geometry at this angle; curvature > 0 where the outline is convex."""
        phi = jnp.asarray(phi, float)
        slope_of = jax.grad(lambda x: jnp.asarray(self.radius(x), float))
        r, slope, bend = self.radius(phi), slope_of(phi), jax.grad(slope_of)(phi)
        s, c = jnp.sin(phi), jnp.cos(phi)
        arc = jnp.sqrt(r * r + slope * slope)
        tangent = jnp.stack([slope * s + r * c, slope * c - r * s]) / arc
        normal = jnp.stack([-tangent[1], tangent[0]])
        curvature = (r * r + 2 * slope * slope - r * bend) / arc**3
        return OutlinePoint(r * jnp.stack([s, c]), tangent, normal, curvature, arc)

    def check_ball(self, radius: Float[Array, ""]) -> None:
        """Refuse an outline that is not positive, or hollowed more sharply than a ball of this radius can follow."""
        if checks.concrete(radius) is None or any(checks.concrete(x) is None for x in jax.tree.leaves(self)):
            return
        angles = np.linspace(0.0, 2 * np.pi, 721)
        distance, curvature = (np.asarray(found) for found in _survey(self, numbers(angles)))
        if not (distance > 0.0).all():
            worst = int(np.argmin(distance))
            raise ValueError(
                f"The radius of the profile must be > 0, got {distance[worst]:.4g} m at phi = {angles[worst]:.4g}. "
                "Use a smaller waist."
            )
        room = 1.0 + curvature * float(radius)
        if not (room > 0.0).all():
            worst = int(np.argmin(room))
            raise ValueError(
                f"The profile is too sharply curved for the ball: its hollow at phi = {angles[worst]:.4g} has a radius "
                f"of {-1.0 / curvature[worst]:.4g} m, the ball needs more than {float(radius):.4g} m. "
                "Use a smaller ball or a smoother profile."
            )


@program
def _survey(profile: AbstractProfile, angles: Array) -> tuple[Array, Array]:
    """Radius and curvature at these angles."""
    return jax.vmap(lambda phi: (jnp.asarray(profile.radius(phi), float), profile.at(phi).curvature))(angles)


class CircleProfile(AbstractProfile):
    """A circle.

    Args:
        a: Its radius, > 0 [m].
    """

    a: Scalar = eqx.field(converter=numbers)

    def __check_init__(self):
        checks.positive("a", self.a)

    def radius(self, phi: Scalar) -> Scalar:
        """Distance of the outline from its centre: the same at every angle [m]."""
        return self.a + 0.0 * phi


class ButterflyProfile(AbstractProfile):
    """The outline a - b cos(2 phi) of the Butterfly robot: a figure with a waist.

    Args:
        a: Mean radius, > 0 [m].
        b: Half the difference of the largest and smallest radius, |b| < a [m].
    """

    a: Scalar = eqx.field(converter=numbers)
    b: Scalar = eqx.field(converter=numbers)

    def __check_init__(self):
        checks.positive("a", self.a)
        checks.finite("b", self.b)

    def radius(self, phi: Scalar) -> Scalar:
        """Smallest at phi = 0 for b > 0."""
        return self.a - self.b * jnp.cos(2 * phi)


class ProfileFunction(AbstractProfile):
    """Any smooth outline.

    Args:
        function: Radius over the angle, a JAX function with period 2 pi [m].
    """

    function: Callable[[Scalar], Scalar] = eqx.field(static=True)

    def radius(self, phi: Scalar) -> Scalar:
        """What the function says."""
        return self.function(phi)
