"""A round hill or hollow."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from saltus import checks
from saltus.surfaces.base import AbstractSurface, Values, broadcast, number


class Gaussian(AbstractSurface):
    """Hill z = A exp(-(x² + y²) / (2 s²)); a negative amplitude makes a hollow.

    Args:
        amplitude: Height A of the top [m].
        width: Distance s from the axis to the steepest place, > 0 [m].
    """

    amplitude: Float[Array, ""] = eqx.field(converter=number)
    width: Float[Array, ""] = eqx.field(converter=number)

    def __check_init__(self):
        checks.finite("amplitude", self.amplitude)
        checks.positive("width", self.width)

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        x, y = broadcast(x, y)
        return self.amplitude * jnp.exp(-(x**2 + y**2) / (2 * self.width**2))

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        x, y = broadcast(x, y)
        scaled = -self.height(x, y) / self.width**2
        return scaled * x, scaled * y

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        x, y = broadcast(x, y)
        square = self.width**2
        scaled = self.height(x, y) / square
        return scaled * (x**2 / square - 1), scaled * x * y / square, scaled * (y**2 / square - 1)
