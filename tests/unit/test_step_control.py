"""How long adaptive steps are: those to come are foreseen, and nothing hangs on where a flow was cut into pieces."""

import jax.numpy as jnp
import numpy as np
import pytest

from saltus.engines.advance import flow
from saltus.engines.signs import Signs
from saltus.engines.step_control import steps_of
from saltus.engines.steppers import stepper
from saltus.engines.trial import Pace, Status
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State


class Stop(AbstractSystem):
    """A motion that is rougher and rougher towards t = 1, as a slip that dies: the place is (1 - t)^(5/2)."""

    kind = "stop"
    mode_names = ("moves",)

    def rate(self, state):
        return Rate(q=-2.5 * jnp.maximum(1.0 - state.t, 0.0)[None] ** 1.5, v=0.0 * state.v, ledger=jnp.zeros(0))

    def observe(self, state):
        return {"x": state.q[0]}

    def quantities(self):
        return {"x": Quantity((), "m", "place")}

    def guards(self):
        return (Guard("far", lambda s: s.q[0] + 1.0, ends="finished"),)


START = State.of(q=[1.0], v=[0.0])


def flow_in_pieces(capacity: int, until: float = 1.0 - 1e-6):
    """All steps kept, how many were tried, and the pace at the end; at most so many steps in one piece."""
    system, state, pace, tried, times = Stop(), START, Pace.unknown(np.zeros(())), 0, []
    signs, control = Signs.none(1), steps_of(1e-9, 1e-12, None, 0.0)
    while True:
        went = flow(system, state, pace, jnp.asarray(until), signs, stepper("dopri8"), control, capacity)
        times += np.asarray(went.times[: int(went.count)]).tolist()
        state, pace, signs, tried = went.state, went.pace, went.signs, tried + int(went.steps)
        if int(went.status) != Status.full:
            assert int(went.status) == Status.reached
            return times, tried, pace


def test_steps_that_become_shorter_and_shorter_are_foreseen():
    times, tried, _ = flow_in_pieces(512)
    assert len(times) > 12  # the way to the stop takes many
    assert tried <= 1.5 * len(times)  # judged by the last step alone every other one is tried in vain: 36 for 19


@pytest.mark.parametrize("capacity", [1, 3])
def test_steps_do_not_hang_on_where_the_flow_was_cut(capacity):
    whole, pieces = flow_in_pieces(512), flow_in_pieces(capacity)
    assert pieces[0] == whole[0]
    assert pieces[1] == whole[1]
    assert float(pieces[2].h) == float(whole[2].h)
    assert float(pieces[2].reach) == float(whole[2].reach)


def test_after_a_jump_nothing_is_foreseen():
    pace = steps_of(1e-9, 1e-12, None, 0.0).after_jump(Pace(np.asarray(0.1), np.asarray(0.2)), 1.0)
    assert (float(pace.h), float(pace.reach)) == (0.1, 0.0)
