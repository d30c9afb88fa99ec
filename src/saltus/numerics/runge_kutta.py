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
        self, rates_at: Callable[[list[np.ndarray]], list[np.ndarray]], y: np.ndarray, sizes: list[float]
    ) -> list[HostStep]:
        """Steps of several lengths from one place, as `by_numpy` takes them; rates are asked stage by stage."""
        a, b, b_error = _matrices(self)
        rates = np.empty((len(sizes), len(b), len(y)))
        places: list[list[np.ndarray]] = [[] for _ in sizes]
        for i in range(len(b)):
            stage = [y + h * (a[i, :i] @ known[:i]) for h, known in zip(sizes, rates, strict=True)]
            for k, (place, rate) in enumerate(zip(stage, rates_at(stage), strict=True)):
                places[k].append(place)
                rates[k, i] = rate
        return [
            HostStep(y + h * (b @ known), h * (b_error @ known), went, known)
            for h, went, known in zip(sizes, places, rates, strict=True)
        ]

    def __call__(self, rate: Callable[[Scalar, Flat], Flat], t: Scalar, y: Flat, h: Scalar) -> Step:
        """The step from (t, y) over h; for many lanes at once if y has a second axis, and t and h have it too.

        The rate stands once in the program: where the last stage is not at the end of the step, one
        stage more is.
        """
        stages = len(self.b)
        last_is_end = self.c[-1] == 1.0 and self.a[-1] == self.b[:-1]
        n = stages if last_is_end else stages + 1
        a = np.zeros((n, n))
        for i, row in enumerate((*self.a, self.b)[: n - 1]):
            a[i + 1, : len(row)] = row
        a, c = jnp.asarray(a), jnp.asarray((*self.c, 1.0)[:n])

        def weighted(w, k):
            # A sum fuses with what follows, but it is slow for long rows and for lanes side by side.
            if y.ndim == 1 and y.size < 1000:
                return jnp.sum(w[:, None] * k, axis=0)
            return jnp.tensordot(w, k, axes=1)

        def stage(i, k):
            # The barriers keep XLA from computing the sum again for each of its uses.
            ahead = jax.lax.optimization_barrier(y + h * weighted(a[i], k))
            new = jax.lax.optimization_barrier(rate(t + c[i] * h, ahead))
            return jax.lax.dynamic_update_index_in_dim(k, new, i, 0)

        k = jax.lax.fori_loop(0, n, stage, jnp.zeros((n, *y.shape)))
        move, error = (weighted(jnp.asarray(w), k[:stages]) for w in (self.b, self.b_error))
        return Step(y + h * move, h * error, k[0], k[-1])


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
