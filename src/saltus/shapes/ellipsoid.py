"""Ellipsoids."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus.numerics.components import Sym, Vec
from saltus.shapes.base import AbstractShape, checked_axes


class Ellipsoid(AbstractShape):
    """An ellipsoid (x/a)^2 + (y/b)^2 + (z/c)^2 <= 1.

    Args:
        axes: Semi-axes (a, b, c), > 0 [m].
    """

    axes: Float[Array, " 3"]

    def __init__(self, axes):
        self.axes = checked_axes(axes)

    def support_pair(self, n: Vec) -> tuple[Array, Vec]:
        axes = Vec.of(self.axes)
        stretched = axes.times(n)
        value = stretched.norm()
        return value, axes.times(stretched) / value

    def level_parts(self, x: Vec) -> tuple[Array, Vec, Sym]:
        axes = Vec.of(self.axes)
        inverse = Vec(1.0 / axes.x**2, 1.0 / axes.y**2, 1.0 / axes.z**2)
        gradient = inverse.times(x) * 2.0
        return 0.5 * gradient.dot(x) - 1.0, gradient, Sym.diagonal(inverse * 2.0)

    def level_third(self, x: Array) -> Array:
        return jnp.zeros((3, 3, 3))

    def support_excess(self, n: Vec, x: Vec, reach: Vec) -> Array:
        # h = |A n| is a square root, so it lies below its tangent in terms of |A n|^2.
        stretched = Vec.of(self.axes).times(reach)
        return 0.5 * stretched.dot(stretched) / n.dot(x)

    def volume(self) -> Array:
        return 4.0 / 3.0 * jnp.pi * jnp.prod(self.axes)

    def second_moments(self) -> Array:
        return self.axes**2 / 5.0

    def radius(self) -> Array:
        return jnp.max(self.axes)

    def proxy_axes(self) -> Array:
        return self.axes

    def hull_axes(self) -> Array:
        return self.axes

    def symmetries(self) -> np.ndarray:
        a, b, c = np.asarray(self.axes)
        return np.array([b == c, a == c, a == b])
