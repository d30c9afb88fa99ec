"""What every surface answers: height, gradient, curvature, and where it is defined."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from saltus import checks
from saltus.programs.arrays import numbers as number

if TYPE_CHECKING:
    from saltus.surfaces.grid import Grid

Values = Float[Array, "..."]


def parameter(**options: Any) -> Any:
    """Field of a surface that holds one differentiable number."""
    return eqx.field(converter=number, **options)


class Local(NamedTuple):
    """A surface around points: height, gradient, curvature and unit normal, as its methods give them."""

    height: Values
    gradient: tuple[Values, Values]
    curvature: tuple[Values, Values, Values]
    unit_normal: tuple[Values, Values, Values]


class AbstractSurface(eqx.Module):
    """A surface z = f(x, y) that masses slide on; z is up.

    Every method takes numbers or arrays of equal shape and works element by element, also under `jit`,
    `grad` and `vmap`. A subclass needs `height` alone: gradient and curvature follow by differentiation.

    Attributes:
        flat: True if the curvature is zero everywhere.
    """

    flat: ClassVar[bool] = False

    @property
    def grid(self) -> Grid | None:
        """The pixels of a measured surface; None for others."""
        return None

    @property
    def finest(self) -> Float[Array, ""] | float:
        """Width below which it has no features, 0 where none is known [m]."""
        return 0.0

    @abc.abstractmethod
    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        """Height z [m] over the point (x, y) [m]."""

    def gradient(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
        """Slopes (f_x, f_y) [-]."""
        x, y = broadcast(x, y)
        one, zero = jnp.ones_like(x), jnp.zeros_like(x)
        return tuple(jax.jvp(self.height, (x, y), direction)[1] for direction in ((one, zero), (zero, one)))

    def curvature(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        """Second derivatives (f_xx, f_xy, f_yy) [1/m]."""
        x, y = broadcast(x, y)
        one, zero = jnp.ones_like(x), jnp.zeros_like(x)
        fxx, fxy = jax.jvp(self.gradient, (x, y), (one, zero))[1]
        _, fyy = jax.jvp(self.gradient, (x, y), (zero, one))[1]
        return fxx, fxy, fyy

    def margin(self, x: ArrayLike, y: ArrayLike) -> Values:
        """Positive where the surface is defined, falling through zero at the border of its domain [-]."""
        x, y = broadcast(x, y)
        return jnp.ones_like(x) if checks.concrete(x) is None else number(np.ones(x.shape))

    def unit_normal(self, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values, Values]:
        """Components of the unit vector out of the surface, upwards [-]."""
        return across(*self.gradient(x, y))

    def local(self, x: ArrayLike, y: ArrayLike) -> Local:
        """Height, gradient, curvature and unit normal, with what they have in common computed once."""
        kind = type(self)
        if kind.curvature is AbstractSurface.curvature:
            x, y = broadcast(x, y)
            one, zero = jnp.ones_like(x), jnp.zeros_like(x)

            def height_and_gradient(x, y):
                return self.height(x, y), *self.gradient(x, y)

            (z, fx, fy), (_, fxx, fxy) = jax.jvp(height_and_gradient, (x, y), (one, zero))
            _, fyy = jax.jvp(self.gradient, (x, y), (zero, one))[1]
            bends = fxx, fxy, fyy
        else:
            z, (fx, fy), bends = self.height(x, y), self.gradient(x, y), self.curvature(x, y)
        given = kind.unit_normal is not AbstractSurface.unit_normal
        return Local(z, (fx, fy), bends, self.unit_normal(x, y) if given else across(fx, fy))

    def normal(self, x: ArrayLike, y: ArrayLike) -> Float[Array, "... 3"]:
        """Unit vector out of the surface, upwards."""
        return jnp.stack(self.unit_normal(x, y), axis=-1)


def across(fx: Values, fy: Values) -> tuple[Values, Values, Values]:
    """The unit vector across a plane with these slopes, upwards."""
    upward = jax.lax.rsqrt(1.0 + fx**2 + fy**2)
    return -fx * upward, -fy * upward, upward


def broadcast(x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
    """Both coordinates as float arrays of one shape."""
    known_x, known_y = checks.concrete(x), checks.concrete(y)
    if known_x is not None and known_y is not None:
        first, second = np.broadcast_arrays(known_x, known_y)
        return number(first), number(second)
    first, second = jnp.broadcast_arrays(jnp.asarray(x, float), jnp.asarray(y, float))
    return first, second


def where_finite(height: Values) -> Values:
    """The margin of a surface whose border is not known: 1 where it has a height, -1 elsewhere."""
    return jnp.where(jnp.isfinite(height), 1.0, -1.0)
