"""Finding the earliest event inside one step, by re-integration."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.numerics import roots

Scalar = Float[Array, ""]
Values = Float[Array, " g"]

# Fractions of the step at which guards are looked at: evenly, and denser and denser towards
# the start, where a bounce much shorter than the step may hide.
FRACTIONS = np.unique(np.concatenate([2.0 ** -np.arange(6.0, 24.0), np.arange(1, 33) / 32.0]))
CHECKPOINTS = (0.37, 0.71)  # where the cubic through the ends of a step is compared with the guard


class Found(eqx.Module):
    """The earliest event of a step, if there is one."""

    event: Bool[Array, ""]
    fraction: Scalar
    guard: Int[Array, ""]


def cubic(g0: Values, slope0: Values, g1: Values, slope1: Values, x) -> Values:
    """Value at x in [0, 1] of the cubic with these values and slopes at 0 and 1."""
    return g0 + x * (slope0 + x * ((3 * (g1 - g0) - 2 * slope0 - slope1) + x * (2 * (g0 - g1) + slope0 + slope1)))


def cubic_range(g0: Values, slope0: Values, g1: Values, slope1: Values) -> tuple[Values, Values]:
    """Smallest and largest value on [0, 1] of the cubic with these values and slopes at 0 and 1."""
    a, b, c = 3 * (2 * (g0 - g1) + slope0 + slope1), 2 * (3 * (g1 - g0) - 2 * slope0 - slope1), slope0
    root = jnp.sqrt(jnp.maximum(b * b - 4 * a * c, 0.0))
    s = -0.5 * (b + jnp.where(b < 0, -root, root))
    inner = [jnp.where(a == 0, 0.0, s / jnp.where(a == 0, 1.0, a)), jnp.where(s == 0, 0.0, c / jnp.where(s == 0, 1.0, s))]
    values = [cubic(g0, slope0, g1, slope1, jnp.clip(x, 0.0, 1.0)) for x in inner]
    low = jnp.minimum(jnp.minimum(g0, g1), jnp.minimum(*values))
    return low, jnp.maximum(jnp.maximum(g0, g1), jnp.maximum(*values))


def suspicious(g0, slope0, g1, slope1, checks: list[Values], armed: Bool[Array, " g"]) -> Bool[Array, " g"]:
    """Which guards may fall through zero inside a step.

    The cubic through values and slopes at both ends tells the smallest value; how far it is
    off at the check points tells how much to trust it.
    """
    off = jnp.max(
        jnp.stack([jnp.abs(g - cubic(g0, slope0, g1, slope1, x)) for x, g in zip(CHECKPOINTS, checks, strict=True)]), 0
    )
    low, high = cubic_range(g0, slope0, g1, slope1)
    return armed & (low - 2 * off <= 0.0) & (high + 2 * off > 0.0)


def earliest_event(
    look: Callable[[Scalar], tuple[Values, Values]],
    g0: Values,
    slope0: Values,
    armed: Bool[Array, " g"],
    resolution: Scalar,
) -> Found:
    """The earliest fall through zero of an armed guard inside a step.

    A fall is found between two looks of opposite sign, and also where a guard dips below zero
    and returns between two looks (its slope changes sign there).

    Args:
        look: Guard values and slopes at a fraction of the step, by re-integration.
        g0: Guard values at the start of the step.
        slope0: Their slopes per unit fraction.
        armed: Which of them count.
        resolution: Fraction of the step to which the event is located.
    """
    fractions = jnp.concatenate([jnp.zeros(1), jnp.asarray(FRACTIONS)])
    g, slope = jax.lax.map(look, fractions[1:])
    g, slope = jnp.concatenate([g0[None], g]), jnp.concatenate([slope0[None], slope])
    width = jnp.diff(fractions)[:, None]
    falls = (g[:-1] > 0.0) & (g[1:] <= 0.0)
    turns = (g[:-1] > 0.0) & (g[1:] > 0.0) & (slope[:-1] < 0.0) & (slope[1:] > 0.0)
    low, _ = cubic_range(g[:-1], slope[:-1] * width, g[1:], slope[1:] * width)
    dips = turns & (low < 0.1 * jnp.minimum(g[:-1], g[1:]))
    pending = (falls | dips) & armed

    def fall_time(interval, guard):
        """Fraction at which this guard falls in this interval; inf if it only comes near."""
        start, end = fractions[interval], fractions[interval + 1]
        value_start, value_end = g[interval, guard], g[interval + 1, guard]

        def bottom(_):
            def slope_at(x):
                return -look(x)[1][guard]

            x = roots.sign_change(slope_at, start, end, -slope[interval, guard], -slope[interval + 1, guard], steps=40)
            return x, look(x)[0][guard]

        end, value_end = jax.lax.cond(dips[interval, guard], bottom, lambda _: (end, value_end), None)
        root = roots.falling_root(lambda x: look(x)[0][guard], start, end, value_start, value_end, resolution)
        return jnp.where(value_end <= 0.0, root, jnp.inf)

    def going_on(carry):
        pending, best, _ = carry
        interval = jnp.argmax(pending.any(axis=1))
        return pending.any() & (fractions[interval] < best)

    def examine(carry):
        pending, best, winner = carry
        interval = jnp.argmax(pending.any(axis=1))
        guard = jnp.argmax(pending[interval])
        fraction = fall_time(interval, guard)
        winner = jnp.where(fraction < best, guard, winner)
        return pending.at[interval, guard].set(False), jnp.minimum(best, fraction), winner

    start = (pending, jnp.asarray(jnp.inf), jnp.asarray(0))
    _, best, winner = jax.lax.while_loop(going_on, examine, start)
    return Found(jnp.isfinite(best), best, winner)
