"""Balls."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.numerics.components import Sym, Vec
from saltus.programs.arrays import numbers
from saltus.shapes.base import AbstractShape
from saltus.shapes.limits import check_radius


class Ball(AbstractShape):
    """A ball.

    Args:
        size: Radius, > 0 [m].
    """

    size: Array

    def __init__(self, size: Array | float):
        check_radius(size)
        self.size = numbers(size)

    def support_pair(self, n: Vec) -> tuple[Array, Vec]:
        return self.size + 0.0 * n.x, n * self.size

    def level_parts(self, x: Vec) -> tuple[Array, Vec, Sym]:
        ones = jnp.ones_like(x.x)
        scale = 1.0 / (self.size * self.size)
        return x.dot(x) * scale - 1.0, x * (2.0 * scale), Sym.diagonal(Vec(ones, ones, ones) * (2.0 * scale))

    def level_third(self, x: Array) -> Array:
        return jnp.zeros((3, 3, 3))

    def support_excess(self, n: Vec, x: Vec, reach: Vec) -> Array:
        return 0.5 * self.size * reach.dot(reach)

    def volume(self) -> Array:
        return 4.0 / 3.0 * jnp.pi * self.size**3

    def second_moments(self) -> Array:
        return jnp.full(3, self.size * self.size / 5.0)

    def radius(self) -> Array:
        return self.size

    def proxy_axes(self) -> Array:
        return jnp.full(3, self.size)

    def symmetries(self) -> np.ndarray:
        return np.ones(3, bool)
