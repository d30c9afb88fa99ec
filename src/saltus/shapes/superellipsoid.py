"""Superellipsoids: from ellipsoids to rounded boxes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.numerics.components import Sym, Vec
from saltus.numerics.gamma import gamma
from saltus.programs.arrays import numbers
from saltus.shapes.base import AbstractShape, checked_axes
from saltus.shapes.extents import superellipsoid_radius
from saltus.shapes.limits import check_exponents

# Newton steps for the multiplier of the support function; the fifth leaves 1e-16 for any exponents.
STEPS = 5


class Superellipsoid(AbstractShape):
    """A superellipsoid |x/a|^p + |y/b|^q + |z/c|^r <= 1.

    Exponents of 2 give an ellipsoid, large ones a box with rounded edges. Where an exponent
    exceeds 2 the surface is flat (no curvature) on the coordinate plane of that axis; between 2
    and 3 the third derivatives grow without bound there and are reported as 0 on the plane itself.

    Args:
        axes: Semi-axes (a, b, c), > 0 [m].
        exponents: Exponents (p, q, r), each >= 2; one number stands for all three.
    """

    axes: Float[Array, " 3"]
    exponents: Float[Array, " 3"]

    def __init__(self, axes, exponents):
        check_exponents(exponents)
        self.axes = checked_axes(axes)
        known = checks.concrete(exponents)  # which JAX would compile a program for
        self.exponents = (
            jnp.broadcast_to(jnp.asarray(exponents, float), (3,))
            if known is None
            else numbers(np.broadcast_to(known, (3,)))
        )

    def _shares(self, widths: Vec) -> Vec:
        """|x/a|, |y/b|, |z/c| of the support point for the direction n, from a |n|.

        The support point is where the gradient of the level function, p (x/a)^(p-1) / a, is n
        divided by a multiplier.
        """
        p, tiny = Vec.of(self.exponents), 1e-300
        logs = Vec(*(jnp.log(jnp.maximum(width, tiny) / e) for width, e in zip(widths, p, strict=True)))
        q = Vec(*(e / (e - 1.0) for e in p))
        largest = jnp.maximum(jnp.maximum(logs.x, logs.y), logs.z)

        def newton(s):
            terms = [jnp.exp(e * (b - s)) for e, b in zip(q, logs, strict=True)]
            total = terms[0] + terms[1] + terms[2]
            slope = terms[0] * q.x + terms[1] * q.y + terms[2] * q.z
            return s + jnp.log(total) * total / slope

        # The first step is exact for equal exponents; the last one carries the derivatives.
        s = jax.lax.fori_loop(0, STEPS - 1, lambda _, s: newton(s), largest)
        s = newton(jax.lax.stop_gradient(s))
        return Vec(*(jnp.exp((b - s) / (e - 1.0)) for b, e in zip(logs, p, strict=True)))

    def support_pair(self, n: Vec) -> tuple[Array, Vec]:
        axes = Vec.of(self.axes)
        shares = self._shares(Vec(*(a * jnp.abs(m) for a, m in zip(axes, n, strict=True))))
        x = Vec(*(a * jnp.sign(m) * share for a, m, share in zip(axes, n, shares, strict=True)))
        return n.dot(x), x

    def level_parts(self, x: Vec) -> tuple[Array, Vec, Sym]:
        value, gradient, second = jnp.asarray(-1.0), [], []
        for xi, a, p in zip(x, Vec.of(self.axes), Vec.of(self.exponents), strict=True):
            z = xi / a
            power = jnp.power(jnp.abs(z), p - 2.0)
            value = value + power * z * z
            gradient.append(p * power * z / a)
            second.append(p * (p - 1.0) * power / (a * a))
        return value, Vec(*gradient), Sym.diagonal(Vec(*second))

    def level_third(self, x: Array) -> Array:
        p, z = self.exponents, x / self.axes
        away = jnp.abs(z) > 0.0
        power = jnp.where(away, jnp.power(jnp.where(away, jnp.abs(z), 1.0), p - 3.0), 0.0)
        entries = p * (p - 1.0) * (p - 2.0) * power * jnp.sign(z) / self.axes**3
        return jnp.zeros((3, 3, 3)).at[jnp.arange(3), jnp.arange(3), jnp.arange(3)].set(entries)

    def support_excess(self, n: Vec, x: Vec, reach: Vec) -> Array:
        # h(n) = min over the multiplier m of m (1 + sum (p-1) (a |n| / (m p))^q): at a fixed m this
        # is an upper bound of h for every direction, and
        # |y + d|^q - |y|^q - q |y|^(q-1) d <= (3 - q) d^2 / (|y| + |d|)^(2 - q) for 1 < q <= 2.
        axes, powers = Vec.of(self.axes), Vec.of(self.exponents)
        # There n = m p |x/a|^(p-1) / a, which gives the multiplier without a search.
        steepness = sum(p * jnp.power(jnp.abs(part) / a, p) for part, a, p in zip(x, axes, powers, strict=True))
        multiplier, total = n.dot(x) / steepness, 0.0
        for a, m, d, p in zip(axes, n, reach, powers, strict=True):
            e = p / (p - 1.0)
            scale = a / (multiplier * p)
            change = scale * d
            room = jnp.maximum(scale * jnp.abs(m) + change, 1e-300)
            total = total + (p - 1.0) * (3.0 - e) * change * change / jnp.power(room, 2.0 - e)
        return multiplier * total

    def volume(self) -> Array:
        e = self.exponents
        total = jnp.sum(1.0 / e)
        return 8.0 * jnp.prod(self.axes) * jnp.prod(gamma(1.0 + 1.0 / e)) / gamma(1.0 + total)

    def second_moments(self) -> Array:
        e = self.exponents
        total = jnp.sum(1.0 / e)
        # gamma(3/e) / gamma(1/e), each raised by one to stay away from the pole at 0
        ratio = gamma(1.0 + 3.0 / e) / (3.0 * gamma(1.0 + 1.0 / e))
        return self.axes**2 * ratio * gamma(1.0 + total) / gamma(1.0 + total + 2.0 / e)

    def radius(self) -> Array:
        return superellipsoid_radius(self.axes, self.exponents)

    def proxy_axes(self) -> Array:
        return self.axes

    def hull_axes(self) -> Array:
        # The ellipsoid of these axes, enlarged by the root of the largest sum of t^(2/p) over the simplex of the
        # t = |x/a|^p. That sum is concave; for any multiplier m, m + sum of max (t^(2/p) - m t) is an upper bound.
        m, p = jnp.geomspace(2.0 / 1000.0, 1.0, 400)[:, None], self.exponents
        power = jnp.where(p > 2.0, p / jnp.where(p > 2.0, p - 2.0, 1.0), 1.0)
        t = jnp.minimum((2.0 / (p * m)) ** power, 1.0)
        bounds = m[:, 0] + jnp.sum(t ** (2.0 / p) - m * t, axis=1)
        return self.axes * (jnp.sqrt(jnp.min(bounds)) * (1.0 + 1e-14))

    def symmetries(self) -> np.ndarray:
        (a, b, c), (p, q, r) = np.asarray(self.axes), np.asarray(self.exponents)
        return np.array([b == c and q == r == 2.0, a == c and p == r == 2.0, a == b and p == q == 2.0])
