"""Smooth closed outlines in polar form, on which a ball can roll.

The point at angle phi (from the z axis towards x) is radius(phi) (sin phi, cos phi) in the (x, z) plane; the
tangent points towards growing phi, the normal outwards.
"""

from __future__ import annotations

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.programs import program
from saltus.programs.arrays import numbers
from saltus.shapes import outline
from saltus.shapes.outline import OutlinePoint

Scalar = Float[Array, ""]


class AbstractProfile(eqx.Module):
    """An outline given by its radius over the polar angle."""

    @abc.abstractmethod
    def radius(self, phi: Scalar) -> Scalar:
        """Distance from the centre at this angle [m]; twice continuously differentiable."""

    def at(self, phi: Scalar) -> OutlinePoint:
        """Geometry at this angle; curvature > 0 where the outline is convex."""
        phi = jnp.asarray(phi, float)
        slope_of = jax.grad(lambda x: jnp.asarray(self.radius(x), float))
        return outline.outline_point(phi, self.radius(phi), slope_of(phi), jax.grad(slope_of)(phi))

    def check_ball(self, radius: Float[Array, ""]) -> None:
        """Refuse an outline that is not positive, or hollowed more sharply than a ball of this radius can follow."""
        if checks.concrete(radius) is None or any(checks.concrete(x) is None for x in jax.tree.leaves(self)):
            return
        distance, bends = (np.asarray(found) for found in _survey(self, numbers(outline.ANGLES)))
        outline.check_ball(distance, bends, float(radius))


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
