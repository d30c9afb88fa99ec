"""A load that leaves a shaken table landed 3e-8 s later: its gap grows with the cube of the time, from rounding."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.engines.search import earliest_event
from saltus.hybrid import Guard, simulate_bounded, simulate_many

W, G = 30.0, 9.81

LOAD = sl.hybrid.system(
    {
        "held": lambda t, y, p: jnp.stack([p["A"] * W * jnp.cos(W * t), -p["A"] * W**2 * jnp.sin(W * t)]),
        "flight": lambda t, y, p: jnp.stack([y[1], -G]),
    },
    jnp.array([0.0, 0.6]),
    [
        Guard("lifts", lambda t, y, p: G - p["A"] * W**2 * jnp.sin(W * t), armed="held", to="flight"),
        Guard("lands", lambda t, y, p: y[0] - p["A"] * jnp.sin(W * t), armed="flight", ends="finished"),
    ],
    parameters={"A": 0.02},
)
AMPLITUDES = [0.0133, 0.017, 0.02, 0.0231, 0.027]


def flight(amplitude):
    """When the load is thrown and when it lands, by bisection [s]."""
    lifts = np.arcsin(G / (amplitude * W**2)) / W
    height, speed = amplitude * np.sin(W * lifts), amplitude * W * np.cos(W * lifts)
    tau = np.linspace(1e-3, 0.5, 4000)

    def gap(tau):
        return height + speed * tau - G * tau**2 / 2 - amplitude * np.sin(W * (lifts + tau))

    low, high = next((a, b) for a, b in itertools.pairwise(tau) if gap(a) > 0.0 >= gap(b))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gap(middle) > 0.0 else (low, middle)
    return lifts, lifts + low


@pytest.mark.parametrize("amplitude", AMPLITUDES)
def test_a_load_lands_after_its_flight(amplitude):
    load = LOAD.with_parameters({"A": amplitude})
    run = sl.simulate(load, load.start(jnp.array([0.0, amplitude * W])), until=1.0, rtol=1e-12, atol=1e-14)
    assert [event.name for event in run.events] == ["lifts", "lands"]
    np.testing.assert_allclose([event.t for event in run.events], flight(amplitude), rtol=1e-9)


def test_so_do_many_at_once():
    # Of the 500 rounding made nine land at once.
    amplitudes = np.concatenate([AMPLITUDES, np.linspace(0.0115, 0.03, 500)])
    n = len(amplitudes)
    starts = sl.hybrid.State(
        jnp.zeros(n), jnp.stack([jnp.zeros(n), amplitudes * W], 1), jnp.zeros((n, 0)), jnp.zeros((n, 0)),
        jnp.zeros(n, int),
    )  # fmt: skip
    many = simulate_many(LOAD, starts, 1.0, parameters={"A": amplitudes.tolist()}, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(many.last_event, [flight(one)[1] for one in amplitudes], rtol=1e-9)


def test_so_do_those_inside_a_program():
    @jax.jit
    def landing(amplitude):
        load = LOAD.with_parameters({"A": amplitude})
        start = load.start(jnp.stack([0.0, amplitude * W]))
        return simulate_bounded(load, start, 1.0, max_events=3, max_steps=64, rtol=1e-12, atol=1e-14).event_times[:2]

    for amplitude in AMPLITUDES:
        np.testing.assert_allclose(landing(amplitude), flight(amplitude), rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-13])
def test_a_dip_of_a_guard_of_small_numbers_is_no_rounding(scale):
    def look(fraction):
        return scale * jnp.sin(2.2 * jnp.pi * fraction)[None], fraction[None]

    found = earliest_event(look, jnp.array([True]), jnp.asarray(1e-15))
    assert found.event
    np.testing.assert_allclose(found.fraction, 1.0 / 2.2, rtol=1e-14)
