"""A valley with waves across it, tilted along it."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from saltus import checks
from saltus.surfaces.base import AbstractSurface, Values, broadcast, number


class Cosine(AbstractSurface):
    """Cosine valley z = A (1 - cos(k x)) - S y, going down along y for a positive slope.

    Args:
        amplitude: Half the height A of the walls [m].
        wavenumber: k, 2 pi over the distance from wall to wall [1/m].
        slope: Fall S per metre along y [-].
    """

    amplitude: Float[Array, ""] = eqx.field(converter=number)
    wavenumber: Float[Array, ""] = eqx.field(converter=number)
    slope: Float[Array, ""] = eqx.field(converter=number, default=0.0)

    def __check_init__(self):
        for name in ("amplitude", "wavenumber", "slope"):
            checks.finite(name, getattr(self, name))

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        x, y = broadcast(x, y)
        return 2 * self.amplitude * jnp.sin(self.wavenumber * x / 2) ** 2 - self.slope * y

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        x, y = broadcast(x, y)
        return self.amplitude * self.wavenumber * jnp.sin(self.wavenumber * x), jnp.full_like(x, -self.slope)

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        x, _ = broadcast(x, y)
        zero = jnp.zeros_like(x)
        return self.amplitude * self.wavenumber**2 * jnp.cos(self.wavenumber * x), zero, zero
