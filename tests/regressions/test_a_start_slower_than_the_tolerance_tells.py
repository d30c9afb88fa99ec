"""Slip at the start that the tolerance does not tell from none: its guard began below zero and never fired.

Friction then turned that slip round and round, and the run was given up in steps of 1e-11 s.
"""

import math

import pytest

import saltus as sl
from saltus.scenarios import load

RAILS = """
kind = "rails"
mass = 1.0
radius = 0.5
half_angle = 0.5
friction = {mu = 0.25, model = "coulomb"}
start = {velocity = 2.0, angular_velocity = [1e-8, ROLLING, 0.0]}
solve = {until = 1.0}
"""
ROLLING = 2.0 / (0.5 * math.cos(0.5))  # angular velocity without slip at half_angle = 0.5


@pytest.mark.parametrize("rtol", [1e-10, 1e-8, 1e-6])
def test_a_ball_that_hardly_slips_on_its_rails_sticks(rtol):
    ball = sl.systems.BallOnRails(1.0, 0.5, 0.5, sl.laws.friction.Coulomb(0.25))
    run = sl.simulate(ball, ball.start(2.0, [1e-8, ROLLING, 0.0]), until=1.0, rtol=rtol)
    assert run.outcome.name == "finished"
    assert float(run.end.q.along) == pytest.approx(2.0, abs=1e-7)  # it rolls, as one without slip does


def test_so_does_one_of_a_scenario():
    text = RAILS.replace("ROLLING", f"{ROLLING!r}")
    run = load(text, ["solve.rtol=1e-6"]).scenario.simulate()
    assert run.outcome.name == "finished" and not len(run.events)


@pytest.mark.slow
@pytest.mark.parametrize("rtol", [1e-7, 1e-6])
def test_a_disk_that_whirls_with_hardly_any_slip_comes_down(rtol):
    run = load("euler-disk", [f"solve.rtol={rtol}"]).scenario.simulate()
    assert run.outcome.name == "lies_flat"
    # At rtol = 1e-10 it takes 1.18321 s. What counts as no slip is ten times the tolerance of a speed of half a metre
    # per second; the losses, and with them the time, change by some thousand times that at most.
    assert float(run.end.t) == pytest.approx(1.18321, rel=1e4 * rtol)


def test_a_body_that_hardly_slips_begins_to_roll_whatever_the_tolerance():
    body = sl.shapes.Solid(sl.shapes.Ball(0.1), mass=1.0)
    ground, law = sl.surfaces.Plane(0.0, 0.0), sl.laws.impact.Soil(0.4, 0.5)
    system = sl.systems.BodyOnGround(ground, body, sl.laws.friction.Coulomb(0.3), law)
    start = system.start([0.0, 0.0], velocity=[1.0, 1e-8, 0.0], angular_velocity=[0.0, 10.0, 0.0])
    run = sl.simulate(system, start, until=0.5, rtol=1e-6, max_steps=20_000)
    assert run.outcome.name == "finished"
    assert float(run.end.q.centre[0]) == pytest.approx(0.5, abs=1e-6)
