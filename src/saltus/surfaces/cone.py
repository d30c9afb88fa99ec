"""A cone with a rounded tip."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from saltus import checks
from saltus.surfaces.base import AbstractSurface, Values, broadcast, number


class Cone(AbstractSurface):
    """Funnel z = k (sqrt(x² + y² + eps²) - eps), its rounded tip at the origin.

    A hyperboloid: far from the tip it is a cone of slope k. A negative slope makes a peak.

    Args:
        slope: Slope k far from the tip [-].
        rounding: Radius eps over which the tip is rounded, > 0 [m].
    """

    slope: Float[Array, ""] = eqx.field(converter=number)
    rounding: Float[Array, ""] = eqx.field(converter=number)

    def __check_init__(self):
        checks.finite("slope", self.slope)
        checks.positive("rounding", self.rounding, "A sharp tip has no normal.")

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        x, y = broadcast(x, y)
        return self.slope * (x**2 + y**2) / (self._slant(x, y) + self.rounding)

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        x, y = broadcast(x, y)
        scaled = self.slope / self._slant(x, y)
        return scaled * x, scaled * y

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        x, y = broadcast(x, y)
        scaled = self.slope / self._slant(x, y) ** 3
        return (
            scaled * (y**2 + self.rounding**2),
            -scaled * x * y,
            scaled * (x**2 + self.rounding**2),
        )

    def _slant(self, x: Values, y: Values) -> Values:
        return jnp.sqrt(x**2 + y**2 + self.rounding**2)
