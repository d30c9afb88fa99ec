"""A die on a floor once stalled while it rocked on its face, or rocked and turned for ever; now it comes to rest."""

import numpy as np
import pytest

import saltus
from saltus.laws.impact import Stronge
from saltus.shapes import Body, Superellipsoid
from saltus.systems import RigidBodies
from saltus.systems.bodies import ahead

G, HALF = 9.81, 0.01
REST = RigidBodies.mode_names.index("rest")


def die(tilt=0.0, height=HALF, x=0.0, **motion):
    motion = {"quaternion": [np.cos(tilt / 2.0), np.sin(tilt / 2.0), 0.0, 0.0], **motion}
    return Body(Superellipsoid([HALF] * 3, 8.0), density=1000.0, center=[x, 0.0, height], **motion)


def thrown(bodies, mu=0.3, until=1.0, restitution=0.4, **settings):
    law = Stronge(restitution, mu)
    system = RigidBodies(bodies, gravity=(0.0, 0.0, -G), walls=[((0, 0, 1), 0.0)], law=law, **settings)
    return saltus.simulate(system, system.start(bodies), until)


def names(run):
    return [event.name for event in run.events]


def check_balance(run):
    data = run.to_dataset(times=20)
    energy = (data["kinetic_energy"] + data["potential_energy"] + data["dissipated_energy"]).values
    assert np.ptp(energy) < 1e-10 * energy[0] and float(data["gap"].min()) > -1e-13


@pytest.fixture(scope="module")
def dropped():
    # Dropped so that it rocks a little and slides, turning.
    return thrown([die(0.05, 0.0108, velocity=[0.1, 0.0, 0.0], angular_velocity=[0.0, 0.0, 5.0])], restitution=0.1)


@pytest.mark.slow
def test_a_die_that_rocks_slides_and_turns_comes_to_rest(dropped):
    assert dropped.outcome.name == "finished" and {"clap", "lie"} <= {*names(dropped)}
    assert names(dropped)[-1] == "rest" and int(dropped.end.mode[0]) == REST
    motion = np.asarray(dropped.end.v)[0]
    weight = float(dropped.system.stock.mass[0]) * G
    assert not motion[:6].any() and motion[6] == pytest.approx(weight, rel=1e-12)
    check_balance(dropped)


@pytest.mark.slow
def test_slip_and_turning_of_a_lying_die_end_together_and_by_friction_alone(dropped):
    lies, rests = (next(event for event in dropped.events if event.name == name) for name in ("lie", "rest"))
    face = lies.after
    before, after = (dropped.system.observe(dropped.at(t)) for t in (float(face.t), rests.t))
    # Friction takes what the body had: mu times its weight times the way of the spot.
    assert float(after["kinetic_energy"]) == 0.0 and float(before["kinetic_energy"]) > 1e-9
    late = np.asarray(dropped.at(rests.t - 1e-7).v)[0]
    assert np.linalg.norm(late[:3]) > 0.0 and abs(late[5]) > 0.0


def test_a_die_on_ice_lies_down_and_slides_on(monkeypatch):
    monkeypatch.setattr(ahead, "can_run", lambda system: False)  # by the queue alone: a program less to compile
    run = thrown([die(0.01, 0.0102, velocity=[0.1, 0.0, 0.0])], mu=0.0, restitution=0.02, until=0.2)
    assert run.outcome.name == "finished" and "clap" in names(run) and names(run)[-1] == "lie"
    assert np.asarray(run.end.v)[0, 0] == pytest.approx(0.1, rel=1e-9)
    check_balance(run)


@pytest.mark.slow
def test_a_resting_die_that_is_hit_moves_again():
    run = thrown([die(), die(x=0.05, velocity=[-0.8, 0.0, 0.0])], until=0.1)
    assert names(run).index("rest") < names(run).index("impact")
    assert np.asarray(run.end.q)[0, 0] < -1e-3
    check_balance(run)


@pytest.mark.slow
def test_a_thrown_die_comes_to_rest():
    motion = {"velocity": [0.5, 0.1, 0.0], "angular_velocity": [10.0, 20.0, -5.0], "quaternion": [0.9, 0.3, 0.2, 0.1]}
    run = thrown([die(0.0, 0.1, **motion)], until=2.0)
    assert run.outcome.name == "finished" and int(run.end.mode[0]) == REST
    check_balance(run)
