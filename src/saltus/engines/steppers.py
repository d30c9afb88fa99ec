"""One step of a smooth flow: diffrax's methods behind one small signature.

Explicit methods take their coefficients from diffrax and run as `numerics.runge_kutta`; implicit methods call diffrax.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp

from saltus import checks
from saltus.numerics.runge_kutta import RK4, ExplicitStepper, Flat, Scalar, Step

_ADAPTIVE = {
    "dopri8": diffrax.Dopri8,
    "dopri5": diffrax.Dopri5,
    "tsit5": diffrax.Tsit5,
    "bosh3": diffrax.Bosh3,
    "kvaerno5": diffrax.Kvaerno5,
    "kvaerno3": diffrax.Kvaerno3,
}
_FIXED = ("rk4",)
METHODS = (*_ADAPTIVE, *_FIXED)


class ImplicitStepper(eqx.Module):
    """Step of an implicit diffrax method, for stiff flow; a failed root search gives NaN (step rejected)."""

    solver: Any = eqx.field(static=True)
    order: int = eqx.field(static=True)

    def __call__(self, rate: Callable[[Scalar, Flat], Flat], t: Scalar, y: Flat, h: Scalar) -> Step:
        """The step from (t, y) over h."""
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
        return RK4
    if method.startswith("kvaerno"):
        tight = diffrax.VeryChord(rtol=0.01 * rtol, atol=0.01 * rtol)
        solver = _ADAPTIVE[method](root_finder=tight)
        return ImplicitStepper(solver, int(method[-1]))
    solver = _ADAPTIVE[method]()
    tableau = solver.tableau
    return ExplicitStepper(
        a=tuple(tuple(float(x) for x in row) for row in tableau.a_lower),
        b=tuple(float(x) for x in tableau.b_sol),
        b_error=tuple(float(x) for x in tableau.b_error),
        c=(0.0, *(float(x) for x in tableau.c)),
        order=int(solver.order(None)),
    )


def is_fixed(method: str) -> bool:
    """Whether the method has no error estimate and needs a constant step."""
    return method in _FIXED
