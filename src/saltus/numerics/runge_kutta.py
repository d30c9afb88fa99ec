"""Explicit Runge-Kutta steps with given coefficients."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Flat = Float[Array, "n *lanes"]
Scalar = Float[Array, "*lanes"]


class Step(eqx.Module):
    """A step taken: where it led, its error estimate, the rates at both ends."""

    y: Flat
    error: Flat
    rate_before: Flat
    rate_after: Flat


# What is asked of a system at a place, or the sum of several.
RATE, PROJECTION, LOOK = 1, 2, 4


def if_asked(asked: Array, part: Callable[[], Any], nothing: Any) -> Any:
    """A part of what can be asked of a system if it is asked for, else `nothing`, which costs nothing.

    It is compiled apart too: beside each other, XLA writes the formulas that parts have in common into each of them.
    """
    return jax.lax.cond(asked > 0, part, lambda: nothing)


class Seen(eqx.Module):
    """What is known of a place.

    Args:
        known: Whether it is.
        rate: The rate there.
        look: What a look shows there.
    """

    known: Array
    rate: Flat
    look: Any


class StepWithLooks(eqx.Module):
    """A step with looks along it.

    Args:
        step: The step.
        end: Its end after the projection.
        looked: Whether it was looked at.
        places: Where the looks are.
        looks: What they show.
        rate_at_end: The rate at the end after the projection, where the last look is.
    """

    step: Step
    end: Flat
    looked: Array
    places: Array
    looks: Any
    rate_at_end: Flat

    def seen(self, kept: Array) -> Seen:
        """What is known of the place from which the next step is taken: the end if this one was kept, else its start.

        For looks from the start to the end.
        """
        look = jax.tree.map(lambda looks: jnp.where(kept, looks[-1], looks[0]), self.looks)
        return Seen(jnp.ones((), bool), jnp.where(kept, self.rate_at_end, self.step.rate_before), look)


class HostStep(NamedTuple):
    """A step taken by NumPy: where it led, its error estimate, and places and rates of its stages."""

    y: np.ndarray
    error: np.ndarray
    places: list[np.ndarray]
    rates: np.ndarray


class ExplicitStepper(eqx.Module):
    """Explicit Runge-Kutta step with given coefficients: rolled (`__call__`), written out (`end`), or `by_numpy`."""

    a: tuple[tuple[float, ...], ...] = eqx.field(static=True)
    b: tuple[float, ...] = eqx.field(static=True)
    b_error: tuple[float, ...] = eqx.field(static=True)
    c: tuple[float, ...] = eqx.field(static=True)
    order: int = eqx.field(static=True)

    def end(self, rate: Callable[[Scalar, Flat], Flat], t: Scalar, y: Flat, h: Scalar) -> Flat:
        """Where the step from (t, y) over h leads; the stages are written out, for rates that are quick to compile."""
        k: list[Flat] = []
        for c, row in zip(self.c, ((), *self.a), strict=True):
            k.append(rate(t + c * h, self._ahead(y, h, row, k)))
        return self._ahead(y, h, self.b, k)

    @staticmethod
    def _ahead(y: Flat, h: Scalar, weights: tuple[float, ...], k: list[Flat]) -> Flat:
        """The place after moving by these rates."""
        moves = [weight * rate for weight, rate in zip(weights, k, strict=True) if weight]
        return y + h * functools.reduce(operator.add, moves) if moves else y

    def by_numpy(self, rate: Callable[[np.ndarray], np.ndarray], y: np.ndarray, h: float) -> HostStep:
        """The step from y over h, stage by stage, for a rate that is a function of Python and does not ask the time."""
        a, b, b_error = _matrices(self)
        rates, places = np.empty((len(b), len(y))), []
        for i in range(len(b)):
            places.append(y + h * (a[i, :i] @ rates[:i]))
            rates[i] = rate(places[i])
        return HostStep(y + h * (b @ rates), h * (b_error @ rates), places, rates)

    def several_by_numpy(
        self, rates_at: Callable[[np.ndarray], np.ndarray], y: np.ndarray, sizes: np.ndarray
    ) -> list[HostStep]:
        """Steps of several lengths from one place, as `by_numpy` takes them; rates are asked stage by stage."""
        a, b, b_error = _matrices(self)
        h = sizes[:, None]
        rates, places = (np.empty((len(sizes), len(b), len(y))) for _ in range(2))
        for i in range(len(b)):
            places[:, i] = y + h * (a[i, :i] @ rates[:, :i])
            rates[:, i] = rates_at(places[:, i])
        ends, errors = y + h * (b @ rates), h * (b_error @ rates)
        return [HostStep(*step) for step in zip(ends, errors, map(list, places), rates, strict=True)]

    def __call__(self, rate: Callable[[Scalar, Flat], Flat], t: Scalar, y: Flat, h: Scalar) -> Step:
        """The step from (t, y) over h; for many lanes at once if y has a second axis, and t and h have it too.

        The rate stands once in the program: where the last stage is not at the end of the step, one
        stage more is.
        """
        a, c = self._loop_coefficients()
        n = len(c)

        def stage(i, k):
            # XLA on a CPU drops the barriers before it fuses: bits are the same without, and ensembles no faster.
            # They are for GPUs, where a sum may else be computed again in each kernel that uses it.
            ahead = jax.lax.optimization_barrier(y + h * _weigh(a[i], k))
            new = jax.lax.optimization_barrier(rate(t + c[i] * h, ahead))
            return jax.lax.dynamic_update_index_in_dim(k, new, i, 0)

        k = jax.lax.fori_loop(0, n, stage, jnp.zeros((n, *y.shape)))
        return self._step(y, h, k)

    def with_looks(
        self, evaluate: Callable[[Scalar, Flat, Array], tuple[Flat, Flat, Any]], t: Scalar, y: Flat, h: Scalar,
        fractions: np.ndarray | Array, worth: Callable[[Step, Flat], Array] | None = None, stays: Array | bool = False,
        seen: Seen | None = None,
    ) -> StepWithLooks:  # fmt: skip
        """The step from (t, y) over h, projected, and looks at fractions of it, on the cubic through its ends.

        All in one loop, in which the system stands once, and no place is visited twice.

        Args:
            evaluate: The rate, the nearest place that satisfies the constraints, and what is looked at. Its last
                argument says which of them are needed (`RATE`, `PROJECTION`, `LOOK`).
            t: Time at the start.
            y: Place there.
            h: Length of the step.
            fractions: Where to look; perhaps nowhere.
            worth: `worth(step, end)`: whether to look at all beyond the start; if not, those looks are zero.
            stays: Whether the step has no length, so that only the looks are taken.
            seen: What may be known of the start, if the first look is there.
        """
        a, c = self._loop_coefficients()
        n = len(c)
        x, tasks, first = _visits(c, fractions)
        like = jax.eval_shape(evaluate, t, y, tasks[0])[2]
        looks = jax.tree.map(lambda one: jnp.zeros((len(fractions), *one.shape), one.dtype), like)
        places = jnp.zeros((len(fractions), *y.shape))

        def place(i, k, end):
            """The place of a stage, or of a look; the end itself, not the cubic, at fraction 1."""
            between = cubic(y, h * k[0], end, h * k[-1], x[i])
            looked_at = jnp.where(x[i] == 1.0, end, jnp.where(x[i] == 0.0, y, between))
            return jnp.where(i < n, y + h * _weigh(a[jnp.minimum(i, n - 1)], k), looked_at)

        def go_on(carry):
            i, last, k, end, rate, places, looks = carry
            here = place(i, k, end)
            rate, projected, look = evaluate(t + x[i] * h, here, tasks[i])
            looked, at = tasks[i] >= LOOK, jnp.where(i < n, 0, i - n + first)
            looks = jax.tree.map(lambda into, new: _put(into, new, at, looked), looks, look)
            k, end = _put(k, rate, i, i < n), jnp.where(i == n - 1, projected, end)
            if worth is not None:
                last = jax.lax.cond(i == n - 1, ask, lambda last, k, end: last, last, k, end)
            return i + 1, last, k, end, rate, _put(places, here, at, looked), looks

        def ask(last, k, end):
            return last if worth is None else jnp.where(worth(self._step(y, h, k), end), last, n)

        k, begins_at = jnp.zeros((n, *y.shape)), jnp.where(stays, n, 0)
        if seen is not None:
            k = _begin_with(k, jnp.where(seen.known, seen.rate, 0.0))
            looks = jax.tree.map(lambda into, old: _begin_with(into, jnp.where(seen.known, old, 0)), looks, seen.look)
            places, begins_at = _begin_with(places, y), jnp.where(seen.known, 1, 0)
        begin = (begins_at, jnp.asarray(len(x)), k, y, y, places, looks)
        if worth is None and stays is False and seen is None:  # so many rounds: derivatives of any kind go through
            told = jax.lax.fori_loop(0, len(x), lambda _, carry: go_on(carry), begin)
        else:
            told = jax.lax.while_loop(lambda carry: carry[0] < carry[1], go_on, begin)
        _, last, k, end, rate, places, looks = told
        return StepWithLooks(self._step(y, h, k), end, last == len(x), places, looks, rate)

    def _loop_coefficients(self) -> tuple[Array, Array]:
        """Coefficients and times of the stages, with one stage more where the last is not at the end of the step."""
        last_is_end = self.c[-1] == 1.0 and self.a[-1] == self.b[:-1]
        n = len(self.b) if last_is_end else len(self.b) + 1
        a = np.zeros((n, n))
        for i, row in enumerate((*self.a, self.b)[: n - 1]):
            a[i + 1, : len(row)] = row
        return jnp.asarray(a), jnp.asarray((*self.c, 1.0)[:n])

    def _step(self, y: Flat, h: Scalar, k: Array) -> Step:
        """The step over h by the rates of its stages, and of one more where the last is not at its end."""
        used = k[: len(self.b)]
        move, error = (_weigh(jnp.asarray(weights), used) for weights in (self.b, self.b_error))
        return Step(y + h * move, h * error, k[0], k[-1])


def _visits(c: Array, fractions: np.ndarray | Array) -> tuple[Array, Array, int]:
    """What a step with looks visits: its stages, then the looks.

    Returns:
        Where each visit is, as a fraction of the step; what is asked there (`RATE`, `PROJECTION`, `LOOK`); and how
        many looks the first stage takes too, none or one.
    """
    n = len(c)
    along = isinstance(fractions, np.ndarray) and len(fractions) > 1  # and known while the program is written
    first = int(along and fractions[0] == 0.0)
    x = jnp.concatenate([jnp.asarray(c), jnp.asarray(fractions)[first:]])
    asked = [RATE] * (n - 1) + [RATE | PROJECTION] + [LOOK] * (len(x) - n)
    asked[0] |= LOOK * first
    asked[-1] |= RATE * int(along and fractions[-1] == 1.0)
    return x, jnp.asarray(asked), first


def _put(into: Array, new: Array, i: Array, here: Array) -> Array:
    """The rows with a new one in place i, if it belongs here."""
    if len(into) < 2:
        return jnp.where(here, new, into)
    at = jnp.clip(i, 0, len(into) - 1)
    return jax.lax.dynamic_update_index_in_dim(into, jnp.where(here, new, into[at]), at, 0)


def _begin_with(rows: Array, first: Array) -> Array:
    """Rows with another first one."""
    return jnp.concatenate([first[None].astype(rows.dtype), rows[1:]])


def _weigh(weights: Array, k: Array) -> Flat:
    """The rates k of the stages, weighted and summed."""
    # A sum fuses with what follows, but it is slow for long rows and for lanes side by side.
    if k.ndim == 2 and k.shape[1] < 1000:
        return jnp.sum(weights[:, None] * k, axis=0)
    return jnp.tensordot(weights, k, axes=1)


def cubic(y0: Any, slope0: Any, y1: Any, slope1: Any, x: Any) -> Any:
    """Value at x in [0, 1] of the cubic with these values and slopes at 0 and 1; arrays of JAX or of NumPy."""
    return y0 + x * (slope0 + x * ((3 * (y1 - y0) - 2 * slope0 - slope1) + x * (2 * (y0 - y1) + slope0 + slope1)))


def growth(error: Any, order: int) -> Any:
    """By how much the next step of a method of this order may be longer, for an error in units of what is allowed."""
    return 0.9 * error ** (-1.0 / order)


@functools.lru_cache
def _matrices(method: ExplicitStepper) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of the stages, of the end and of the error."""
    a = np.zeros((len(method.b), len(method.b)))
    for i, row in enumerate(method.a):
        a[i + 1, : len(row)] = row
    return a, np.asarray(method.b), np.asarray(method.b_error)


RK4 = ExplicitStepper(
    a=((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)),
    b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
    b_error=(0.0, -1.0, 1.0, 0.0),  # no error: how much the two looks at the middle differ
    c=(0.0, 0.5, 0.5, 1.0),
    order=4,
)
