"""Thin discs and coins."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array

from saltus import checks
from saltus.numerics.components import Sym, Vec
from saltus.programs.arrays import numbers
from saltus.shapes.base import AbstractShape


class Disc(AbstractShape):
    """A flat round disc in the x, y plane with a rim that is rounded, or sharp.

    All points within `rounding` of the flat disc of this radius; with a rounding of 0 the disc has no thickness and
    touches the ground with its sharp rim, which a rolling contact can do. Lying flat it would touch with its whole
    face: there its radius of curvature is infinite, and the contact is no longer a single one.

    Args:
        rim: Radius of the flat disc, > 0 [m].
        rounding: Radius of the rim's section, half the thickness, >= 0 [m].
    """

    rim: Array
    rounding: Array

    def __init__(self, rim: Array | float, rounding: Array | float = 0.0):
        checks.positive("rim", rim)
        checks.nonnegative("rounding", rounding)
        self.rim = numbers(rim)
        self.rounding = numbers(rounding)

    def support_pair(self, n: Vec) -> tuple[Array, Vec]:
        square = n.x * n.x + n.y * n.y
        tilted = square > 0.0
        across = jnp.where(tilted, jnp.sqrt(jnp.where(tilted, square, 1.0)), 0.0)
        stretch = self.rim / jnp.where(tilted, across, 1.0)
        point = Vec(stretch * n.x, stretch * n.y, 0.0 * n.z) + n * self.rounding
        return self.rim * across + self.rounding, point

    def _beyond(self, x: Vec) -> tuple[Array, Array, Array]:
        """Distance from the axis, how far beyond the flat disc, distance from the flat disc."""
        radius = jnp.sqrt(jnp.maximum(x.x * x.x + x.y * x.y, 1e-300))
        out = jnp.maximum(radius - self.rim, 0.0)
        return radius, out, jnp.sqrt(jnp.maximum(out * out + x.z * x.z, 1e-300))

    def level_parts(self, x: Vec) -> tuple[Array, Vec, Sym]:
        radius, out, away = self._beyond(x)
        cx, cy = x.x / radius, x.y / radius
        normal = Vec(out * cx, out * cy, x.z) / away
        # Along the rim the distance bends by out / (radius away); across it by the section's curvature, 1 / away.
        along, beyond = out / (radius * away), (out > 0.0) / away
        p, q = normal.z * normal.z * beyond, normal.z * (out / away) * beyond
        flat = (out / away) ** 2 * beyond
        second = Sym(
            p * cx * cx + along * cy * cy, (p - along) * cx * cy, -q * cx, p * cy * cy + along * cx * cx, -q * cy, flat
        )
        return away - self.rounding, normal, second

    def level_third(self, x: Array) -> Array:
        return jnp.zeros((3, 3, 3))

    def support_excess(self, n: Vec, x: Vec, reach: Vec) -> Array:
        return 2.0 * self.radius() * reach.norm()

    def volume(self) -> Array:
        a, r = self.rounding, self.rim
        return jnp.pi * (2.0 * a * r * r + jnp.pi * a * a * r + 4.0 / 3.0 * a**3)

    def second_moments(self) -> Array:
        """Those of a thin disc; the rounding, taken to be small, adds its own square only."""
        return jnp.stack([self.rim**2 / 4.0, self.rim**2 / 4.0, self.rounding**2 / 3.0])

    def radius(self) -> Array:
        return self.rim + self.rounding

    def proxy_axes(self) -> Array:
        thick = jnp.maximum(self.rounding, 0.01 * self.rim)
        return jnp.stack([self.radius(), self.radius(), thick])
