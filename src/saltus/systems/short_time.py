"""What a jump needs of the motion after it: where a system is a short time later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from saltus.hybrid import AbstractSystem, Rate, State
from saltus.numerics.runge_kutta import RK4


def after_short_time(system: AbstractSystem, state: State, h) -> State:
    """The state a short time `h` later in the same mode, by one projected Runge-Kutta step of fourth order."""
    y, state_at = _flatten(state)

    def rate(t, y):
        return _flat(system.rate(state_at(t, y)))

    return system.project(state_at(state.t + h, RK4(rate, state.t, y, jnp.asarray(h)).y))


def see_after_short_time(system: Any, state: State, h, wanted: Callable[[Any], Any]) -> tuple[State, Any]:
    """The same for a system that tells rate and projection by what it sees, and what is wanted of what it sees there.

    All looks are rounds of one loop: a program holds what the system sees only once.
    """
    y, state_at = _flatten(state)

    def evaluate(t, y, _):
        here = state_at(t, y)
        seen = system.see(here)
        return _flat(system.rate_by(here, seen)), _flat(system.project_by(here, seen)), wanted(seen)

    taken = RK4.with_looks(evaluate, state.t, y, jnp.asarray(h), np.ones(1))
    return state_at(state.t + h, taken.end), jax.tree.map(lambda looks: looks[0], taken.looks)


def _flatten(state: State) -> tuple[Array, Callable[[Array, Array], State]]:
    """What flows in one vector, and the state at a time with another one."""
    y, parts = ravel_pytree((state.q, state.v, state.ledger))

    def state_at(t, y) -> State:
        q, v, ledger = parts(y)
        return State(t, q, v, ledger, state.mode)

    return y, state_at


def _flat(parts: State | Rate) -> Array:
    return ravel_pytree((parts.q, parts.v, parts.ledger))[0]
