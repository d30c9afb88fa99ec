"""One step of a smooth flow: diffrax's methods behind one small signature.

Explicit methods run as `numerics.runge_kutta`; implicit methods call diffrax, which is loaded for them alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from saltus import checks
from saltus.engines.tableaus import TABLEAUS
from saltus.numerics.runge_kutta import RK4, ExplicitStepper, Flat, Scalar, Step

IMPLICIT = ("kvaerno5", "kvaerno3")
_FIXED = ("rk4",)
METHODS = (*TABLEAUS, *IMPLICIT, *_FIXED)


class ImplicitStepper(eqx.Module):
    """Step of an implicit diffrax method, for stiff flow; a failed root search gives NaN (step rejected)."""

    solver: Any = eqx.field(static=True)
    order: int = eqx.field(static=True)

    def __call__(self, rate: Callable[[Scalar, Flat], Flat], t: Scalar, y: Flat, h: Scalar) -> Step:
        """The step from (t, y) over h."""
        import diffrax

        from saltus.engines.chord import Increments

        term = Increments(lambda t, y, args: rate(jnp.asarray(t), y))
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
    if method in IMPLICIT:
        return _implicit(method, rtol)
    return _explicit(method)


@functools.cache
def _explicit(method: str) -> ExplicitStepper:
    known = TABLEAUS[method]
    return ExplicitStepper(a=known.a, b=known.b, b_error=known.b_error, c=known.c, order=known.order)


def _implicit(method: str, rtol: float) -> ImplicitStepper:
    """Loads diffrax, which explicit methods do without."""
    import diffrax

    from saltus.engines.chord import Chord

    tight = Chord(rtol=0.01 * rtol, atol=0.01 * rtol)
    solver = getattr(diffrax, method.capitalize())(root_finder=tight)
    return ImplicitStepper(solver, int(method[-1]))


def is_fixed(method: str) -> bool:
    """Whether the method has no error estimate and needs a constant step."""
    return method in _FIXED
