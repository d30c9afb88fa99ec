"""Surfaces of second degree: the paraboloid and the saddle."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from saltus import checks
from saltus.surfaces.base import AbstractSurface, Values, broadcast, number


class Paraboloid(AbstractSurface):
    """Elliptic paraboloid z = a x² + b y² + c x.

    Args:
        a: Half the curvature along x [1/m].
        b: Half the curvature along y [1/m].
        c: Slope along x at the origin [-].
    """

    a: Float[Array, ""] = eqx.field(converter=number)
    b: Float[Array, ""] = eqx.field(converter=number)
    c: Float[Array, ""] = eqx.field(converter=number, default=0.0)

    def __check_init__(self):
        for name in ("a", "b", "c"):
            checks.finite(name, getattr(self, name))

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        x, y = broadcast(x, y)
        return self.a * x**2 + self.b * y**2 + self.c * x

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        x, y = broadcast(x, y)
        return 2 * self.a * x + self.c, 2 * self.b * y

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        x, _ = broadcast(x, y)
        return jnp.full_like(x, 2 * self.a), jnp.zeros_like(x), jnp.full_like(x, 2 * self.b)


class Saddle(AbstractSurface):
    """Saddle z = a x² - b y²: a valley along y, a ridge along x for positive a and b.

    Args:
        a: Half the upward curvature along x [1/m].
        b: Half the downward curvature along y [1/m].
    """

    a: Float[Array, ""] = eqx.field(converter=number)
    b: Float[Array, ""] = eqx.field(converter=number)

    def __check_init__(self):
        checks.finite("a", self.a)
        checks.finite("b", self.b)

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        x, y = broadcast(x, y)
        return self.a * x**2 - self.b * y**2

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        x, y = broadcast(x, y)
        return 2 * self.a * x, -2 * self.b * y

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        x, _ = broadcast(x, y)
        return jnp.full_like(x, 2 * self.a), jnp.zeros_like(x), jnp.full_like(x, -2 * self.b)
