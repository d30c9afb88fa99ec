"""Finding the earliest event inside one step."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.guard_test import GLANCES, may_fall, plain
from saltus.engines.signs import SUNK
from saltus.numerics import roots
from saltus.numerics.trees import choose

Scalar = Float[Array, ""]
Flat = Float[Array, " n"]
Values = Float[Array, " g"]

# Fractions at which they are looked at in a doubtful step, by re-integration: evenly, and denser and
# denser towards the start, where a bounce much shorter than the step may hide.
FRACTIONS = np.unique(np.concatenate([[0.0], 2.0 ** -np.arange(6.0, 24.0), np.arange(1, 33) / 32.0]))
NEAR = 1e-3  # share of what a guard comes to in a step, above which its sign is no matter of rounding


class EarliestEvent(eqx.Module):
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


class _Looks(eqx.Module):
    """Looks at a step: a few, in the last rows, if they show all there is, else many.

    Args:
        count: How many there were.
        g: Guard values, by fractions; the last row is for looks that are not kept.
        y: States there.
    """

    count: Int[Array, ""]
    g: Float[Array, "k g"]
    y: Float[Array, "k n"]


class _Turn(eqx.Module):
    """Looks in a row, at given fractions or for a root.

    Args:
        looks: What is known of the step.
        search: The search for the root.
        seen: Guards and state of the last look.
        there: Point, guards and state of the last look but one or before at which the guard was not above zero.
    """

    looks: _Looks
    search: roots.Search
    seen: tuple[Values, Flat]
    there: tuple[Scalar, Values, Flat]

    def there_by_now(self) -> tuple[Scalar, Values, Flat]:
        """The same, with the last look."""
        x, value = self.search.look
        below = (self.search.looks > 0) & ~(value > 0.0)
        return choose(below, (x, *self.seen), self.there)


class _Hunt(eqx.Module):
    """The search for the earliest event.

    Args:
        looks: What is known of the step.
        looking: Whether there are not enough looks yet.
        simple: Whether a few are enough.
        pending: Intervals between looks in which a guard falls or dips, and that are not examined yet.
        best: Where the earliest event found so far is.
        winner: Which guard falls there.
        there: Guards and state there.
    """

    looks: _Looks
    looking: Bool[Array, ""]
    simple: Bool[Array, ""]
    pending: Bool[Array, "k-1 g"]
    best: Scalar
    winner: Int[Array, ""]
    there: tuple[Values, Flat]

    @property
    def fractions(self) -> Float[Array, " k"]:
        """Where the looks are, from 0 to 1; 0 is repeated if a few are enough."""
        few = np.concatenate([np.zeros(FRACTIONS.size - GLANCES.size), GLANCES])
        return jnp.where(self.simple, few, FRACTIONS)

    def next_pending(self) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """The first interval to examine, and the guard in it."""
        interval = jnp.argmax(self.pending.any(axis=1))
        return interval, jnp.argmax(self.pending[interval])

    def goes_on(self) -> Bool[Array, ""]:
        """Whether there is anything left to look at."""
        interval, _ = self.next_pending()
        return self.looking | (self.pending.any() & (self.fractions[interval] < self.best))


# Where to look, and in which row that is kept: first a few, then many.
_PLACES = np.concatenate([GLANCES, FRACTIONS])
_ROWS = np.concatenate([np.arange(FRACTIONS.size - GLANCES.size, FRACTIONS.size), np.arange(FRACTIONS.size)])


def earliest_event(
    look: Callable[[Scalar], tuple[Values, Flat]],
    armed: Bool[Array, " g"],
    resolution: Scalar,
) -> EarliestEvent:
    """The earliest fall through zero of an armed guard inside a step.

    A fall is found between two looks of opposite sign, and also where a guard dips below zero
    and returns between looks (it is lower at one look than at both neighbours). All looks, those at given
    fractions and those of the search for a root, are taken in one place of the program: it holds the step once.

    Args:
        look: Guard values and the state at a fraction of the step, by re-integration.
        armed: Which guards count.
        resolution: Fraction of the step to which the event is located.
    """
    rows = FRACTIONS.size + 1
    g, y = (jnp.zeros((rows, *one.shape), one.dtype) for one in jax.eval_shape(look, jnp.asarray(0.0)))
    yes, no = jnp.asarray(True), jnp.asarray(False)
    start = _Hunt(
        _Looks(jnp.asarray(0, int), g, y), yes, no, jnp.zeros((rows - 2, armed.size), bool),
        jnp.asarray(jnp.inf), jnp.asarray(0, int), (g[0], y[0]),
    )  # fmt: skip
    end = jax.lax.while_loop(_Hunt.goes_on, lambda hunt: _hunt_on(hunt, look, armed, resolution), start)
    g, fractions, best = end.looks.g[:-1], end.fractions, end.best
    interval = jnp.clip(jnp.searchsorted(fractions, best) - 1, 0, fractions.size - 2)
    fall = (g[interval] - g[interval + 1]) / (fractions[interval + 1] - fractions[interval])
    before = (fractions < best)[:, None] & ~_within_rounding(g)
    rose, clear = (((g > level) & before).any(axis=0) for level in (0.0, SUNK))
    return EarliestEvent(jnp.isfinite(best), best, end.winner, fall, end.there[0], g[0], rose, clear, end.there[1])


def _hunt_on(hunt: _Hunt, look, armed: Bool[Array, " g"], resolution: Scalar) -> _Hunt:
    """Take the looks at given fractions, or examine the next interval."""
    interval, guard = hunt.next_pending()
    root, at_end = _root_within(hunt, interval, guard, resolution)
    enough = jnp.where(hunt.looks.count < GLANCES.size, GLANCES.size, _PLACES.size)

    def goes_on(turn: _Turn):
        return jnp.where(hunt.looking, turn.looks.count < enough, root.goes_on(root.with_look(turn.search)))

    def once_more(turn: _Turn) -> _Turn:
        looks, search = turn.looks, root.with_look(turn.search)
        x = jnp.where(hunt.looking, jnp.asarray(_PLACES)[looks.count], root.next_point(search))
        g, y = look(x)
        row = jnp.where(hunt.looking, jnp.asarray(_ROWS)[looks.count], FRACTIONS.size)
        looks = _Looks(looks.count + hunt.looking, _put(looks.g, g, row), _put(looks.y, y, row))
        return _Turn(looks, root.record_look(search, x, g[guard]), (g, y), turn.there_by_now())

    turn = jax.lax.while_loop(goes_on, once_more, _Turn(hunt.looks, root.begin(), at_end[1:], at_end))
    looks, (x, g, y), reached = turn.looks, turn.there_by_now(), ~root.with_look(turn.search).seeking_low
    earlier = ~hunt.looking & reached & (x < hunt.best)
    examined = _Hunt(
        looks,
        hunt.looking,
        hunt.simple,
        _put(hunt.pending, hunt.pending[interval] & (jnp.arange(armed.size) != guard), interval),
        jnp.where(earlier, x, hunt.best),
        jnp.where(earlier, guard, hunt.winner),
        choose(earlier, (g, y), hunt.there),
    )
    seen = _judge_looks(looks, armed)
    return choose(hunt.looking, seen, examined)


def _put(into: Array, row: Array, number: Int[Array, ""]) -> Array:
    """With another row in its place; by `at` it would be a loop of its own in the program."""
    return jax.lax.dynamic_update_index_in_dim(into, row, number, 0)


def _root_within(
    hunt: _Hunt, interval, guard, resolution: Scalar
) -> tuple[roots.FallingRoot, tuple[Scalar, Values, Flat]]:
    """The search for the root of a guard in an interval, where it falls or dips, and what is known at its end."""
    g, y, fractions = hunt.looks.g, hunt.looks.y, hunt.fractions
    dip = ~((g[interval, guard] > 0.0) & (g[interval + 1, guard] <= 0.0))  # what is pending is a fall or a dip
    end = jnp.where(dip, interval + 2, interval + 1)
    ends = fractions[interval], fractions[end], g[interval, guard], g[end, guard]
    return roots.FallingRoot(*ends, resolution, dip), (fractions[end], g[end], y[end])


def _judge_looks(looks: _Looks, armed: Bool[Array, " g"]) -> _Hunt:
    """What looks at given fractions show: that there must be more, or what is to be examined."""
    n_few, n_all = GLANCES.size, FRACTIONS.size
    few = looks.g[n_all - n_few : n_all]
    simple = (looks.count == n_few) & jnp.all(~armed | ~may_fall(few, armed) | plain(few))
    unused = simple & (np.arange(n_all + 1) < n_all - n_few)
    g, y = (jnp.where(unused[:, None], x[n_all - n_few], x) for x in (looks.g, looks.y))
    at_end = g[n_all - 1], y[n_all - 1]
    hunt = _Hunt(
        _Looks(looks.count, g, y), ~simple & (looks.count < _PLACES.size), simple,
        jnp.zeros((n_all - 1, armed.size), bool), jnp.asarray(jnp.inf), jnp.asarray(0, int), at_end,
    )  # fmt: skip
    g = g[:-1]
    falls = (g[:-1] > 0.0) & (g[1:] <= 0.0)
    dips = (g[:-2] > g[1:-1]) & (g[1:-1] <= g[2:]) & (g[1:-1] > 0.0) & (g[2:] > 0.0)
    dips = jnp.concatenate([dips & ~simple & _may_reach_zero(hunt.fractions, g), jnp.zeros_like(falls[:1])])
    return eqx.tree_at(lambda one: one.pending, hunt, (falls | dips) & armed & ~_within_rounding(g)[1:])


def _within_rounding(g: Float[Array, "k g"]) -> Bool[Array, "k g"]:
    """Looks at which the sign of a guard is rounding: from its start at zero until it is clearly positive.

    A guard that is armed where it is zero and rises with a power of the time has no sign of its own for a while. One
    that is clearly negative first, or at the end of the step if it is never clear, falls where its looks say so.
    """
    size, rows = jnp.abs(g), np.arange(g.shape[0])[:, None]
    clear = ~(size <= jnp.minimum(SUNK, NEAR * size.max(axis=0)))
    first_clear = jnp.min(jnp.where(clear, rows, g.shape[0]), axis=0)
    rises = (rows == jnp.minimum(first_clear, g.shape[0] - 1)) & (g > 0.0)
    return (rows < first_clear) & rises.any(axis=0)


def _may_reach_zero(x: Float[Array, " k"], g: Float[Array, "k g"]) -> Bool[Array, "k-2 g"]:
    """Whether the parabola through three neighbouring looks comes near zero, against the looks themselves."""
    x0, x1, x2 = (part[:, None] for part in (x[:-2], x[1:-1], x[2:]))
    g0, g1, g2 = g[:-2], g[1:-1], g[2:]
    left, right = (g1 - g0) / (x1 - x0), (g2 - g1) / (x2 - x1)
    bend = (right - left) / (x2 - x0)
    slope = left + bend * (x1 - x0)
    lowest = g1 - slope**2 / (4.0 * jnp.where(bend > 0.0, bend, jnp.inf))
    return lowest < 0.2 * g1
