"""Bodies in lasting contact once sank into each other in silence, and time went backwards."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import saltus
from saltus import scenarios
from saltus.hybrid import Outcome
from saltus.laws.impact import Newton
from saltus.shapes import Body, Ellipsoid
from saltus.systems import RigidBodies
from saltus.systems.bodies import ahead, schedule
from saltus.systems.bodies.searches import close_pairs

G = 9.81
observe = eqx.filter_jit(RigidBodies.observe)


def ball(height, x=0.0, velocity=(0.0, 0.0, 0.0)):
    return Body(Ellipsoid([0.1, 0.1, 0.1]), density=1000.0, center=[x, 0.0, height], velocity=velocity)


def on_a_floor(bodies, until, restitution=0.3):
    system = RigidBodies(bodies, gravity=(0.0, 0.0, -G), walls=[((0, 0, 1), 0.0)], law=Newton(restitution))
    return saltus.simulate(system, system.start(bodies), until, max_events=1000)


def smallest_gap(run, samples=20):
    times = np.linspace(0.0, float(run.end.t), samples)
    return min(gap for t in times for _, gap, _ in close_pairs(run.system, run.at(t)))


def total_energy(run, t):
    seen = observe(run.system, run.at(t))
    return float(seen["kinetic_energy"] + seen["potential_energy"] + seen["dissipated_energy"])


def check(run, bodies):
    times = [event.t for event in run.events]
    assert run.outcome.name == "finished" and times == sorted(times)
    # The integration in contact keeps gaps to about 1e-12 of the size.
    assert smallest_gap(run) > -1e-12
    lost = total_energy(run, float(run.end.t)) - total_energy(run, 0.0)
    assert abs(lost) < 1e-10 * sum(float(body.mass) for body in bodies) * G


@pytest.fixture(scope="module")
def dropped():
    bodies = [ball(0.1), ball(0.32)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "can_run", lambda system: False)  # by the queue alone: a program less to compile
        return bodies, on_a_floor(bodies, 0.4)


def test_a_ball_dropped_on_a_resting_ball_comes_to_rest_on_it(dropped):
    bodies, run = dropped
    check(run, bodies)
    weight = float(bodies[0].mass) * G
    # The floor carries both balls, the lower ball the upper one.
    forces = np.asarray(run.system.contact_force(run.at(0.39)))
    assert forces == pytest.approx([3.0 * weight, weight], rel=1e-9)


@pytest.mark.slow
def test_a_ball_dropped_between_two_pushes_them_apart_and_lands():
    bodies = [ball(0.1, -0.1001), ball(0.1, 0.1001), ball(0.3)]
    run = on_a_floor(bodies, 0.5)
    check(run, bodies)
    places = np.asarray(run.end.q)[:, 0]
    assert places[0] < -0.1001 and places[1] > 0.1001 and abs(places[0] + places[1]) < 1e-9


@pytest.mark.slow
def test_a_crowd_that_loses_energy_never_overlaps():
    text = """
        kind = "bodies"
        box = { size = [5.4686, 5.4686, 5.4686], periodic = true }
        fill = { shape = { axes = [0.9, 0.6, 0.45] }, count = 32, seed = 2 }
        impact = { restitution = 0.5 }
        solve = { until = 1000.0, max_events = 1500 }
    """
    run = scenarios.loads(text).simulate()
    times = [event.t for event in run.events]
    assert run.outcome.name == "too_many_events" and times == sorted(times)
    names = [event.name for event in run.events]
    assert names.count("contact") > 10 and names.count("release") > 1
    assert min(gap for event in run.events for _, gap, _ in close_pairs(run.system, event.after)) > -1e-12
    data = run.to_dataset(times=200)
    energy = (data["kinetic_energy"] + data["dissipated_energy"]).values
    assert np.ptp(energy) < 1e-11 * energy[0]


def test_an_overlap_ends_the_run_by_name_and_is_no_success(dropped):
    bodies, run = dropped
    start = run.system.start(bodies)
    place = start.q.centre.at[1, 2].add(-0.05)
    velocity = start.v.velocity.at[1, 2].set(1.0)
    sunk = start.replace(q=start.q.replace(centre=place), v=start.v.replace(velocity=velocity))
    ended = saltus.simulate(run.system, sunk, 0.4)
    assert ended.outcome.name == "overlap" and not ended.outcome.ok
    assert "bodies 0 and 1 overlap by 0.03 m" in ended.outcome.message


def test_a_run_that_is_cut_off_is_looked_at_too(dropped, monkeypatch):
    bodies, run = dropped
    told = Outcome("overlap", "Two bodies overlap.")
    monkeypatch.setattr(schedule.Schedule, "judge", lambda *_: told)
    ended = saltus.simulate(run.system, run.system.start(bodies), 0.4, max_events=1)
    assert len(ended.events) == 1 and ended.outcome.name == "overlap"


def test_bodies_that_move_along_together_stay_so():
    bodies = [ball(0.0), ball(0.0, x=0.2)]
    system = RigidBodies(bodies)
    moving = system.start(bodies)
    velocity = moving.v.velocity + jnp.asarray([0.3, 0.2, 0.1])
    moving = moving.replace(v=moving.v.replace(velocity=velocity))
    run = saltus.simulate(system, moving, 1.0)
    assert run.outcome.name == "finished" and [event.name for event in run.events] == ["contact"]
    assert np.asarray(run.end.q)[:, 0] == pytest.approx([0.3, 0.5], abs=1e-14)


@pytest.mark.slow
def test_three_bodies_whose_touches_pile_up_go_on_together():
    # Below e = 7 - 4 sqrt 3 the middle one of three balls in a row bounces for ever in a finite time.
    bodies = [ball(0.0, -0.31, (1.0, 0.0, 0.0)), ball(0.0), ball(0.0, 0.3, (-1.0, 0.0, 0.0))]
    system = RigidBodies(bodies, law=Newton(0.05))
    run = saltus.simulate(system, system.start(bodies), 1.0)
    assert run.outcome.name == "finished"
    assert np.ptp(np.asarray(run.end.v)[:, 0]) < 1e-7
