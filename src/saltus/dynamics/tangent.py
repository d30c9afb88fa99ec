"""The map of a hybrid flow and its derivative, as compiled functions of the flowing vector."""

from __future__ import annotations

import jax
from jaxtyping import Array, Float, Int

from saltus.engines.bounded import BoundedRun, simulate_bounded
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.state import pack, unpack

Vector = Float[Array, " n"]
Mode = Int[Array, "..."]


def state_of(like: State, t, vector: Vector, mode: Mode) -> State:
    """A state of the form of `like` with these flowing parts."""
    return unpack(like.replace(mode=mode), t, vector)


def flow(system: AbstractSystem, like: State, t, vector: Vector, mode: Mode, until, **bounds) -> BoundedRun:
    """The run from this vector to a time; bounded, so that it can be differentiated."""
    return simulate_bounded(system, state_of(like, t, vector, mode), until, **bounds)


def with_derivative(system: AbstractSystem, like: State, t, vector: Vector, mode: Mode, until, **bounds):
    """The run to a time, and the derivative of its end by its start (saltation at each event included)."""

    def end(x):
        run = flow(system, like, t, x, mode, until, **bounds)
        return pack(run.end), run

    jacobian, run = jax.jacfwd(end, has_aux=True)(vector)
    return run, jacobian
