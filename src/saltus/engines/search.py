"""Finding the earliest event inside one step."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.signs import SUNK
from saltus.numerics import roots

Scalar = Float[Array, ""]
Flat = Float[Array, " n"]
Values = Float[Array, " g"]

# Fractions of the step at which guards are looked at in every step, on the cubic through its ends.
GLANCES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
# Fractions at which they are looked at in a doubtful step, by re-integration: evenly, and denser and
# denser towards the start, where a bounce much shorter than the step may hide.
FRACTIONS = np.unique(np.concatenate([[0.0], 2.0 ** -np.arange(6.0, 24.0), np.arange(1, 33) / 32.0]))


class Found(eqx.Module):
    """The earliest event of a step.

    Args:
        event: Whether there is one.
        fraction: Where in the step.
        guard: Which guard value falls.
        fall: How fast each guard falls there, per step.
        g: The guards there, or at the end of the step if there is no event.
        g_start: The guards at the start of the step.
        rose: Which guards were positive at some look before it, or in the step.
        clear: Which of them clearly so, above what rounding may leave.
        y: The state there, or at the end of the step.
    """

    event: Bool[Array, ""]
    fraction: Scalar
    guard: Int[Array, ""]
    fall: Values
    g: Values
    g_start: Values
    rose: Bool[Array, " g"]
    clear: Bool[Array, " g"]
    y: Flat


def cubic(y0: Array, slope0: Array, y1: Array, slope1: Array, x: Array | np.ndarray) -> Array:
    """Value at x in [0, 1] of the cubic with these values and slopes at 0 and 1."""
    return y0 + x * (slope0 + x * ((3 * (y1 - y0) - 2 * slope0 - slope1) + x * (2 * (y0 - y1) + slope0 + slope1)))


def may_fall(g: Float[Array, "5 g"], armed: Bool[Array, " g"]) -> Bool[Array, " g"]:
    """Which guards may fall through zero inside a step, from five equal looks at them.

    Between two looks a guard is at most about an eighth of its second difference below them; the
    fourth difference tells how much to trust that.
    """
    second = jnp.max(jnp.abs(g[:-2] - 2.0 * g[1:-1] + g[2:]), axis=0)
    fourth = jnp.abs(g[0] - 4.0 * g[1] + 6.0 * g[2] - 4.0 * g[3] + g[4])
    doubt = 0.2 * second + fourth
    return armed & (g.min(axis=0) - doubt <= 0.0) & (g.max(axis=0) + doubt > 0.0)


def plain(g: Float[Array, "5 g"]) -> Bool[Array, " g"]:
    """Which guards show by five equal looks that there is nothing between them to miss.

    Those that rise or fall evenly, and those that bend downwards evenly, like the height of a throw: they lie above the
    chord of two looks. One that falls must begin clearly above zero, or be above it at the second look: after a bounce
    a short hop may hide behind the first.
    """
    change = jnp.diff(g, axis=0)
    bends = jnp.diff(change, axis=0)
    largest, smallest = jnp.max(jnp.abs(bends), axis=0), jnp.min(jnp.abs(bends), axis=0)
    above = g[0] > 0.01 * jnp.abs(change[0])
    rises, falls = (change > 0.0).all(axis=0), (change < 0.0).all(axis=0) & above
    even = (rises | falls) & (largest < 0.5 * jnp.min(jnp.abs(change), axis=0))
    arched = (bends < 0.0).all(axis=0) & (largest < 1.5 * smallest) & (above | (g[1] > 0.0))
    return even | arched


def _looks(look, armed: Bool[Array, " g"]):
    """Guard values and states at fractions of a step: a few if they show all there is, else many.

    Returns:
        The fractions, from 0 to 1 (with 0 repeated if a few are enough), guard values and states there,
        and whether a few are enough.
    """
    n_few, n_all = GLANCES.size, FRACTIONS.size
    places = jnp.asarray(np.concatenate([GLANCES, FRACTIONS]))
    slots = jnp.asarray(np.concatenate([np.arange(n_all - n_few, n_all), np.arange(n_all)]))

    def going_on(carry):
        k, simple, _ = carry
        return (k < n_few) | (~simple & (k < n_few + n_all))

    def one_more(carry):
        k, simple, kept = carry
        kept = jax.tree.map(lambda x, new: x.at[slots[k]].set(new), kept, look(places[k]))
        g = kept[0][-n_few:]
        shows_all = jnp.all(~armed | ~may_fall(g, armed) | plain(g))
        return k + 1, jnp.where(k == n_few - 1, shows_all, simple), kept

    like = jax.eval_shape(look, places[0])
    empty = jax.tree.map(lambda x: jnp.zeros((n_all, *x.shape), x.dtype), like)
    _, simple, kept = jax.lax.while_loop(going_on, one_more, (0, False, empty))
    unused = simple & (jnp.arange(n_all) < n_all - n_few)
    g, states = jax.tree.map(lambda x: jnp.where(unused[:, None], x[n_all - n_few], x), kept)
    fractions = jnp.concatenate([jnp.zeros(n_all - n_few), GLANCES])
    return jnp.where(simple, fractions, FRACTIONS), g, states, simple


def earliest_event(
    look: Callable[[Scalar], tuple[Values, Flat]],
    armed: Bool[Array, " g"],
    resolution: Scalar,
) -> Found:
    """The earliest fall through zero of an armed guard inside a step.

    A fall is found between two looks of opposite sign, and also where a guard dips below zero
    and returns between looks (it is lower at one look than at both neighbours).

    Args:
        look: Guard values and the state at a fraction of the step, by re-integration.
        armed: Which guards count.
        resolution: Fraction of the step to which the event is located.
    """
    fractions, g, at_looks, simple = _looks(look, armed)
    falls = (g[:-1] > 0.0) & (g[1:] <= 0.0)
    dips = (g[:-2] > g[1:-1]) & (g[1:-1] <= g[2:]) & (g[1:-1] > 0.0) & (g[2:] > 0.0)
    nothing = jnp.zeros_like(falls[:1])
    dips = jnp.concatenate([dips & ~simple & _may_reach_zero(fractions, g), nothing])
    pending = (falls | dips) & armed

    def examined(interval, guard):
        """Fraction at which this guard falls in this interval; inf if it only comes near. And the state there."""
        dip = ~falls[interval, guard]  # what is pending is a fall or a dip
        end = jnp.where(dip, interval + 2, interval + 1)

        def value(x):
            g, y = look(x)
            return g[guard], (g, y)

        x, y, reached = roots.falling_root(
            value,
            fractions[interval],
            fractions[end],
            g[interval, guard],
            g[end, guard],
            (g[end], at_looks[end]),
            resolution,
            dip,
        )
        return jnp.where(reached, x, jnp.inf), y

    def going_on(carry):
        pending, best = carry[:2]
        interval = jnp.argmax(pending.any(axis=1))
        return pending.any() & (fractions[interval] < best)

    def examine(carry):
        pending, best, winner, there = carry
        interval = jnp.argmax(pending.any(axis=1))
        guard = jnp.argmax(pending[interval])
        fraction, at_fraction = examined(interval, guard)
        earlier = fraction < best
        there = jax.tree.map(lambda p, q: jnp.where(earlier, p, q), at_fraction, there)
        return (
            pending.at[interval, guard].set(False),
            jnp.minimum(best, fraction),
            jnp.where(earlier, guard, winner),
            there,
        )

    start = (pending, jnp.asarray(jnp.inf), jnp.asarray(0, dtype=int), (g[-1], at_looks[-1]))
    _, best, winner, (g_there, y_there) = jax.lax.while_loop(going_on, examine, start)
    interval = jnp.clip(jnp.searchsorted(fractions, best) - 1, 0, fractions.size - 2)
    fall = (g[interval] - g[interval + 1]) / (fractions[interval + 1] - fractions[interval])
    before = (fractions < best)[:, None]
    rose, clear = (((g > level) & before).any(axis=0) for level in (0.0, SUNK))
    return Found(jnp.isfinite(best), best, winner, fall, g_there, g[0], rose, clear, y_there)


def _may_reach_zero(x: Float[Array, " k"], g: Float[Array, "k g"]) -> Bool[Array, "k-2 g"]:
    """Whether the parabola through three neighbouring looks comes near zero, against the looks themselves."""
    x0, x1, x2 = (part[:, None] for part in (x[:-2], x[1:-1], x[2:]))
    g0, g1, g2 = g[:-2], g[1:-1], g[2:]
    left, right = (g1 - g0) / (x1 - x0), (g2 - g1) / (x2 - x1)
    bend = (right - left) / (x2 - x0)
    slope = left + bend * (x1 - x0)
    lowest = g1 - slope**2 / (4.0 * jnp.where(bend > 0.0, bend, jnp.inf))
    return lowest < 0.2 * g1
