"""A ball dropped from one metre: the smallest run with an event, to see whether saltus works here."""

from __future__ import annotations

import math
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array

from saltus.engines import EventDriven
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State

GRAVITY = 9.81  # [m s-2]
HEIGHT = 1.0  # [m]
EXACT = math.sqrt(2.0 * HEIGHT / GRAVITY)  # time of the first bounce [s]


class Ball(AbstractSystem):
    """A ball that bounces; a class of saltus, whose compiled programs are kept, unlike those of users' functions."""

    kind: ClassVar[str] = "self_test"

    def rate(self, state: State) -> Rate:
        """It falls."""
        return Rate(q=state.v, v=jnp.full(1, -GRAVITY), ledger=jnp.zeros(0))

    def guards(self) -> tuple[Guard, ...]:
        """The floor."""
        return (Guard("floor", _height, jump=_bounce),)

    def quantities(self) -> dict[str, Quantity]:
        """Its height."""
        return {"height": Quantity((), "m", "height")}

    def observe(self, state: State) -> dict[str, Array]:
        """Its height."""
        return {"height": state.q[0]}


def _height(state: State) -> Array:
    return state.q[0]


def _bounce(state: State, index: Array) -> State:
    return State(state.t, state.q, -0.9 * state.v, state.ledger, state.mode)


def first_bounce() -> float:
    """When the ball first touches the floor, by the engine [s]; exactly it is `EXACT`."""
    run = EventDriven(method="bosh3").run(Ball(), State.of(0.0, [HEIGHT], [0.0]), 0.5)
    return float(run.events[0].t)
