"""A plane, level or tilted."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from saltus import checks
from saltus.surfaces.base import AbstractSurface, Values, broadcast, number


class Plane(AbstractSurface):
    """Plane z = slope_x x + slope_y y.

    Args:
        slope_x: Rise per metre along x [-].
        slope_y: Rise per metre along y [-].
    """

    slope_x: Float[Array, ""] = eqx.field(converter=number)
    slope_y: Float[Array, ""] = eqx.field(converter=number)

    flat: ClassVar[bool] = True

    def __check_init__(self):
        checks.finite("slope_x", self.slope_x)
        checks.finite("slope_y", self.slope_y)

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        return self.slope_x * x + self.slope_y * y

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        x, y = broadcast(x, y)
        return jnp.full_like(x, self.slope_x), jnp.full_like(x, self.slope_y)

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        zero = jnp.zeros_like(broadcast(x, y)[0])
        return zero, zero, zero
