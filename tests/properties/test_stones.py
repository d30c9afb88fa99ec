"""Random stones on random ground: they lose energy, stay above the ground, come to an end, and do so twice alike."""

import jax
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import saltus as sl
from saltus.laws.friction import Coulomb
from saltus.laws.impact import Soil
from saltus.shapes import Ellipsoid, Solid
from saltus.surfaces import Terrain
from saltus.systems import BodyOnGround

ENDS = {"at_rest", "left_domain", "several_contacts"}


def ground(rng):
    """A slope of 25 degrees with random hills, about a metre high and ten metres wide."""
    rough = gaussian_filter(rng.normal(size=(24, 40)), 2.0) * 8.0
    x = 5.0 * np.arange(40)
    return Terrain(rough - 0.47 * x, spacing=5.0)


def stone(rng):
    """A stone of random shape, weight, friction and restitution, thrown at random; all of one program."""
    body = Solid(Ellipsoid(rng.uniform(0.2, 0.6, 3)), density=rng.uniform(2000.0, 3000.0))
    system = BodyOnGround(
        ground(rng),
        body,
        Coulomb(rng.uniform(0.3, 0.8)),
        Soil(rng.uniform(0.1, 0.5), rng.uniform(0.3, 0.8), reference_mass=300.0),
        rolling_friction=rng.uniform(0.05, 0.15),
        settle_height=1e-4,
        patience=200.0,
    )
    start = system.start(
        [rng.uniform(10.0, 30.0), rng.uniform(40.0, 70.0)],
        velocity=rng.normal(size=3),
        quaternion=rng.normal(size=4),
        angular_velocity=rng.normal(size=3),
        height=rng.uniform(0.1, 2.0),
    )
    return system, start


@jax.jit
def energy_and_gap(system, states):
    def one(state):
        touch = system.contact_and_forces(state)[0].touch
        return sum(system.energies(state)), touch.gap

    return jax.vmap(one)(states)


def check(seed):
    system, start = stone(np.random.default_rng(seed))
    run = sl.simulate(system, start, np.inf, rtol=1e-7, atol=1e-9)
    assert run.outcome.name in ENDS, (seed, run.outcome)
    # A fixed number of looks, so that all seeds share one program.
    times = np.linspace(0.0, float(run.end.t), 801)
    energy, gap = (np.asarray(part) for part in energy_and_gap(run.system, run.states(times)))
    fall = energy[0] - energy[-1]
    assert np.diff(energy).max() < 1e-6 * fall, seed  # the tolerances promise 1e-7 per step of what is exchanged
    inside = gap[:-1] if run.outcome.name != "at_rest" else gap
    assert inside.min() > -1e-9, seed
    assert all(event.data["energy_loss"] > -1e-9 * fall for event in run.events), seed
    return run


@pytest.mark.slow
def test_random_stones_lose_energy_stay_above_ground_and_come_to_an_end():
    runs = [check(seed) for seed in range(3)]
    assert {run.outcome.name for run in runs} & {"at_rest", "left_domain"}


@pytest.mark.slow
def test_the_same_stone_twice_is_the_same_to_the_last_bit():
    ends = [sl.simulate(*stone(np.random.default_rng(0)), 4.0, rtol=1e-7, atol=1e-9).end for _ in range(2)]
    for one, other in zip(*(jax.tree.leaves(end) for end in ends), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.slow
def test_hundreds_of_random_stones():
    for seed in range(3, 300):
        check(seed)
