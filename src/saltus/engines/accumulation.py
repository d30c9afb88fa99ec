"""Events that pile up: infinitely many in a finite time (Zeno), or at one instant."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saltus.hybrid.state import build_unchecked
from saltus.programs.arrays import numbers

Scalar = Float[Array, ""]

INTERVALS = 6  # intervals in a geometric row before it counts as piling up
STEADY = 0.05  # by which the ratios of a row's intervals may differ
SMALL = 1e-9  # what is left of the row, against its longest interval
EPS = float(jnp.finfo(jnp.float64).eps)


class PileUp(eqx.Module):
    """What is remembered of the event times of each guard, to tell when they pile up.

    A ball that loses a share of its speed at each bounce comes to rest after infinitely many
    bounces in a finite time. The intervals form a geometric row, whose sum gives that time.

    Args:
        last: Time of the last event; NaN before the first [s].
        interval: Between the last two; NaN before the second [s].
        longest: The longest since they last grew [s].
        ratio: First ratio of two intervals in the present row.
        row: How many ratios in a row are about the same, and below one.
        still: How many intervals in a row are no longer than rounding.
    """

    last: Float[Array, " g"]
    interval: Float[Array, " g"]
    longest: Float[Array, " g"]
    ratio: Float[Array, " g"]
    row: Int[Array, " g"]
    still: Int[Array, " g"]

    @staticmethod
    def empty(count: int) -> PileUp:
        """For so many guard values, before any event."""
        nan, zero, none = (numbers(np.full(count, x), kind) for x, kind in ((np.nan, float), (0, float), (0, np.int32)))
        return PileUp(nan, nan, zero, zero, none, none)

    def with_event(self, which: Int[Array, ""], t: Scalar, sinks: Array | bool = False) -> tuple[PileUp, Scalar]:
        """With one more event of a guard, and the time at which its events end if they pile up, else NaN.

        They do so in any case where the guard sinks after its last jump: what is left is too short to be told apart.
        """
        known = isinstance(self.last, np.ndarray)  # of a single run, for which nothing need be compiled
        xp: Any = np if known else jnp
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            old = {field: getattr(self, field) for field in FIELDS}
            new, limit = _judge(xp, t, sinks, *(part[which] for part in old.values()))
        changed = {field: _put(old[field], which, value) for field, value in zip(FIELDS, new, strict=True)}
        return build_unchecked(PileUp, **changed) if known else PileUp(**changed), limit


FIELDS = tuple(field.name for field in dataclasses.fields(PileUp))


def _judge(xp, t: Scalar, sinks, last, before, longest, first, row, still) -> tuple[tuple, Scalar]:
    """What is remembered of a guard after one more event, and the time at which its events end.

    Args:
        xp: What computes, NumPy or JAX.
        t: Time of the event [s].
        sinks: Whether the guard sinks after its last jump.
        last: What was remembered so far, in the order of `PileUp`: the time of its last event,
        before: the interval before that,
        longest: the longest,
        first: the first ratio of the present row,
        row: how long that is,
        still: how many intervals in a row are no longer than rounding.
    """
    interval = t - last
    ratio = interval / xp.where(before > 0.0, before, xp.nan)
    shrinks = ~(interval >= before)  # also the first interval
    longest = xp.where(shrinks, xp.maximum(longest, interval), interval)
    falls = ratio < 1.0
    goes_on = falls & (row > 0) & (xp.abs(ratio - first) <= STEADY)
    remains, piled = _row_sum(before, first), row >= INTERVALS - 1
    row = xp.where(goes_on, row + 1, xp.where(falls, 1, 0))
    still = xp.where(interval <= 8.0 * EPS * xp.abs(t), still + 1, 0)
    rest = _row_sum(interval, ratio)
    limit = xp.where((row >= INTERVALS - 1) & (rest < SMALL * longest), t + rest, xp.nan)
    limit = xp.where(still >= INTERVALS, t, limit)
    limit = xp.where(sinks, xp.where(piled, t + remains, t), limit)
    return (t, interval, xp.nan_to_num(longest), xp.where(goes_on, first, ratio), row, still), limit


def _put(array: Array, which, value) -> Array:
    """The array with another value in one place."""
    if not isinstance(array, np.ndarray):
        return array.at[which].set(value.astype(array.dtype))
    changed = array.copy()
    changed[which] = value
    return changed


def _row_sum(interval: Scalar, ratio: Scalar) -> Scalar:
    """What is left of a geometric row after this interval."""
    return interval * ratio / (1.0 - ratio)
