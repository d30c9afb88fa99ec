"""Bodies that passed through each other after a paradox were taken to overlap for ever: they never met again.

At a paradox the overlap sets in with the third power of the time. The search for its end took steps as if it began with
the speed of the bodies, and gave up after two microseconds without a word.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import saltus
from saltus.contacts.gap import gap
from saltus.contacts.wall import Wall
from saltus.shapes import Ball, Body
from saltus.systems.bodies.passing import emergence

NOTHING = np.zeros(3)


def test_the_overlap_of_the_published_paradox_ends_where_the_gap_opens():
    scenario = saltus.scenarios.load("paradox", ['impact.paradox="pass"', "solve.until=0.35"]).scenario
    run = scenario.simulate()
    assert [event.name for event in run.events] == ["paradox", "emergence"]
    end = run.events[1].t
    assert end == pytest.approx(0.303169568212201, abs=1e-9)
    start = run.system.bodies(run.at(0.0))
    before, after = (float(gap(*(body.after(t) for body in start)).gap) for t in (end - 1e-6, end + 1e-6))
    assert before < 0.0 < after


@pytest.mark.parametrize("aside", [0.0, 0.19, 0.1999])
def test_balls_that_pass_each_other_are_apart_after_their_chord(aside):
    """Two balls of radius 0.1 that begin to overlap; the nearer they only graze, the slower the overlap sets in."""
    half = np.sqrt(0.2**2 - aside**2)
    first = Body(Ball(0.1), center=[0.0, 0.0, 0.0])
    second = Body(Ball(0.1), center=[-half, aside, 0.0], velocity=[2.0, 0.0, 0.0])
    assert emergence(first, second, NOTHING, 10.0) == pytest.approx(half, rel=1e-7)  # twice the half, at 2 m/s
    assert emergence(first, second, NOTHING, np.inf) == pytest.approx(half, rel=1e-7)
    assert emergence(first, second, NOTHING, 0.9 * half) == np.inf


@pytest.mark.parametrize("horizon", [10.0, np.inf])
def test_a_ball_that_a_pull_brings_back_through_a_wall_is_apart_after_its_throw(horizon):
    wall, ball = (
        Wall(jnp.array([0.0, 0.0, 1.0]), jnp.zeros(())),
        Body(Ball(0.1), center=[0.0, 0.0, 0.1], velocity=[0.3, 0.0, -1.0]),
    )
    pull = jnp.array([0.0, 0.0, 9.81])
    assert emergence(wall, ball, pull, horizon) == pytest.approx(2.0 / 9.81, rel=1e-12)
    assert emergence(wall, ball, pull, 0.2) == np.inf
