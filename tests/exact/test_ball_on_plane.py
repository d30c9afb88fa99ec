"""A ball on a plane against closed forms: rolling, curves, spinning down, rest and slopes."""

import math

import numpy as np
import pytest

from saltus import simulate
from saltus.diagnostics import energy_balance
from saltus.laws.friction import Combined, Coulomb
from saltus.systems import BallOnPlane

MASS, RADIUS, MU, G = 0.17, 0.0286, 0.2, 9.81


def names(run):
    return [event.name for event in run.events]


def test_a_sliding_ball_rolls_with_five_sevenths_of_its_speed():
    ball = BallOnPlane(MASS, RADIUS, Coulomb(MU))
    run = simulate(ball, ball.start([2.0, -1.0]), 1.0)
    assert names(run) == ["rolls"]
    assert run.events[0].t == pytest.approx(2 * math.sqrt(5.0) / (7 * MU * G), rel=1e-12)
    np.testing.assert_allclose(run.end.v[:2], [10 / 7, -5 / 7], rtol=1e-13)
    np.testing.assert_allclose(run.end.v[2:4] * RADIUS, [5 / 7, 10 / 7], rtol=1e-13)


def test_side_spin_bends_the_path_into_a_parabola():
    ball = BallOnPlane(MASS, RADIUS, Coulomb(MU))
    run = simulate(ball, ball.start([2.0, 0.0], [-60.0, 0.0, 0.0]), 1.0)
    slip = np.array([2.0, -60.0 * RADIUS])
    t = np.linspace(0.0, run.events[0].t, 9)
    path = np.outer(t, [2.0, 0.0]) - 0.5 * MU * G * np.outer(t**2, slip / np.linalg.norm(slip))
    np.testing.assert_allclose(run.states(t).q[:, :2], path, atol=1e-12)
    # Velocity less 2/7 of the slip, as on every plane: the point of contact keeps its angular momentum.
    np.testing.assert_allclose(run.end.v[:2], np.array([2.0, 0.0]) - 2 / 7 * slip, rtol=1e-12)


def test_a_ball_that_spins_in_place_stops_at_the_exact_time():
    ball = BallOnPlane(MASS, RADIUS, Combined(MU, 0.002))
    run = simulate(ball, ball.start(angular_velocity=[0.0, 0.0, 40.0]), 10.0)
    # Torque 3 pi / 16 mu N R against 2/5 m r^2.
    stop = 2 * RADIUS**2 * 40.0 / (5 * (3 * math.pi / 16) * MU * G * 0.002)
    assert run.events[-1].after.t == pytest.approx(stop, rel=1e-10)
    assert not np.asarray(run.end.v).any()


def test_slip_and_spin_of_a_spot_lose_what_friction_takes():
    ball = BallOnPlane(MASS, RADIUS, Combined(MU, 0.004, "uniform"))
    run = simulate(ball, ball.start([1.5, 0.0], [-90.0, -20.0, 120.0]), 2.0)
    assert energy_balance(run.to_dataset(times=201)).relative < 1e-10
    # Spin weakens the friction but the velocity of rolling is the same.
    np.testing.assert_allclose(
        run.end.v[:2], (5 * np.array([1.5, 0.0]) + 2 * RADIUS * np.array([-20, 90.0])) / 7, rtol=1e-6
    )


@pytest.mark.slow
def test_rolling_resistance_brings_the_ball_to_exact_rest():
    law = Combined(MU, 0.002, rolling_shift=0.5)
    ball = BallOnPlane(MASS, RADIUS, law)
    run = simulate(ball, ball.start([1.0, 0.0], [0.0, 1.0 / RADIUS, 0.0]), 60.0)
    # The moment R/5 k N decelerates a rolling ball by 5/7 of moment / (m r).
    gain = 5 / 7 * (0.002 / 5 * 0.5 * G) / RADIUS
    assert names(run)[-1] == "rests"
    assert run.events[-1].after.t == pytest.approx(1.0 / gain, rel=1e-9)
    assert run.end.q[0] == pytest.approx(0.5 / gain, rel=1e-9) and not np.asarray(run.end.v).any()


@pytest.mark.slow
def test_on_a_slope_the_ball_rolls_or_slips_by_the_coulomb_limit():
    # Rolling needs a friction of 2/7 tan(slope).
    for slope, modes in ((0.9 * math.atan(3.5 * MU), []), (1.1 * math.atan(3.5 * MU), ["slips"])):
        ball = BallOnPlane(MASS, RADIUS, Coulomb(MU), slope=slope)
        run = simulate(ball, ball.start(), 0.5)
        rolls = slope < math.atan(3.5 * MU)
        gain = 5 / 7 * G * math.sin(slope) if rolls else G * (math.sin(slope) - MU * math.cos(slope))
        assert run.end.v[0] == pytest.approx(0.5 * gain, rel=1e-9), (names(run), modes)
