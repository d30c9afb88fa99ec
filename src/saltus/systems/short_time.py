"""What a jump needs of the motion after it: where a system is a short time later."""

from __future__ import annotations

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from saltus.hybrid import AbstractSystem, State
from saltus.numerics.runge_kutta import RK4


def after_short_time(system: AbstractSystem, state: State, h) -> State:
    """The state a short time `h` later in the same mode, by one projected Runge-Kutta step of fourth order."""
    y, parts = ravel_pytree((state.q, state.v, state.ledger))

    def state_at(t, y) -> State:
        q, v, ledger = parts(y)
        return State(t, q, v, ledger, state.mode)

    def rate(t, y):
        found = system.rate(state_at(t, y))
        return ravel_pytree((found.q, found.v, found.ledger))[0]

    return system.project(state_at(state.t + h, RK4(rate, state.t, y, jnp.asarray(h)).y))
