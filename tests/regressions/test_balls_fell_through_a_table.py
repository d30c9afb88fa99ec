"""A ball on a vibrating table, as a user would write it, fell through the table, and the run was `finished`."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State


class Table(AbstractSystem):
    """The ball bounces; it does not know how to rest."""

    kind: ClassVar[str] = "moving_table"
    restitution: float
    amplitude: float
    omega: float

    def rate(self, s):
        return Rate(q=s.v, v=jnp.full(1, -9.81), ledger=jnp.zeros(0))

    def table(self, t):
        return self.amplitude * jnp.sin(self.omega * t)

    def guards(self):
        return (Guard("bounce", lambda s: s.q[0] - self.table(s.t)),)

    def jump(self, s, guard, index):
        w = self.amplitude * self.omega * jnp.cos(self.omega * s.t)
        return State(s.t, s.q, w - self.restitution * (s.v - w), s.ledger, s.mode)

    def quantities(self):
        return {"height": Quantity((), "m", "height"), "table": Quantity((), "m", "table")}

    def observe(self, s):
        return {"height": s.q[0], "table": self.table(s.t)}


RESTING = [
    (0.5, 0.001, 10.0),
    (0.5, 0.001, 5.0),
    (0.3, 0.01, 5.0),
    (0.7, 0.005, 8.0),
    (0.8, 0.002, 20.0),
    (0.2, 0.02, 25.0),
]
BOUNCING = (0.5, 0.02, 30.0)


def _gap(run):
    data = run.to_dataset(times=501)
    return np.asarray(data.height - data.table)


@pytest.mark.parametrize("step", [None, 0.01])
@pytest.mark.parametrize("numbers", RESTING)
def test_a_ball_that_cannot_rest_is_told_to_pile_up(numbers, step):
    how = {} if step is None else {"method": "rk4", "step": step}
    table = Table(*map(jnp.asarray, numbers))  # arrays are data: one program for all numbers
    run = sl.simulate(table, State.of(q=[0.3], v=[0.0]), until=5.0, **how)
    assert run.outcome.name == "accumulation"
    assert "'bounce'" in run.outcome.message and f"t = {float(run.end.t):.6g}"[:8] in run.outcome.message
    assert _gap(run).min() > -1e-11


def test_a_ball_that_the_table_throws_up_again_bounces_on():
    run = sl.simulate(Table(*BOUNCING), State.of(q=[0.3], v=[0.0]), until=5.0)
    assert run.outcome.name == "finished" and len(run.events) == 30
    assert _gap(run).min() > -1e-11


def test_a_ball_without_restitution_that_stays_on_the_table_is_told():
    run = sl.simulate(Table(0.0, 0.02, 30.0), State.of(q=[0.3], v=[0.0]), until=5.0)
    assert run.outcome.name == "accumulation" and "does not rise above zero again" in run.outcome.message
    assert _gap(run).min() > -1e-11


def test_a_start_below_the_table_is_told():
    run = sl.simulate(Table(*BOUNCING), State.of(q=[-0.3], v=[0.0]), until=0.1)
    assert run.outcome.name == "finished" and not run.events
    assert "Guard 'bounce' is below zero and has never fired" in run.outcome.message


def test_a_mark_that_is_passed_fires_once_and_the_run_goes_on():
    class Passing(Table):
        def jump(self, s, guard, index):
            return State(s.t, s.q, 0.9 * s.v, s.ledger, s.mode)

    run = sl.simulate(Passing(*BOUNCING), State.of(q=[0.3], v=[0.0]), until=1.0)
    assert run.outcome.name == "finished" and len(run.events) == 1 and float(run.end.q[0]) < -1.0
