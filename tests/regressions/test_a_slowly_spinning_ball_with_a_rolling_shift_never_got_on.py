"""Balls with a rolling shift that spin slowly ended as `too_many_steps`, or as `not_finite` with an implicit method (of
90 random ones with a spot 20 to 200 times smaller than the ball 20). Slip follows spin and rolling at a rate that grows
as 1/spin, until the spin ends. It is slaved to them once it is as near as `capture` says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.diagnostics import energy_balance
from saltus.laws.friction.spot import spot_functions

RADIUS, MASS = 0.2, 3.0
BEGIN = {"velocity": [0.7, -0.4], "angular_velocity": [1.0, -2.0, 1.5]}


def ball_of(share, slope, sliding=0.0, capture=1e-9):
    law = sl.laws.friction.Combined(0.3, share * RADIUS, rolling_shift=0.3, sliding_shift=sliding)
    return sl.systems.BallOnPlane(MASS, RADIUS, law, slope, capture=capture)


@pytest.mark.parametrize("slope", [0.0, 0.15])
@pytest.mark.parametrize("sliding", [0.0, 0.1])
@pytest.mark.parametrize("share", [1e-4, 5e-3, 0.02])
def test_a_ball_with_a_small_spot_gets_to_the_end_of_its_spin(share, sliding, slope):
    ball = ball_of(share, slope, sliding)
    run = sl.simulate(ball, ball.start(**BEGIN), 3.0 / share)
    names = [event.name for event in run.events]
    assert run.outcome.name == "finished"
    assert "spins" in names and "spin_ends" in names
    assert run.end.v.spin == 0.0
    # 1e-8: ten times what `capture` leaves out.
    assert energy_balance(run.to_dataset(times=201)).relative < 1e-8


@pytest.mark.parametrize("slope", [0.0, 0.15])
def test_slip_that_follows_is_that_of_the_equations(slope):
    """With a spot large enough the equations themselves can be followed nearly to the end of the spin."""
    ends = []
    for capture in (1e-9, 1e-13):
        ball = ball_of(0.1, slope, capture=capture)
        ends.append(sl.simulate(ball, ball.start(**BEGIN), 3.0))
    follows, by_steps = ends
    spins = [next(float(event.t) for event in run.events if event.name == "spins") for run in ends]
    assert spins[0] < spins[1] - 1e-3
    # 1e-9: as `capture` says, as a share of the speed, of about 1 m/s, and of the path.
    np.testing.assert_allclose(follows.end.v.centre, by_steps.end.v.centre, atol=1e-9)
    np.testing.assert_allclose(follows.end.q.centre, by_steps.end.q.centre, atol=1e-9)


def test_derivatives_go_through_slip_that_follows():
    ball = ball_of(0.05, 0.1)

    def start(push):
        return ball.start([push, -0.4], BEGIN["angular_velocity"])

    def end(push):
        return sl.simulate(ball, start(push), 2.0).end.q.centre[1]

    run = sl.simulate(ball, start(0.7), 2.0)
    assert "spin_ends" in [event.name for event in run.events]
    slope = jax.grad(lambda push: run.replay(ball, start(push)).end.q.centre[1])(0.7)
    step = 1e-4
    # 1e-5: the tolerance of the runs, over the step.
    np.testing.assert_allclose(slope, (end(0.7 + step) - end(0.7 - step)) / (2 * step), rtol=1e-5)


def test_a_ball_that_pivots_with_both_shifts_gets_to_rest():
    """Its rolling is held at zero within rounding; of what was left, 1e-16 rad/s, it was told to roll on for ever."""
    law = sl.laws.friction.Combined(0.39, 5.51e-3, rolling_shift=0.225, sliding_shift=-0.0621)
    ball = sl.systems.BallOnPlane(1.0, 0.134, law)
    run = sl.simulate(ball, ball.start(angular_velocity=[1.853, -1.598, 25.16]), 60.0)
    assert run.outcome.name == "finished" and ball.mode_names[int(run.end.mode)] == "rest"
    assert [event.name for event in run.events] == ["pivots", "spins", "spin_ends"]


@pytest.mark.parametrize("shifts", [{"sliding_shift": -0.27}, {"rolling_shift": 0.27}])
def test_a_spin_that_is_rounding_is_no_spin(shifts):
    """Shifted pressure turned a ball that does not spin by 1e-20 rad/s; slip in proportion to that was anything."""
    law = sl.laws.friction.Combined(0.119, 3e-4, **shifts)
    ball = sl.systems.BallOnPlane(287.2, 0.2225, law, slope=-0.173)
    run = sl.simulate(ball, ball.start(angular_velocity=[-31.07, 0.0, 0.0]), 3.5)
    assert run.outcome.name == "finished"
    assert energy_balance(run.to_dataset(times=201)).relative < 1e-8


@pytest.mark.parametrize(("rolling", "sliding"), [(0.596, 0.1), (0.075, -0.19)])
def test_a_ball_that_spins_on_a_steep_plane_sets_off_once(rolling, sliding):
    """Told to spin without slip at its place, where nothing could hold it, it would set off again and again."""
    law = sl.laws.friction.Combined(0.15, 0.045 * RADIUS, rolling_shift=rolling, sliding_shift=sliding)
    ball = sl.systems.BallOnPlane(1.0, RADIUS, law, slope=0.023)
    run = sl.simulate(ball, ball.start(angular_velocity=[0.0, 0.0, -0.76]), 5.0)
    assert run.outcome.name == "finished" and len(run.events) < 10


@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_second_derivatives_of_friction_can_be_taken_backwards(ratio):
    """`jax.grad` of `jax.grad` failed: it met a function with a rule of its own for many points."""

    def lift(s):
        return spot_functions(s, "hertz").Psi

    step = 1e-4
    near = (jax.grad(lift)(ratio + step) - jax.grad(lift)(ratio - step)) / (2 * step)
    # 1e-7: the square of the step, and rounding over it.
    np.testing.assert_allclose(jax.grad(jax.grad(lift))(ratio), near, rtol=1e-7)
    many = jax.vmap(jax.grad(jax.grad(lift)))(jnp.full(100, ratio))
    np.testing.assert_allclose(many, near, rtol=1e-7)
