"""One step of a smooth flow: diffrax's methods behind one small signature.

Explicit methods run here, as a loop over the stages that compiles quickly; implicit methods call diffrax, which is
loaded for them alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.engines.tableaus import TABLEAUS

Flat = Float[Array, " n"]
Scalar = Float[Array, ""]


_IMPLICIT = ("kvaerno5", "kvaerno3")
_FIXED = ("rk4",)
METHODS = (*TABLEAUS, *_IMPLICIT, *_FIXED)


class Step(eqx.Module):
    """A step taken: where it led, its error estimate, the rates at both ends."""

    y: Flat
    error: Flat
    rate_before: Flat
    rate_after: Flat


class ExplicitStepper(eqx.Module):
    """Explicit Runge-Kutta step with given coefficients."""

    a: tuple[tuple[float, ...], ...] = eqx.field(static=True)
    b: tuple[float, ...] = eqx.field(static=True)
    b_error: tuple[float, ...] = eqx.field(static=True)
    c: tuple[float, ...] = eqx.field(static=True)
    order: int = eqx.field(static=True)

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


class ImplicitStepper(eqx.Module):
    """Step of an implicit diffrax method, for stiff flow; a failed root search gives NaN (step rejected)."""

    solver: Any = eqx.field(static=True)
    order: int = eqx.field(static=True)

    def __call__(self, rate: Callable[[Scalar, Flat], Flat], t: Scalar, y: Flat, h: Scalar) -> Step:
        """The step from (t, y) over h."""
        import diffrax

        term = diffrax.ODETerm(lambda t, y, args: rate(jnp.asarray(t), y))
        memory = self.solver.init(term, t, t + h, y, None)
        y_new, error, _, _, result = self.solver.step(term, t, t + h, y, None, memory, jnp.asarray(False))
        good = result == diffrax.RESULTS.successful
        y_new = jnp.where(good, y_new, jnp.nan)
        return Step(y_new, error, rate(t, y), rate(t + h, y_new))


@functools.lru_cache
def stepper(method: str, rtol: float = 1e-10) -> ExplicitStepper | ImplicitStepper:
    """The stepper of this name."""
    checks.one_of("method", method, METHODS)
    if method == "rk4":
        return ExplicitStepper(
            a=((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)),
            b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
            b_error=(0.0, -1.0, 1.0, 0.0),  # no error: how much the two looks at the middle differ
            c=(0.0, 0.5, 0.5, 1.0),
            order=4,
        )
    if method in _IMPLICIT:
        return _implicit(method, rtol)
    known = TABLEAUS[method]
    return ExplicitStepper(a=known.a, b=known.b, b_error=known.b_error, c=known.c, order=known.order)


def _implicit(method: str, rtol: float) -> ImplicitStepper:
    """Loads diffrax, which explicit methods do without."""
    import diffrax

    tight = diffrax.VeryChord(rtol=0.01 * rtol, atol=0.01 * rtol)
    solver = getattr(diffrax, method.capitalize())(root_finder=tight)
    return ImplicitStepper(solver, int(method[-1]))


def is_fixed(method: str) -> bool:
    """Whether the method has no error estimate and needs a constant step."""
    return method in _FIXED
