"""The Butterfly: rolling, lift-off, slip, every way to give the turning, and the inverse job."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from saltus import simulate
from saltus.diagnostics import energy_balance
from saltus.laws.friction import Combined, Coulomb
from saltus.shapes import ButterflyProfile, CircleProfile, ProfileFunction
from saltus.systems import Butterfly, ButterflyPlan, Turning, TurningFunction, TurningTable

PROFILE = ButterflyProfile(0.11, 0.03)


def plates(turning, law, profile=PROFILE):
    return Butterfly(0.05, 0.025, 0.3, profile, turning, law)


def test_a_ball_that_rolls_down_a_circle_lifts_off_at_the_known_angle():
    ball = plates(Turning(), Coulomb(1e15), CircleProfile(0.11))
    run = simulate(ball, ball.start(phi=1e-3), 5.0)
    assert run.outcome.name == "left_domain"
    square = math.cos(0.3) ** 2
    # From rest at phi0: (1 + j) w^2 / 2 = g r (cos phi0 - cos phi), lift-off at w^2 = g r cos phi.
    cosine = 10 * square / (15 * square + 2) * math.cos(1e-3)
    assert math.cos(float(run.end.q[0])) == pytest.approx(cosine, rel=1e-10)


def test_all_ways_to_give_a_turning_agree():
    given = Turning(0.05, 0.3, 0.1, 4.0)
    formula = TurningFunction(lambda t: 0.05 + 0.3 * t + 0.1 * jnp.sin(4.0 * t))
    times = np.linspace(0.0, 0.5, 201)
    table = TurningTable(times, 0.05 + 0.3 * times + 0.1 * np.sin(4.0 * times))
    for t in (0.0, 0.123, 0.37):
        for other, accuracy in ((formula, 1e-15), (table, 1e-4)):
            # A cubic spline has accelerations to the square of the spacing: 1.6 * 2.5e-3^2 * 16.
            np.testing.assert_allclose(
                other.at(jnp.asarray(t)), given.at(jnp.asarray(t)), rtol=0, atol=max(accuracy, 4e-15)
            )


def test_a_profile_can_be_any_function():
    mine = ProfileFunction(lambda phi: 0.11 - 0.03 * jnp.cos(2 * phi))
    for x, y in zip(mine.at(0.7), PROFILE.at(0.7), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)


def test_slip_ends_in_rolling_and_the_energy_is_accounted_for():
    ball = plates(Turning(amplitude=0.1, frequency=4.0), Coulomb(0.3))
    run = simulate(ball, ball.start(speed=0.2, angular_velocity=0.0), 0.4)
    assert run.events[0].name == "slip_ends" and float(run.events[0].after.mode) == 3
    now = ball.contacts(run.end)
    if int(run.end.mode) == 3:
        assert abs(float(now.slip)) < 1e-12
    assert energy_balance(run.to_dataset(times=201)).relative < 1e-10


@pytest.mark.slow
def test_a_spot_creeps_and_its_energy_is_accounted_for():
    law = Combined(0.25, 0.005, "punch", rolling_shift=0.3)
    ball = Butterfly(0.05, 0.025, 0.6, PROFILE, Turning(amplitude=0.1, frequency=4.0), law)
    run = simulate(ball, ball.start(speed=0.3, angular_velocity=6.0), 0.5)
    data = run.to_dataset(times=201)
    assert energy_balance(data).relative < 1e-9
    assert float(data.dissipated_energy[-1]) > 0.0


@pytest.mark.slow
def test_plates_turned_by_a_plan_make_the_ball_roll_as_wanted():
    wanted = Turning(amplitude=0.2, frequency=2.0)
    plan = ButterflyPlan(0.05, 0.025, 0.3, PROFILE, wanted)
    planned = simulate(plan, plan.start(rate=0.1711), 0.8).to_dataset(times=801)
    assert energy_balance(planned).relative < 1e-10
    ball = plates(TurningTable(planned.time.values, planned.plate_angle.values), Coulomb(0.3))
    arc = float(ball.contacts(ball.start()).track.arc)
    run = simulate(ball, ball.start(speed=0.4 * arc), 0.8)
    data = run.to_dataset(times=planned.time.values)
    assert run.outcome.name == "finished" and not run.events
    # The spline between 801 points is off by about 1e-9, which grows about a thousandfold on the way.
    np.testing.assert_allclose(data.profile_angle, 0.2 * np.sin(2 * data.time), atol=1e-6)
    np.testing.assert_allclose(data.required_friction, planned.required_friction, atol=1e-4)
    np.testing.assert_allclose(data.normal_force[:, 0], planned.normal_force, rtol=1e-4)


def test_a_plan_that_would_lift_the_ball_off_ends_there():
    plan = ButterflyPlan(0.05, 0.025, 0.3, PROFILE, Turning(rate=2.0))
    run = simulate(plan, plan.start(rate=-2.0), 1.0)
    assert run.outcome.name == "left_domain" and "lifts the ball off" in run.outcome.message
    load = float(plan.observe(run.end)["normal_force"])
    assert abs(load) < 1e-9
