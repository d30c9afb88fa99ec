"""Derivatives through a stop by friction hung on the last bits of a run.

Friction turns a motion that is about to stop into its last direction so fast that explicit steps ring about it by what
the tolerance leaves. The derivative of the time of the stop knew only directions that had come to within 1e-3 of the
last one, and took a cruder rule for others: those of a ball that slipped to and fro on the Butterfly's plates were off
by 2.5 % or right to 2e-7, depending on how the program was compiled. And derivatives rang more than the motion: with
tolerances of 1e-9 they were off by 1e-3, with 1e-8 by more than their size.

Then each step of the last stretch was damped, at the speeds that ring: derivatives were off by 5e-5 to 5e-3, depending
on the last bits of the start and on the processor.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial

from saltus import simulate
from saltus.engines import EventDriven
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State, simulate_bounded
from saltus.scenarios import load
from saltus.scenarios.replace import replace_keys
from saltus.systems.short_time import time_to_stop

AXES = np.array([[0.9, 0.3], [-0.5, 1.0]])  # along which friction brakes; not at right angles
QUICK = 30.0  # how much more it brakes along the first than along the second
NEAR_REST = 1e-9  # [m/s]


def brake(friction, velocity):
    """The acceleration, and nothing else."""
    x = jnp.linalg.solve(AXES, velocity)
    return -friction * AXES @ (jnp.array([QUICK, 1.0]) * x) / jnp.sqrt(jnp.sum(x**2)), ()


class Skate(AbstractSystem):
    """Something that friction brakes much more in one direction than in another."""

    kind: ClassVar[str] = "skate"
    mode_names: ClassVar[tuple[str, ...]] = ("slides", "rests")
    friction: jax.Array

    def rate(self, state):
        slides = state.mode == 0
        moving = jnp.where(slides, state.v, 1.0)
        return Rate(state.v, jnp.where(slides, brake(self.friction, moving)[0], 0.0), state.ledger)

    def guards(self):
        def speed_left(state):
            return jnp.sqrt(jnp.sum(state.v**2)) - NEAR_REST

        return (Guard("stops", speed_left, lambda s: s.mode == 0, singular=True, jump=self.stop),)

    def stop(self, state, index):
        left = time_to_stop(state.v, brake(self.friction, state.v)[0], Partial(brake, self.friction), 1e-3)
        return state.replace(t=state.t + left, v=jnp.zeros(2), mode=jnp.asarray(1))

    def event_data(self, guard, index, before, after):
        return {"t": float(after.t)}

    def quantities(self):
        return {"velocity": Quantity(("axis",), "m s-1", "velocity")}

    def observe(self, state):
        return {"velocity": state.v}


def skate_start(velocity) -> State:
    return State.of(0.0, jnp.zeros(2), velocity, jnp.zeros(0), 0)


def exact_stop_time(velocity, friction):
    """Along the axes dx/dy = QUICK x / y, and the time is an integral over y."""
    x, y = np.linalg.inv(AXES) @ velocity
    nodes, weights = np.polynomial.legendre.leggauss(200)
    z = 0.5 + 0.5 * nodes
    return y / friction * jnp.sum(0.5 * weights * jnp.sqrt(1.0 + (x / y) ** 2 * z ** (2 * QUICK - 2)))


START, FRICTION, UNTIL = AXES @ np.array([0.5, 1.0]), 1.3, 2.0
RTOL, ATOL = 1e-8, 1e-10  # the last is a tenth of the speed at which the stop is told


def by_replay(start):
    run = simulate(Skate(jnp.asarray(FRICTION)), skate_start(start), UNTIL, engine=EventDriven(rtol=RTOL, atol=ATOL))
    assert [event.name for event in run.events] == ["stops"]
    return lambda velocity, friction: run.replay(Skate(friction), skate_start(velocity)).event_times[0]


def bounded(_):
    def stop_time(velocity, friction):
        start = skate_start(velocity)
        run = simulate_bounded(Skate(friction), start, UNTIL, max_events=1, max_steps=800, rtol=RTOL, atol=ATOL)
        return run.end.t

    return stop_time


@pytest.mark.parametrize("way", [by_replay, bounded])
@pytest.mark.parametrize("differentiate", [jax.jacfwd, jax.jacrev])
def test_the_derivative_of_a_stop_that_steps_ring_about_is_that_of_the_motion(way, differentiate):
    assert_right(differentiate(way(START), (0, 1)), START)


@pytest.mark.parametrize("way", [by_replay, bounded])
def test_the_derivative_of_a_stop_hangs_on_no_last_bits_of_its_start(way):
    for bits in (1e-9, -3e-10, 7e-10):
        start = START * (1.0 + bits)
        assert_right(jax.jacfwd(way(start), (0, 1)), start)


def assert_right(derivatives, start):
    wanted = jax.jacfwd(exact_stop_time, (0, 1))(jnp.asarray(start), jnp.asarray(FRICTION))
    for one, other in zip(derivatives(jnp.asarray(start), jnp.asarray(FRICTION)), wanted, strict=True):
        assert one == pytest.approx(np.asarray(other), rel=1e-4)


@pytest.mark.parametrize("off", [0.0, 5e-4, 2e-3, -2e-3, 2e-2, -2e-2])
def test_the_derivative_of_the_time_to_a_stop_does_not_hang_on_how_near_its_last_direction_is(off):
    def stop_time(velocity):
        return time_to_stop(velocity, brake(FRICTION, velocity)[0], Partial(brake, FRICTION), np.inf)

    velocity = jnp.asarray(NEAR_REST * AXES @ np.array([off, 1.0]))
    wanted = np.asarray(jax.grad(exact_stop_time)(velocity, FRICTION))
    assert jax.jacfwd(stop_time)(velocity) == pytest.approx(wanted, abs=1e-4 * np.abs(wanted).max())


TO_AND_FRO = {
    "radius": 0.024, "gravity": 10.6, "profile.a": 0.0935, "profile.b": 0.034, "turning.amplitude": 0.114,
    "turning.frequency": 3.2, "friction.rolling_shift": 0.35, "start.speed": 0.24, "start.angular_velocity": 6.9,
}  # fmt: skip


@pytest.mark.slow
def test_slip_to_and_fro_on_plates_has_the_same_derivatives_with_any_tolerance():
    def derivatives(rtol, atol):
        scenario = replace_keys(load("butterfly-slip").scenario, {**TO_AND_FRO, "solve.rtol": rtol, "solve.atol": atol})
        run = scenario.simulate()
        assert [event.name for event in run.events][:3] == ["reverses", "reverses", "sticks"]

        def again(speed):
            return run.replay(*replace_keys(scenario, {"start.speed": speed}).build()).event_times

        return jax.jvp(again, (TO_AND_FRO["start.speed"],), (1.0,))[1]

    tight, loose = derivatives(1e-12, 1e-14), derivatives(1e-9, 1e-11)
    assert loose[:3] == pytest.approx(np.asarray(tight[:3]), rel=3e-5)
