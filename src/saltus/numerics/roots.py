"""Roots and extrema of a scalar function inside a bracket, to the last bit, under jit and vmap."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Scalar = Float[Array, ""]


def falling_root(
    function: Callable[[Scalar], Scalar],
    low: Scalar,
    high: Scalar,
    value_low: Scalar,
    value_high: Scalar,
    resolution: Scalar,
    max_steps: int = 100,
) -> Scalar:
    """Where `function` changes sign between `low` and `high`; of the last two points the nearer to zero.

    Chandrupatla's method: inverse quadratic steps where they are safe, bisection elsewhere, so
    that it ends for any continuous function. `value_low` and `value_high` have opposite signs
    (zero counts as negative).

    Args:
        function: Function of one variable.
        low: Lower end of the bracket.
        high: Upper end.
        value_low: `function(low)`.
        value_high: `function(high)`.
        resolution: Width of the bracket at which the search stops.
        max_steps: Bound on the evaluations; bisection alone needs about 60.
    """

    def going_on(carry):
        a, b, _, fa, fb, _, _, n = carry
        return (jnp.abs(b - a) > resolution) & (fa != 0.0) & (fb != 0.0) & (n < max_steps)

    def narrow(carry):
        # b is the newest point, a the other end of the bracket, c the point before.
        a, b, c, fa, fb, fc, fraction, n = carry
        least = 0.5 * resolution / jnp.abs(b - a)
        x = b + jnp.clip(fraction, least, 1.0 - least) * (a - b)
        fx = function(x)
        same_side = (fx > 0.0) == (fb > 0.0)
        c, fc = jnp.where(same_side, b, a), jnp.where(same_side, fb, fa)
        a, fa = jnp.where(same_side, a, b), jnp.where(same_side, fa, fb)
        b, fb = x, fx
        # Now (b, a) brackets the root and c is the point that was dropped.
        xi, phi = (b - a) / (c - a), (fb - fa) / (fc - fa)
        curved_little = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        quadratic = fb / (fa - fb) * fc / (fa - fc) + (c - b) / (a - b) * fb / (fc - fb) * fa / (fc - fa)
        fraction = jnp.where(curved_little & jnp.isfinite(quadratic), quadratic, 0.5)
        return a, b, c, fa, fb, fc, fraction, n + 1

    secant = value_high / (value_high - value_low)
    start = (low, high, low, value_low, value_high, value_low, secant, jnp.asarray(0))
    a, b, _, fa, fb, _, _, _ = jax.lax.while_loop(going_on, narrow, start)
    return jnp.where(jnp.abs(fa) < jnp.abs(fb), a, b)


def sign_change(
    function: Callable[[Scalar], Scalar], low: Scalar, high: Scalar, value_low: Scalar, value_high: Scalar, steps: int
) -> Scalar:
    """Where `function`, of opposite signs at `low` and `high`, changes sign, by `falling_root` with few steps."""
    resolution = 1e-9 * jnp.abs(high - low)
    return falling_root(function, low, high, value_low, value_high, resolution, max_steps=steps)
