"""Elastic rods: exact answers, the rigid limit, and energy that never grows."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.engines import time_stepping
from saltus.io import release
from saltus.systems import Raft, SlidingMasses

G = 9.81
LEVEL = sl.surfaces.Plane(0.0, 0.0)


def energy(data):
    return (data.kinetic_energy + data.potential_energy + data.elastic_energy).values


def simulate(raft, position, velocity, until, step):
    return sl.simulate(raft, raft.start(position, velocity), until=until, step=step)


def test_two_masses_on_a_spring_have_the_period_of_the_textbook():
    raft = Raft(LEVEL, [1.0, 3.0], [(0, 1)], mu=0.0, stiffness=12.0)
    rate = math.sqrt(12.0 * (1 + 1 / 3))
    errors = []
    for step in (0.02, 0.01):
        run = simulate(raft, [[0.0, 0.0], [1.0, 0.0]], [[0.3, 0.0], [-0.1, 0.0]], until=3.0, step=step)
        times = np.asarray(run.trajectory.knots.t)
        length = np.linalg.norm(np.diff(np.asarray(run.trajectory.knots.q), axis=1)[:, 0], axis=-1)
        errors.append(np.abs(length - (1.0 - 0.4 / rate * np.sin(rate * times))).max())
    assert errors[1] < 2e-3 and 3.5 < errors[0] / errors[1] < 4.5  # second order


@pytest.mark.slow
def test_a_damped_spring_loses_energy_as_it_should():
    raft = Raft(LEVEL, [1.0, 1.0], [(0, 1)], mu=0.0, stiffness=50.0, damping=0.5)
    run = simulate(raft, [[0.0, 0.0], [1.0, 0.0]], [[0.2, 0.0], [-0.2, 0.0]], until=2.0, step=0.002)
    data = run.to_dataset(times=run.trajectory.knots.t)
    # Stretch falls as exp(-c t / m) for equal masses; the energy twice as fast, on average over a period.
    expected = 0.04 * math.exp(-2 * 0.5 * 2.0)
    assert energy(data)[-1] == pytest.approx(expected, rel=0.05)
    assert np.ptp(energy(data) + data.dissipated_energy.values) < 1e-12


@pytest.mark.parametrize(
    ("stiffness", "mu"),
    [(1e6, 0.3), *(pytest.param(*case, marks=pytest.mark.slow) for case in
                   ((1e2, 0.0), (1e6, 0.0), (1e11, 0.0), (1e2, 0.3), (1e11, 0.3)))],
)  # fmt: skip
def test_energy_never_grows_whatever_the_stiffness(stiffness, mu):
    rng = np.random.default_rng(3)
    x, y = np.meshgrid(np.arange(4.0), np.arange(3.0))
    place = np.stack([x + 0.5 * (y % 2), 0.9 * y], -1).reshape(-1, 2) - [1.5, 0.9]
    pairs = [(i, j) for i in range(12) for j in range(i) if np.linalg.norm(place[i] - place[j]) < 1.2]
    # On a curved surface this raft of 12 masses and 23 rods would be locked if its rods were rigid.
    raft = Raft(sl.surfaces.Paraboloid(0.1, 0.2, 0.3), np.linspace(1, 2, 12), pairs, mu=mu, stiffness=stiffness)
    run = simulate(raft, place, 0.5 * rng.normal(size=(12, 2)), until=4.0, step=0.05)
    assert run.outcome.name == "finished"
    data = run.to_dataset(times=run.trajectory.knots.t)
    # A step leaves at most 1e-9 weights over on each mass: 18 kg over 4 m make 1e-6 J, and rounding of stiff rods.
    allowed = 1e-6 + 1e-14 * stiffness
    assert np.diff(energy(data)).max() < allowed
    assert np.ptp(energy(data) + data.dissipated_energy.values) < 4 * allowed


def test_the_rigid_limit_is_the_rigid_pair():
    bowl = sl.surfaces.Sphere(1.0)
    rigid = SlidingMasses(bowl, [1.0, 5.0], [(0, 1)], mu=0.02)
    start = rigid.start([[0.3, 0.0], [0.4, 0.0]], [[0.0, 1.1], [0.0, 1.5]], project=True)
    exact = sl.simulate(rigid, start, until=2.0)
    raft = Raft(bowl, [1.0, 5.0], [(0, 1)], mu=0.02, stiffness=1e9)
    errors, forces = [], []
    wanted = exact.to_dataset(times=np.linspace(0.2, 2.0, 10))
    for step in (0.02, 0.01):
        run = simulate(raft, start.q, start.v, until=2.0, step=step)
        data = run.to_dataset(times=np.linspace(0.2, 2.0, 10))
        errors.append(np.abs(data.position.values - wanted.position.values).max())
        forces.append(np.abs(data.rod_force.values - wanted.rod_force.values).max())
        assert np.ptp(data.rod_length.values) < 1e-7
    assert errors[1] < 1e-3 and 3.5 < errors[0] / errors[1] < 4.5  # second order in the positions
    assert forces[1] < 0.05 and forces[0] / forces[1] > 1.7  # first order in the forces, of 10 N


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["triangle", "chain"])
def test_the_rigid_limit_is_the_rigid_network(shape):
    if shape == "triangle":
        surface, rods, n = sl.surfaces.Saddle(0.3, 0.2), [(0, 1), (1, 2), (0, 2)], 3
        place, speed = [[0.0, 0.0], [0.4, 0.0], [0.1, 0.35]], [[0.4, 0.2]] * 3
    else:
        surface, n = sl.surfaces.Cosine(0.4, 2.1, 0.3), 6
        rods = [(i, i + 1) for i in range(5)]
        place, speed = [[0.05 * (-1) ** i, 0.3 * i] for i in range(6)], [[0.1, 0.5]] * 6
    rigid = SlidingMasses(surface, np.linspace(1, 2, n), rods, mu=0.05)
    start = rigid.start(place, speed, project=True)
    exact = sl.simulate(rigid, start, until=1.0)
    raft = Raft(surface, np.linspace(1, 2, n), rods, mu=0.05, stiffness=1e9)
    errors = []
    for step in (0.01, 0.005):
        run = simulate(raft, start.q, start.v, until=1.0, step=step)
        errors.append(np.abs(np.asarray(run.end.q) - np.asarray(exact.end.q)).max())
    assert errors[1] < 1e-3 and errors[0] / errors[1] > 3.3


def test_a_raft_on_a_slope_sticks_to_the_bit_or_slides_as_a_block():
    place = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.8]]
    pairs = [(0, 1), (1, 2), (0, 2)]
    slope = sl.surfaces.Plane(-0.5, 0.0)
    held = Raft(slope, [1.0, 2.0, 3.0], pairs, mu=0.6, stiffness=1e5)
    run = simulate(held, place, None, until=10.0, step=0.01)
    assert (np.asarray(run.end.q) == np.asarray(place)).all() and run.outcome.name == "finished"
    assert (np.asarray(run.end.mode)[:3] == 2).all()
    slides = Raft(slope, [1.0, 2.0, 3.0], pairs, mu=0.2, stiffness=1e5)
    run = simulate(slides, place, None, until=2.0, step=0.01)
    path = 0.5 * G * 0.3 / 1.25 * 2.0**2
    # Constant acceleration is exact for the scheme, but for the first step from rest and what a step leaves over.
    np.testing.assert_allclose(np.asarray(run.end.q)[:, 0] - np.asarray(place)[:, 0], path, atol=1e-6)


def test_sliding_masses_come_to_rest_where_they_should():
    raft = Raft(LEVEL, [1.0, 1.0], [(0, 1)], mu=0.4, stiffness=1e6)
    run = simulate(raft, [[0.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [2.0, 0.0]], until=math.inf, step=0.01)
    assert run.outcome.name == "at_rest"
    # v² / (2 mu g); the stop is found to within a step: v dt of the last one, mu g dt² / 2.
    np.testing.assert_allclose(np.asarray(run.end.q)[:, 0], 4.0 / (2 * 0.4 * G), atol=4e-4)


def test_a_rod_breaks_when_its_force_exceeds_its_strength():
    weight = 2.0 * G * 0.5 / math.sqrt(1.25)  # of the lower mass along the slope
    slope = sl.surfaces.Plane(-0.5, 0.0)
    place = [[0.0, 0.0], [1.0, 0.0]]
    for strength, breaks in ((2.1 * weight, False), (1.5 * weight, True)):
        # Let go, the lower mass swings about the new length: the force goes up to twice the weight.
        raft = Raft(slope, [50.0, 2.0], [(0, 1)], mu=[0.9, 0.0], stiffness=2e4, strength=strength)
        run = simulate(raft, place, None, until=1.0, step=0.001)
        data = run.to_dataset(times=201)
        assert [event.name for event in run.events] == (["rod_broken"] if breaks else [])
        assert np.asarray(run.end.q)[0].tolist() == [0.0, 0.0]
        assert np.diff(energy(data)).max() < 1e-6
    assert strength < -run.events[0].data["rod_force"] < 1.1 * strength  # found at the end of a step
    t = run.events[0].t
    assert data.rod_whole.values[-1, 0] == 0 and data.rod_force.values[-1, 0] == 0.0
    assert float(data.event_energy_loss[0]) == pytest.approx(strength**2 / 2 / 2e4, rel=0.1)
    free = 1.0 - t
    assert float(run.end.v[1, 0]) == pytest.approx(float(run.at(t).v[1, 0]) + G * 0.5 / 1.25 * free, abs=1e-8)


@pytest.mark.slow
def test_a_mass_that_leaves_the_surface_is_gone_and_the_others_go_on():
    slope = sl.surfaces.synthetic.inclined_plane(0.5, 10.0, length=60.0, width=60.0)
    raft = Raft(slope, [1.0, 1.0, 1.0], [(0, 1), (1, 2)], mu=[0.0, 0.9, 0.9], stiffness=0.1)
    run = simulate(raft, [[40.0, 0.0], [30.0, 0.0], [20.0, 0.0]], [[20.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
                   until=6.0, step=0.01)  # fmt: skip
    assert run.outcome.name == "finished"
    names = [(event.name, event.index) for event in run.events]
    assert ("left_domain", 0) in names and ("rod_lost", 0) in names and ("rod_lost", 1) not in names
    data = run.to_dataset(times=run.trajectory.knots.t)
    assert float(data.position[-1, 0, 0]) == pytest.approx(60.0, abs=0.3)  # a step at 25 m/s
    assert data.mode.values[-1].tolist() == [4, 2, 2] and data.rod_whole.values[-1].tolist() == [0, 1]
    assert np.diff(energy(data)).max() < 1e-7
    assert np.ptp(energy(data) + data.dissipated_energy.values) < 1e-6


@pytest.mark.slow
def test_states_between_steps_are_those_of_a_shorter_step():
    raft = Raft(sl.surfaces.Plane(-0.3, 0.0), [1.0, 1.0], [(0, 1)], mu=0.0, stiffness=1e3)
    run = simulate(raft, [[0.0, 0.0], [1.0, 0.0]], None, until=1.0, step=0.1)
    x = np.asarray(run.states(np.array([0.25, 0.3, 0.77])).q)[:, 0, 0]
    times = np.array([0.25, 0.3, 0.77])
    np.testing.assert_allclose(x, 0.5 * G * 0.3 / 1.09 * times**2, atol=1e-8)


@pytest.mark.slow
def test_a_thousand_masses_slide_break_up_and_lose_energy_only():
    x, y = np.meshgrid(np.arange(121) * 20.0, np.arange(61) * 20.0)
    ground = 600 * np.exp(-x / 600) + (y - 600) ** 2 / 1500 + 8 * np.sin(x / 70) * np.sin(y / 60)
    place = release.lattice(np.array([150.0, 440.0]), np.array([470.0, 760.0]), 10.0, "triangular")
    pairs = release.neighbours(place, 11.0)
    assert len(place) > 1000 and len(pairs) > 3000
    raft = Raft(sl.surfaces.Terrain(ground, 20.0), np.full(len(place), 1e5), pairs, mu=0.3, stiffness=1e8,
                damping=1e5, strength=8e5)  # fmt: skip
    run = simulate(raft, place, None, until=5.0, step=0.02)
    assert run.outcome.name == "finished" and {event.name for event in run.events} == {"rod_broken"}
    data = run.to_dataset(times=run.trajectory.knots.t[::10])
    assert np.diff(energy(data)).max() < 0.0
    assert sl.diagnostics.energy_balance(data).relative < 1e-9
    assert all(abs(event.data["rod_force"]) > 8e5 for event in run.events)


def test_steps_of_many_rafts_at_once_are_the_steps_one_by_one():
    raft = Raft(sl.surfaces.Plane(-0.2, 0.0), [1.0, 1.0], [(0, 1)], mu=0.3, stiffness=1e3, strength=6.0)
    start = raft.start([[0.0, 0.0], [1.0, 0.0]], [[3.0, 0.0], [2.0, 0.5]])

    def one(mu):
        system = eqx.tree_at(lambda system: system.mu, raft, mu)
        return system.change(system.advance(start, 0.01)[0])

    mus = jnp.array([[0.3, 0.3], [0.1, 0.4]])
    together = jax.jit(jax.vmap(one))(mus)
    for k, mu in enumerate(mus):
        alone = jax.jit(one)(mu)
        # Compiled differently, so the last bits differ, and the solver stops within 1e-9 weights.
        np.testing.assert_allclose(together.q[k], alone.q, atol=1e-9)
        assert (np.asarray(together.mode[k]) == np.asarray(alone.mode)).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stiffness": 0.0}, "`stiffness` must be > 0"),
        ({"damping": -1.0}, "`damping` must be >= 0"),
        ({"strength": 0.0}, "`strength` must be > 0"),
        ({"stiffness": [1.0, 2.0]}, "`stiffness` must be one number or 1"),
        ({"rods": [(0, 0)]}, "joins mass 0 to itself"),
        ({"mu": [0.1]}, "`mu` must be one number or 2"),
    ],
)
def test_wrong_rafts_are_refused_with_the_value(change, words):
    given = {"masses": [1.0, 1.0], "rods": [(0, 1)], "mu": 0.1, "stiffness": 1.0} | change
    with pytest.raises(ValueError, match="^[^\n]+$") as caught:
        Raft(LEVEL, given.pop("masses"), given.pop("rods"), **given)
    assert words in str(caught.value)


def test_nothing_compiles_again_when_only_numbers_change():
    def run(mu, until, step):
        raft = Raft(LEVEL, [1.0, 2.0], [(0, 1)], mu=mu, stiffness=20.0)
        simulate(raft, [[0.0, 0.0], [1.0, 0.0]], [[0.1, 0.0], [0.3, 0.0]], until=until, step=step)

    run(0.1, 0.1, 0.01)
    before = time_stepping._march.plain._cached._cache_size()
    run(0.2, 0.173, 0.005)  # other numbers of steps, and a shorter one at the end
    assert time_stepping._march.plain._cached._cache_size() == before
