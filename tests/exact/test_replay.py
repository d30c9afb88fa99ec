"""Derivatives of a run's end with respect to its numbers, through events, against exact ones."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from tests import toys

import saltus as sl
from saltus.laws import friction
from saltus.scenarios.replace import replace_keys

TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def test_height_after_two_bounces_depends_on_everything_as_the_exact_solution_does():
    def exact(restitution, gravity, height):
        flight = jnp.sqrt(2 * height / gravity)
        speed = restitution**2 * gravity * flight
        t = 2.0 - flight * (1 + 2 * restitution)
        return speed * t - gravity * t**2 / 2

    numbers = jnp.array([0.8, 9.81, 2.0])

    def start(height):
        return sl.hybrid.State.of(q=height[None], v=[0.0])

    system = toys.ball(0.8)
    run = sl.simulate(system, start(numbers[2]), 2.0, **TIGHT)
    assert [event.name for event in run.events] == ["floor", "floor"]

    def replayed(numbers):
        return run.replay(toys.BouncingBall(numbers[0], numbers[1], True), start(numbers[2])).end.q[0]

    expected = jax.grad(lambda numbers: exact(*numbers))(numbers)
    for slope in (jax.grad(replayed)(numbers), jax.jacfwd(replayed)(numbers)):
        assert jnp.allclose(slope, expected, rtol=1e-10)  # exact up to rounding: parabolas, and 1e-13 in the events


@pytest.mark.slow
def test_distance_to_the_stop_of_a_sliding_mass_falls_as_one_over_friction():
    def system(mu):
        return sl.systems.SlidingMasses(sl.surfaces.Plane(0.0, 0.0), [2.0], mu=mu)

    ours = system(0.3)
    run = sl.simulate(ours, ours.start([[0.0, 0.0]], [[1.5, 0.0]]), 2.0, **TIGHT)
    assert run.events[-1].name == "stop"

    def end(mu):
        played = run.replay(system(mu))
        return jnp.array([played.end.q[0, 0], played.event_times[-1]])

    distance, time = 1.5**2 / (2 * 0.3 * 9.81), 1.5 / (0.3 * 9.81)
    # The mass counts as stopped at 1e-9 m/s and is carried on from there, which costs some digits.
    assert jnp.allclose(jax.jacrev(end)(0.3), -jnp.array([distance, time]) / 0.3, rtol=1e-6)


@pytest.mark.slow
def test_time_at_which_a_sliding_ball_begins_to_roll_falls_as_one_over_friction():
    def system(mu):
        return sl.systems.BallOnPlane(1.0, 0.1, friction.Coulomb(mu))

    ours = system(0.2)
    run = sl.simulate(ours, ours.start([1.0, 0.0]), 1.0, **TIGHT)
    rolls = 2 * 1.0 / (7 * 0.2 * 9.81)
    assert run.events[0].t == pytest.approx(rolls, rel=1e-9)
    slope = jax.grad(lambda mu: run.replay(system(mu)).event_times[0])(0.2)
    assert slope == pytest.approx(-rolls / 0.2, rel=1e-6)


@pytest.mark.slow
def test_time_in_which_a_chain_leaves_the_table_falls_as_the_root_of_gravity():
    chain = sl.systems.Chain(3, gravity=2.0, ends_off_table=True)
    run = sl.simulate(chain, chain.start(0.3), math.inf, **TIGHT)

    def leaves(gravity):
        return run.replay(eqx.tree_at(lambda c: c.gravity, chain, gravity)).end.t

    # Scaling of time: t ~ gravity^(-1/2), exactly, jerks and all.
    assert jax.grad(leaves)(jnp.asarray(2.0)) == pytest.approx(-float(run.end.t) / 4.0, rel=1e-6)


def test_run_whose_events_pile_up_cannot_be_replayed():
    system = toys.ball(0.5)
    run = sl.simulate(system, sl.hybrid.State.of(q=[1.0], v=[0.0]), 5.0)
    with pytest.raises(ValueError, match="pile up"):
        run.replay()


def test_states_on_the_way_depend_on_the_numbers_as_the_exact_solution_does():
    def exact(restitution, gravity, height):
        flight = jnp.sqrt(2 * height / gravity)
        t = 0.9 - flight  # after the first bounce, before the second
        return jnp.stack([height - gravity * 0.4**2 / 2, restitution * gravity * flight * t - gravity * t**2 / 2])

    numbers = jnp.array([0.8, 9.81, 2.0])

    def start(height):
        return sl.hybrid.State.of(q=height[None], v=[0.0])

    run = sl.simulate(toys.ball(0.8), start(numbers[2]), 2.0, **TIGHT)

    def replayed(numbers):
        system = toys.BouncingBall(numbers[0], numbers[1], True)
        return run.replay(system, start(numbers[2]), times=[0.9, 0.4]).states.q[::-1, 0]

    assert jnp.allclose(replayed(numbers), run.states([0.4, 0.9]).q[:, 0], rtol=1e-13)
    expected = jax.jacfwd(lambda numbers: exact(*numbers))(numbers)
    for slope in (jax.jacrev(replayed)(numbers), jax.jacfwd(replayed)(numbers)):
        assert jnp.allclose(slope, expected, rtol=1e-10)  # parabolas: exact up to rounding


def test_states_after_events_are_those_of_the_run():
    run = sl.simulate(toys.ball(0.8), sl.hybrid.State.of(q=[2.0], v=[0.0]), 2.0, **TIGHT)
    again = run.replay()
    assert jnp.allclose(again.after.v[:, 0], jnp.array([event.after.v[0] for event in run.events]), rtol=1e-13)
    assert jnp.allclose(again.event_times, jnp.array([event.t for event in run.events]), rtol=1e-13)
    with pytest.raises(ValueError, match="not all within the run"):
        run.replay(times=[2.5])


@pytest.mark.slow
def test_collisions_are_differentiated_backwards_as_forwards():
    scenario = sl.scenarios.load("ellipsoids", ["impact.restitution=0.8"]).scenario
    run = scenario.simulate()

    def speeds(x):
        keys = ("impact.restitution", "bodies.0.shape.axes.0", "bodies.1.center.2")
        again = run.replay(*replace_keys(scenario, dict(zip(keys, x, strict=True))).build(), times=[2.9])
        return jnp.append(again.end.v[:, :6], again.event_times), again.states

    x = jnp.array([0.8, 2.0, -4.223])
    forward, states = jax.jacfwd(speeds, has_aux=True)(x)
    backward, _ = jax.jacrev(speeds, has_aux=True)(x)
    assert jnp.allclose(forward, backward, rtol=1e-11, atol=1e-11)  # two orders of the same sums
    assert jnp.allclose(states.q[0], run.at(2.9).q, atol=1e-13)


@pytest.mark.slow
def test_bodies_that_stay_in_contact_cannot_be_replayed():
    run = sl.scenarios.load("bouncing-egg", ["solve.until=1.6"]).scenario.simulate()
    with pytest.raises(ValueError, match="stay in contact.*'contact' at t = 1.50345"):
        run.replay()
