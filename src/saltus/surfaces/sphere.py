"""The inside and the outside of a sphere: a bowl and a dome."""

from __future__ import annotations

import equinox as eqx
import jax
from jaxtyping import Array, ArrayLike, Float

from saltus import checks
from saltus.surfaces.base import AbstractSurface, Local, Values, broadcast, number


class Sphere(AbstractSurface):
    """Bowl z = R - sqrt(R² - x² - y²): the lower half of a sphere, its bottom at the origin.

    Heights near the bottom keep all their digits. Outside x² + y² < R² everything is NaN.

    Args:
        radius: Radius R of the sphere, > 0 [m].
    """

    radius: Float[Array, ""] = eqx.field(converter=number)

    def __check_init__(self):
        checks.positive("radius", self.radius)

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        x, y = broadcast(x, y)
        below = self.radius**2 - x * x - y * y
        return (x * x + y * y) / (self.radius + below * jax.lax.rsqrt(below))

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        return self.local(x, y).gradient

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        return self.local(x, y).curvature

    def unit_normal(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        return self.local(x, y).unit_normal

    def local(self, x: ArrayLike, y: ArrayLike) -> Local:
        x, y = broadcast(x, y)
        xx, yy, square = x * x, y * y, self.radius**2
        below = square - xx - yy
        inverse = jax.lax.rsqrt(below)  # of the depth under the plane of the centre
        depth, cube = below * inverse, inverse * inverse * inverse
        return Local(
            (xx + yy) / (self.radius + depth),
            (x * inverse, y * inverse),
            ((square - yy) * cube, x * y * cube, (square - xx) * cube),
            (-x / self.radius, -y / self.radius, depth / self.radius),
        )

    def margin(self, x: ArrayLike, y: ArrayLike) -> Values:
        x, y = broadcast(x, y)
        return 1.0 - (x**2 + y**2) / self.radius**2


class Dome(AbstractSurface):
    """Dome z = sqrt(R² - x² - y²) - R: the upper half of a sphere, its top at the origin.

    Args:
        radius: Radius R of the sphere, > 0 [m].
    """

    bowl: Sphere

    def __init__(self, radius):
        self.bowl = Sphere(radius)

    @property
    def radius(self) -> Float[Array, ""]:
        """Radius of the sphere [m]."""
        return self.bowl.radius

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        return -self.bowl.height(x, y)

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        fx, fy = self.bowl.gradient(x, y)
        return -fx, -fy

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        fxx, fxy, fyy = self.bowl.curvature(x, y)
        return -fxx, -fxy, -fyy

    def unit_normal(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        inward_x, inward_y, upward = self.bowl.unit_normal(x, y)
        return -inward_x, -inward_y, upward

    def margin(self, x: ArrayLike, y: ArrayLike) -> Values:
        return self.bowl.margin(x, y)
