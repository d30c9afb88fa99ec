"""Runs once went on for ever, or for minutes, without a word."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.engines.budget import MAX_STEPS, WINDOW, Budget
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State


class Driven(AbstractSystem):
    """A point that turns at a given rate, is pushed by a given acceleration, and may jump to a given speed."""

    kind: ClassVar[str] = "driven"
    turning: jax.Array = eqx.field(converter=jnp.asarray, default=0.0)
    push: jax.Array = eqx.field(converter=jnp.asarray, default=0.0)
    after: jax.Array = eqx.field(converter=jnp.asarray, default=0.0)

    def rate(self, state):
        x, y = state.v
        pushed = self.push * jnp.array([0.0, 1.0]) * jnp.where(state.t >= 0.0, 1.0, 0.0)
        return Rate(state.v, self.turning * jnp.stack([-y, x]) + pushed, jnp.zeros(0))

    def guards(self):
        return (Guard("line", lambda state: 1.0 - state.q[0]),)

    def jump(self, state, guard, index):
        return State(state.t, state.q, self.after * jnp.ones(2), state.ledger, state.mode)

    def quantities(self):
        return {"place": Quantity(("axis",), "m", "place")}

    def observe(self, state):
        return {"place": state.q}


def start(speed=0.1):
    return State.of(q=[0.0, 0.0], v=[speed, 0.0])


def test_a_motion_much_quicker_than_the_run_is_long_ends_early_and_says_what_turns():
    run = sl.simulate(Driven(turning=1e6), start(), until=1e3)
    assert run.outcome.name == "too_many_steps"
    assert run.trajectory.steps < 3 * WINDOW
    assert "steps covered" in run.outcome.message and "v[" in run.outcome.message


def test_a_run_without_an_end_time_that_nothing_ends_is_ended():
    run = sl.simulate(Driven(turning=10.0), start(), until=np.inf, max_steps=5000)
    assert run.outcome.name == "too_many_steps" and "no end time" in run.outcome.message


def test_steps_can_be_asked_for():
    run = sl.simulate(Driven(turning=1.0), start(), until=1e6, max_steps=1000)
    assert run.outcome.name == "too_many_steps" and 1000 <= run.trajectory.steps < 2000
    assert sl.simulate(Driven(turning=1.0), start(), until=20.0, max_steps=1000).outcome.name == "finished"


def test_an_acceleration_beyond_all_numbers_ends_the_run_at_once():
    # The first step came out as zero, and was tried for ever.
    run = sl.simulate(Driven(push=1e300), start(), until=1.0)
    assert run.outcome.name == "not_finite" and run.trajectory.steps < 10


def test_a_start_that_is_no_number_ends_the_run_at_once():
    assert sl.simulate(Driven(), start(np.nan), until=1.0).outcome.name == "not_finite"


def test_a_jump_that_leads_nowhere_ends_the_run_and_keeps_what_was_before():
    run = sl.simulate(Driven(after=np.inf), start(1.0), until=2.0)
    assert run.outcome.name == "not_finite" and "'line'" in run.outcome.message
    assert float(run.end.t) == pytest.approx(1.0) and np.isfinite(run.end.v).all()


def test_a_budget_lets_slow_progress_pass_and_ends_a_crawl():
    budget = Budget(until=10.0, max_steps=MAX_STEPS, t=0.0)
    assert budget.judge(1e-9, WINDOW - 1) is None  # too early to tell
    assert budget.judge(1.0, WINDOW) is None  # nine times as many are left
    assert "9 s are left" in budget.judge(1.0 + 1e-6, 2 * WINDOW)
    assert budget.judge(5.0, MAX_STEPS) is not None


def test_loose_tolerances_do_not_crawl_at_a_stop_by_friction():
    # With errors larger than the speed at which a stop is told, the mass never came to it: 1.5 million steps.
    box = sl.systems.SlidingMasses(sl.surfaces.Plane(0.1, 0.0), masses=[1.0], mu=0.3)
    run = sl.simulate(box, box.start(position=[[0.0, 0.0]], velocity=[[1.0, 0.7]]), until=5.0, atol=1e-3)
    assert run.outcome.name == "finished" and run.trajectory.steps < 1000
    assert [event.name for event in run.events] == ["stop"]


def test_a_ball_that_resistance_keeps_from_rolling_slides_on_without_a_crawl():
    # Friction too weak to set it rolling: resistance flung it to and fro.
    law = sl.laws.friction.Combined(0.004, 0.02, "hertz", rolling_shift=0.3)
    ball = sl.systems.BallOnPlane(0.17, 0.2, law)
    begin = ball.start([1.0, 0.3], [0.0, 0.0, 40.0])
    assert ball.mode_names[int(begin.mode)] == "pivot"
    run = sl.simulate(ball, begin, until=30.0)
    assert run.outcome.name == "finished" and run.trajectory.steps < 200
