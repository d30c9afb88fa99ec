"""The direction of sliding just before a stop was that of a mass still on its way, and forces were off by 1e-3 N."""

import equinox as eqx
import numpy as np
import pytest

import saltus as sl


@pytest.fixture(scope="module")
def run():
    saddle = sl.surfaces.Saddle(0.4, 0.15)
    pair = sl.systems.SlidingMasses(saddle, masses=[1.0, 1.5], rods=[(0, 1)], mu=0.35)
    begin = pair.start(position=[[0.5, 0.1], [-0.1, 0.4]], velocity=[[0.3, 0.8], [0.5, 0.2]], project=True)
    return sl.simulate(pair, begin, until=4.0)


def test_a_mass_stops_along_the_limit_of_its_direction(run):
    stops = [event for event in run.events if event.name == "stop"]
    assert stops
    forces = eqx.filter_jit(run.system.forces)
    for event in stops:
        velocity, acceleration = np.asarray(event.before.v), np.asarray(forces(event.before).acceleration)[:, :2]
        who = [event.index, *(int(i) for i in event.data["together_with"].split(",") if i)]
        v, a = velocity[who].ravel(), acceleration[who].ravel()
        across = a + v / np.linalg.norm(v) * np.linalg.norm(a)
        assert np.linalg.norm(across) < 1e-9 * np.linalg.norm(a)  # -a and v have one direction


def test_forces_tend_to_what_the_record_of_the_stop_says(run):
    event = next(event for event in run.events if event.name == "stop")
    stated = float(sl.simulation.observe(run.system, event.before)["rod_force"][0])
    t = float(event.after.t)
    left = np.array([1e-3, 1e-4, 1e-5, 1e-6])
    seen = [float(sl.simulation.observe(run.system, run.at(t - dt))["rod_force"][0]) for dt in left]
    off = np.abs(np.array(seen) - stated)
    assert (np.diff(off) < 0.0).all() and off[-1] < 0.3 * off[0]
