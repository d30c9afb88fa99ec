"""A sliding shift turns the slip of a spinning spot round ever faster: runs ended as `too_many_steps`."""

import jax
import numpy as np
import pytest

import saltus as sl
from saltus.systems.ball_on_plane import MODES, SPIN_LEFT, SPIN_RIGHT

VELOCITY, SPIN, RADIUS, SPOT = np.array([1.0, 0.2]), 20.0, 0.03, 0.002


def ball(sliding, rolling=0.0, slope=0.0, **more):
    law = sl.laws.friction.Combined(0.2, SPOT, sliding_shift=sliding, rolling_shift=rolling)
    return sl.systems.BallOnPlane(0.17, RADIUS, law, slope, **more)


def simulate(system, until, spin=SPIN, **start):
    start = {"velocity": VELOCITY, **start}
    return sl.simulate(system, system.start(angular_velocity=[0.0, 0.0, spin], **start), until=until, rtol=1e-10)


@pytest.mark.parametrize("spin", [SPIN, -300.0])
@pytest.mark.parametrize("shift", [0.005, -0.3])
def test_the_ball_rolls_on_with_five_sevenths_of_its_velocity(shift, spin):
    """The angular momentum about the contact is kept on a level plane, whatever friction does."""
    run = simulate(ball(shift), 1.0, spin)
    assert run.outcome.name == "finished"
    assert int(run.end.mode) == (SPIN_LEFT if spin > 0 else SPIN_RIGHT)
    np.testing.assert_allclose(run.end.v.centre, VELOCITY * 5 / 7, rtol=1e-10)
    energy = run.to_dataset(times=11)[["kinetic_energy", "dissipated_energy"]].to_array().sum("variable")
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)


def test_the_place_does_not_hang_on_when_the_rest_of_the_spiral_is_left_out():
    """With a thousandth of the path allowed, the spiral is followed for longer, to the same place."""
    loose, tight = (simulate(ball(0.05, capture=capture), 0.6) for capture in (1e-9, 1e-12))
    assert tight.events[0].t > loose.events[0].t
    np.testing.assert_allclose(loose.end.q.centre, tight.end.q.centre, atol=3 * 1e-9 * RADIUS)
    np.testing.assert_allclose(loose.end.v.spin, tight.end.v.spin, rtol=1e-8)


def test_a_spinning_ball_on_a_gentle_slope_rolls_down_as_one_that_does_not_slip():
    """Where the sliding shift can hold the ball on the average, its centre gains 5/7 g sin(slope)."""
    system = ball(0.1, slope=0.002)
    run = simulate(system, 1.0)
    times = np.array([0.7, 0.9])
    states = [run.at(t) for t in times]
    assert [MODES[int(state.mode)] for state in states] == ["spin_left"] * 2
    gained = (states[1].v.centre - states[0].v.centre) / (times[1] - times[0])
    np.testing.assert_allclose(gained, [5 / 7 * 9.81 * np.sin(0.002), 0.0], atol=1e-9)


def test_a_ball_with_both_shifts_stops_at_its_place_while_it_spins():
    """The rolling may end before the spin; both end in rest."""
    run = simulate(ball(0.3, rolling=0.2), 60.0, spin=200.0, velocity=[0.02, 0.0])
    names = [event.name for event in run.events]
    assert names[-1] == "spin_ends" and "stops" in names
    stop = next(event for event in run.events if event.name == "stops")
    assert float(np.linalg.norm(stop.after.v.centre)) == 0.0 and float(stop.after.v.spin) > 0.0
    assert MODES[int(run.end.mode)] == "rest"


def test_a_start_is_the_same_inside_a_trace():
    """Outside, what only a ball that spins at once needs is not asked for the others."""
    system = ball(0.01, rolling=0.3)
    for velocity in ([1.0, 0.3], [1e-9, 0.0]):
        known = system.start(velocity, [0.0, 0.0, SPIN])
        traced = jax.jit(lambda v: system.start(v, [0.0, 0.0, SPIN]))(np.asarray(velocity))
        assert int(known.mode) == int(traced.mode)
        np.testing.assert_allclose(np.asarray(known.v), np.asarray(traced.v), rtol=1e-14)
    assert int(known.mode) == SPIN_LEFT


def test_a_ball_that_only_spins_starts_without_slip():
    """Nothing pushes it, so it spins at its place until the torque of its spot has stopped it."""
    run = simulate(ball(0.05), 60.0, velocity=[0.0, 0.0])
    assert [event.name for event in run.events] == ["spin_ends"]
    np.testing.assert_array_equal(run.end.q.centre, 0.0)


def test_a_small_spot_with_a_sliding_shift_needs_no_stiff_method():
    """With the method for stiff flow the state after the slip had ended was not a number."""
    law = sl.laws.friction.Combined(0.242, 2.69e-4, pressure="uniform", sliding_shift=-0.0205)
    system = sl.systems.BallOnPlane(1.0, 0.304, law)
    start = system.start(velocity=[0.119, -1.484], angular_velocity=[0.0647, 0.679, 0.331])
    run = sl.simulate(system, start, until=2.0)
    assert run.outcome.name == "finished"
    np.testing.assert_allclose(run.end.v.centre, start.v.centre - system.motion(start.v).slip * 2 / 7, rtol=1e-10)


def test_a_ball_with_rolling_resistance_that_turns_slowly_comes_to_roll():
    """The smaller its spin, the stiffer its slip, on a spot a hundred times smaller than the ball."""
    law = sl.laws.friction.Combined(0.458, 2.33e-4, rolling_shift=0.023)
    system = sl.systems.BallOnPlane(1.0, 0.0404, law)
    start = system.start(velocity=[-0.0393, 0.0697], angular_velocity=[8.97, -3.73, -0.604])
    run = sl.simulate(system, start, until=2.0)
    assert run.outcome.name == "finished" and [event.name for event in run.events] == ["spins", "spin_ends"]
    assert system.mode_names[int(run.end.mode)] == "roll"
