"""`simulate_bounded`: the run of `simulate` inside jit, vmap and grad."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import own

import saltus as sl
from saltus.hybrid import simulate_bounded

BALL = own.ball()
BOUNDS = {"max_events": 6, "max_steps": 48}


def bounced(e, height=1.0, until=3.0):
    ball = BALL.with_parameters({"e": e})
    return simulate_bounded(ball, BALL.start({"height": height}), until, **BOUNDS)


def height(e, until=3.0):
    return BALL.tree(bounced(e, until=until).end)["height"]


slopes_of_height = jax.jit(jax.grad(height, argnums=(0, 1)))


def closed_form(e, t=3.0, g=9.81, n=4):
    t0, v0 = np.sqrt(2 / g), np.sqrt(2 * g)
    tau = t - t0 * (1 + 2 * sum(e**k for k in range(1, n)))
    return e**n * v0 * tau - g * tau**2 / 2


def test_events_and_end_are_those_of_a_run():
    run, found = sl.simulate(BALL, BALL.start(), until=3.0), jax.jit(bounced)(0.9)
    assert bool(found.complete) and int(found.n_events) == len(run.events) == 4
    np.testing.assert_allclose(found.event_times[:4], [event.t for event in run.events], rtol=1e-15)
    assert np.isinf(found.event_times[4:]).all() and found.event_guards.tolist() == [0, 0, 0, 0, -1, -1]
    np.testing.assert_allclose(found.end.q, run.end.q, atol=1e-13)  # another program: rounding of speeds of 4 m/s
    np.testing.assert_allclose(found.after.q[:4, 1], [event.after.q[1] for event in run.events], rtol=1e-13)


def test_derivatives_forwards_backwards_and_of_many_are_those_of_the_closed_form():
    h = 1e-5
    slope = (closed_form(0.9 + h) - closed_form(0.9 - h)) / (2 * h)
    assert float(slopes_of_height(0.9, 3.0)[0]) == pytest.approx(slope, rel=1e-8)
    assert float(jax.jit(jax.jacfwd(height))(0.9)) == pytest.approx(slope, rel=1e-8)
    e = jnp.array([0.9, 0.88])
    slopes = [(closed_form(x + h) - closed_form(x - h)) / (2 * h) for x in (0.9, 0.88)]
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(height)))(e), slopes, rtol=1e-8)


def test_the_derivative_by_the_end_is_the_speed_there():
    assert float(slopes_of_height(0.9, 3.0)[1]) == pytest.approx(float(jax.jit(bounced)(0.9).end.q[1]), rel=1e-12)


def test_a_bound_that_is_met_is_told():
    found = jax.jit(bounced)(0.5)
    assert not bool(found.complete) and int(found.n_events) == 6


def test_modes_and_a_guard_that_ends_the_run():
    mass = own.stick_slip()
    found = jax.jit(lambda t: simulate_bounded(mass, mass.start(), t, max_events=8, max_steps=200))(20.0)
    run = sl.simulate(mass, mass.start(), until=20.0)
    assert int(found.n_events) == len(run.events)
    np.testing.assert_allclose(found.end.q, run.end.q, atol=1e-12)
    assert int(found.end.mode) == int(run.end.mode)


def test_events_at_one_instant_all_fire():
    beads = own.beads()
    start = beads.start({"x": jnp.ones(3), "v": jnp.zeros(3)})
    found = jax.jit(lambda: simulate_bounded(beads, start, 0.6, max_events=5, max_steps=40))()
    assert found.event_indices.tolist() == [0, 1, 2, -1, -1]
    run = sl.simulate(beads, start, until=0.6)
    np.testing.assert_allclose(found.end.q, run.end.q, rtol=1e-13)


@pytest.mark.parametrize("bad", [{"max_events": 0}, {"max_steps": 2.5}, {"method": "rk4"}])
def test_bounds_that_make_no_sense_are_refused(bad):
    with pytest.raises(ValueError):
        simulate_bounded(BALL, BALL.start(), 1.0, **{"max_events": 3, **bad})
