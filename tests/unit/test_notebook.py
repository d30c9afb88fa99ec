"""Runs and events as notebooks show them."""

import numpy as np
import pytest

import saltus as sl
from saltus.hybrid import Event, Events, State


@pytest.fixture(scope="module")
def run():
    ball = sl.systems.SlidingMasses(sl.surfaces.Plane(0.0, 0.0), [1.0], mu=0.3)
    return sl.simulate(ball, ball.start([[0.0, 0.0]], [[1.0, 0.0]]), 1.0)


def test_a_run_is_a_short_line_and_a_small_page(run):
    assert repr(run).startswith("Run(sliding, t = 0 to 1 s, 1 event, finished")
    page = run._repr_html_()
    assert page.count("<svg") == 1 and "outcome" in page and "stop" in page and "nan" not in page
    assert len(page) < 50_000


def test_events_are_a_table_with_what_they_tell(run):
    page = run.events._repr_html_()
    assert "energy_loss" in page and "stop" in page
    assert isinstance(run.events, tuple) and len(run.events) == 1
    assert repr(run.events[0]).startswith("Event('stop', index=0, t=0.33978")
    assert "energy_loss" in run.events[0]._repr_html_()


def test_no_events_and_many_events_are_told(run):
    state = run.end
    assert "No events" in Events()._repr_html_()
    many = Events(Event("hit <hard>", 0, float(t), state, state, {"impulse": np.ones(9) * t}) for t in range(30))
    page = many._repr_html_()
    assert "and 10 more" in page and "&lt;hard&gt;" in page and "…" in page


def test_a_run_that_went_nowhere_has_no_plot():
    from saltus.hybrid import Outcome, Trajectory
    from saltus.io.notebook import plot

    knots = State.of(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 1)), np.zeros((1, 1), int))
    assert plot(Trajectory(knots, (), Outcome("finished", "."), lambda states, times: states)) == ""
