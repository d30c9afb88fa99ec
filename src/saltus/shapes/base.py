"""What a smooth convex shape must know of itself."""

from __future__ import annotations

import abc

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus.numerics.components import Sym, Vec
from saltus.programs.arrays import numbers
from saltus.shapes.limits import check_axes


def checked_axes(axes) -> Array:
    """Three semi-axes that can be computed with [m]."""
    check_axes(axes)
    return numbers(axes)


class AbstractShape(eqx.Module):
    """A smooth convex body, seen from its centre of mass along its principal axes.

    The surface is known twice: as the zero level of a function that is negative inside, and by
    the support function h(n) = max of n . x over the body. Contacts need both: a flat has no
    finite second derivative in the second form, a needle's tip hardly any in the first.

    The methods on `Vec` are the kernels of the contact routines; those on arrays are for users.
    """

    @abc.abstractmethod
    def support_pair(self, n: Vec) -> tuple[Array, Vec]:
        """Support function and support point for the direction `n` (of length 1)."""

    @abc.abstractmethod
    def level_parts(self, x: Vec) -> tuple[Array, Vec, Sym]:
        """Level function at `x`, its gradient and its matrix of second derivatives."""

    @abc.abstractmethod
    def level_third(self, x: Float[Array, " 3"]) -> Float[Array, "3 3 3"]:
        """Third derivatives of the level function."""

    @abc.abstractmethod
    def support_excess(self, n: Vec, x: Vec, reach: Vec) -> Array:
        """Upper bound of h(n + d) - h(n) - x . d for every |d| <= reach, component by component.

        `x` is the support point of `n`. The bound must be convex and increasing along rays.
        """

    @abc.abstractmethod
    def volume(self) -> Array:
        """Volume [m3]."""

    @abc.abstractmethod
    def second_moments(self) -> Float[Array, " 3"]:
        """Mean of x^2, y^2 and z^2 over the body [m2]."""

    @abc.abstractmethod
    def radius(self) -> Array:
        """Radius of a ball about the centre of mass that holds the body [m]."""

    @abc.abstractmethod
    def proxy_axes(self) -> Float[Array, " 3"]:
        """Semi-axes of an ellipsoid that looks like the body; starts the search for contacts."""

    def hull_axes(self) -> Float[Array, " 3"]:
        """Semi-axes of an ellipsoid about the centre, along the body's axes, that holds the body [m]."""
        return jnp.full(3, self.radius())

    def symmetries(self) -> np.ndarray:
        """Whether it is certainly a body of revolution about its first, second and third axis."""
        return np.zeros(3, bool)

    def gyration(self) -> Float[Array, " 3"]:
        """Principal moments of inertia of the homogeneous body per unit mass [m2]."""
        moments = self.second_moments()
        return jnp.sum(moments) - moments

    def support(self, normal: Float[Array, " 3"]) -> Array:
        """Largest value of normal . x over the body, for a normal of any length [m]."""
        length = jnp.sqrt(jnp.sum(normal * normal))
        return length * self.support_pair(Vec.of(normal / length))[0]

    def support_point(self, normal: Float[Array, " 3"]) -> Float[Array, " 3"]:
        """The point of the surface whose outward normal points along `normal` [m]."""
        return self.support_pair(Vec.of(normal / jnp.sqrt(jnp.sum(normal * normal))))[1].array()

    def level(self, point: Float[Array, " 3"]) -> Array:
        """Negative inside, zero on the surface, positive outside; not a distance."""
        return self.level_parts(Vec.of(point))[0]

    def normal(self, point: Float[Array, " 3"]) -> Float[Array, " 3"]:
        """Outward unit normal at a point of the surface."""
        return self.level_parts(Vec.of(point))[1].unit().array()

    def curvature(self, point: Float[Array, " 3"]) -> Float[Array, "3 3"]:
        """Second derivatives of the distance from the surface, in the tangent plane [m-1]."""
        return self.bending(point)[1]

    def bending(self, point: Float[Array, " 3"]) -> tuple[Array, Array, Array]:
        """Normal, curvature tensor and third derivatives of the distance at a point of the surface."""
        _, gradient, second = self.level_parts(Vec.of(point))
        steepness, normal = gradient.norm(), gradient.unit().array()
        hessian = second.array() / steepness
        third = self.level_third(point) / steepness
        tangent = jnp.eye(3) - jnp.outer(normal, normal)
        curvature = tangent @ hessian @ tangent
        slope = tangent @ hessian @ normal
        cubic = jnp.einsum("abc,ai,bj,ck->ijk", third, tangent, tangent, tangent)
        mixed = jnp.einsum("ij,k->ijk", curvature, slope)
        return normal, curvature, cubic - mixed - jnp.einsum("ijk->jki", mixed) - jnp.einsum("ijk->kij", mixed)
