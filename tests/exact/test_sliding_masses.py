"""Sliding masses against closed forms, balances, and each other's solvers."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.engines import EventDriven, FixedStep
from saltus.engines.batch_constant import run_lanes
from saltus.links import Mobility, Rods
from saltus.links.rods import has_redundant_rods
from saltus.numerics.components import Vec
from saltus.simulation import observe

G = 9.81


def pair(mu=0.0, **options):
    return sl.systems.SlidingMasses(sl.surfaces.Sphere(1.0), [1.0, 1.0], [(0, 1)], mu=mu, **options)


def general_start(system):
    """Two masses in the bowl turning about a skew axis: rigid about the centre, so no rod stretches."""
    angle = np.deg2rad([17.5, 23.6])
    place = np.stack([np.sin(angle), 0 * angle, -np.cos(angle)], axis=1)
    return system.start(place[:, :2], np.cross([0.9, -0.6, 2.2], place)[:, :2])


def total_energy(system, state):
    return sum(float(x) for x in system.energies(state))


def test_frictionless_energy_drifts_less_than_1e_10_over_the_papers_run():
    system = pair()
    start = general_start(system)
    run = sl.simulate(system, start, 10.0, rtol=1e-12, atol=1e-13)
    energies = [total_energy(system, run.at(t)) for t in np.linspace(0.0, 10.0, 11)]
    assert np.ptp(energies) < 1e-10 * abs(energies[0])


def test_energy_lost_is_the_work_of_friction():
    system = pair(mu=0.02)
    start = general_start(system)
    run = sl.simulate(system, start, 30.0, rtol=1e-11, atol=1e-13)
    lost = total_energy(system, start) - total_energy(system, run.end)
    assert lost == pytest.approx(float(run.end.ledger[0]), rel=1e-9)
    assert (np.asarray(run.end.mode) == 2).all() and (np.asarray(run.end.v) == 0.0).all()


def test_rods_keep_their_length_for_many_periods():
    system = pair()
    start = general_start(system)
    run = sl.simulate(system, start, 100.0, rtol=1e-8, atol=1e-10)
    length = float(observe(system, run.end)["rod_length"][0])
    # Without projection the drift would be that of the integrator, about 1e-6 here.
    assert length == pytest.approx(float(start.ledger[1]), rel=1e-12)


@pytest.mark.slow
def test_rods_keep_their_length_over_ten_thousand_periods():
    system = pair()
    start = general_start(system)
    run = sl.simulate(system, start, 2.0e4, rtol=1e-8, atol=1e-10)
    length = float(observe(system, run.end)["rod_length"][0])
    assert length == pytest.approx(float(start.ledger[1]), rel=1e-12)


def test_rk4_has_order_four_and_drifts_in_rod_length_only_by_its_error():
    system = pair()
    start = general_start(system)
    exact = np.asarray(sl.simulate(system, start, 2.0, rtol=1e-13, atol=1e-14).end.q)
    errors = [
        np.abs(np.asarray(sl.simulate(system, start, 2.0, method="rk4", step=h).end.q) - exact).max()
        for h in (0.02, 0.01, 0.005)
    ]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert (np.abs(orders - 4.0) < 0.2).all()


def test_rest_on_a_slope_that_friction_holds_is_exact_and_for_ever():
    plane = sl.surfaces.Plane(-0.5, 0.0)
    system = sl.systems.SlidingMasses(plane, [1.0, 2.0], [(0, 1)], mu=0.6)
    start = system.start([[0.0, 0.0], [0.3, 0.4]])
    end = sl.simulate(system, start, 1e6).end
    assert np.array_equal(np.asarray(end.q), np.asarray(start.q))
    assert np.isnan(float(observe(system, end)["rod_force"][0]))


def test_block_slides_where_friction_cannot_hold_it():
    plane = sl.surfaces.Plane(-0.5, 0.0)
    system = sl.systems.SlidingMasses(plane, [1.0, 2.0], [(0, 1)], mu=0.4)
    start = system.start([[0.0, 0.0], [0.3, 0.4]])
    end = sl.simulate(system, start, 1.0).end
    slope = math.atan(0.5)
    downhill = 0.5 * G * (math.sin(slope) - 0.4 * math.cos(slope))
    # The nudge from rest shifts the motion by 1e-12 s.
    assert float(end.q[0, 0]) == pytest.approx(downhill * math.cos(slope), rel=1e-10)


def test_pair_held_by_one_mass_swings_and_tears_it_loose():
    """A light mass circles a heavy one on a rough plane: the heavy one is held until mu m g < centrifugal pull."""
    plane = sl.surfaces.Plane(0.0, 0.0)
    for speed, mode in ((1.0, 2), (3.0, 0)):
        system = sl.systems.SlidingMasses(plane, [1.0, 5.0], [(0, 1)], mu=[0.0, 0.1])
        start = system.start([[1.0, 0.0], [0.0, 0.0]], [[0.0, speed], [0.0, 0.0]])
        assert int(start.mode[1]) == mode  # pull 1 N against 4.9 N holds; 9 N does not


def test_held_mass_is_released_exactly_when_the_pull_reaches_the_limit():
    """A pendulum on a tilted plane, pivot held by friction: the rod force grows as it swings down."""
    tilt = 0.3
    mu = 0.5
    plane = sl.surfaces.Plane(0.0, tilt)
    system = sl.systems.SlidingMasses(plane, [1.0, 4.0], [(0, 1)], mu=[0.0, mu])
    start = system.start([[1.0, 0.0], [0.0, 0.0]])
    run = sl.simulate(system, start, 2.0, rtol=1e-12, atol=1e-13)
    release = next(event for event in run.events if event.name == "release")
    seen = system.forces(release.before)
    load = float(seen.load.length()[1])
    assert load == pytest.approx(mu * float(seen.normal_force[1]), rel=1e-11)
    # Gravity along the plane at angle phi below the horizontal: tension 3 m g_s sin(phi).
    g_s = G * tilt / math.hypot(1.0, tilt)
    tension = -float(seen.rod_force[0])
    place = np.asarray(observe(system, release.before)["position"])
    sin_phi = -(place[0, 1] - place[1, 1]) * math.hypot(1.0, tilt)
    assert tension == pytest.approx(3.0 * g_s * sin_phi, rel=1e-9)


def test_mass_that_is_torn_loose_slows_down_the_one_that_tears():
    settings = ["solve.rtol=1e-12", "solve.atol=1e-13", "solve.until=1.0"]
    release, stop = sl.scenarios.load("sticking-pair", settings).scenario.simulate().events
    assert (release.name, stop.name) == ("release", "stop")
    # What letting go after ever shorter paths (1e-8 to 1e-14 m) converges to; the error is of third order in time.
    assert stop.t == pytest.approx(0.95022072742186, abs=8e-10)


def test_mass_leaves_a_dome_where_theory_says_and_lands_inelastically():
    system = sl.systems.SlidingMasses(sl.surfaces.Dome(1.0), [1.0], mu=0.0, adhesion=False)
    start = system.start([[0.0, 0.0]], [[0.5, 0.0]])
    run = sl.simulate(system, start, 0.8, rtol=1e-12, atol=1e-13)
    lift = run.events[0]
    assert lift.name == "lift_off"
    cosine = 2.0 / 3.0 + 0.25 / (3.0 * G)
    assert float(lift.before.q[0, 0]) == pytest.approx(math.sin(math.acos(cosine)), rel=1e-11)
    flight = run.at(0.8)
    dt = 0.8 - lift.t
    assert float(flight.q[0, 2]) == pytest.approx(
        float(lift.after.q[0, 2] + lift.after.v[0, 2] * dt) - 0.5 * G * dt**2, rel=1e-11
    )


def test_thrown_mass_lands_on_a_slope_and_loses_its_normal_speed():
    ground = sl.surfaces.Gaussian(0.5, 0.7)
    system = sl.systems.SlidingMasses(ground, [1.0, 2.0], [(0, 1)], mu=0.1, adhesion=False)
    start = system.start([[-1.2, 0.1], [-1.35, -0.2]], [[4.6, 0.08], [4.6, 0.08]], project=True)
    run = sl.simulate(system, start, 1.5, rtol=1e-11, atol=1e-13)
    names = [event.name for event in run.events]
    assert names[0] == "lift_off" and "landing" in names
    landing = next(event for event in run.events if event.name == "landing")
    assert landing.data["energy_loss"] > 0.0
    drift = abs(float(observe(system, run.end)["rod_length"][0]) - float(start.ledger[1]))
    assert drift < 1e-12
    lost = total_energy(system, start) - total_energy(system, run.end)
    assert lost == pytest.approx(float(run.end.ledger[0]), rel=1e-8)


@pytest.mark.parametrize("altitude, tolerance", [(0.0, 1e-9), (3000.0, 1e-6)])
@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.9])
def test_mass_that_bounces_ever_less_slides_on_to_its_stop(restitution, altitude, tolerance):
    """Thrown off a bump onto flat ground: flights without friction to the end of their row, then a slide to the stop.

    The tolerance: a landing is seen a hair (1e-12 of the coordinates) deep, and the last bounces are a few hairs high.
    """
    ground = sl.surfaces.Expression(f"{altitude} + 0.3*exp(-8*x**2 - 8*y**2)")
    system = sl.systems.SlidingMasses(ground, [1.0], mu=0.2, adhesion=False, restitution=restitution)
    run = sl.simulate(system, system.start([[-1.0, 0.0]], [[7.0, 0.0]]), 20.0, rtol=1e-12, atol=1e-13)
    first = next(event for event in run.events if event.name == "landing")
    (x, _, _), (speed, _, closing) = np.asarray(first.before.q[0]), np.asarray(first.before.v[0])
    assert x > 2.5 and closing < -1.0  # where the ground is flat to rounding
    row = 2.0 * restitution * -closing / (G * (1.0 - restitution))
    *_, last, stop = run.events
    assert (last.name, last.data["into"], stop.name) == ("landing", "slip", "stop")
    assert float(last.after.t) == pytest.approx(first.t + row, abs=tolerance)
    assert stop.t == pytest.approx(first.t + row + float(speed) / (0.2 * G), abs=10 * tolerance)
    assert float(run.end.q[0, 0]) == pytest.approx(x + speed * row + speed**2 / (2 * 0.2 * G), abs=100 * tolerance)
    lost = total_energy(system, run.trajectory.start) - total_energy(system, run.end)
    assert lost == pytest.approx(float(run.end.ledger[0]), abs=100 * tolerance)


def test_run_without_an_end_ends_as_the_last_mass_stops():
    system = sl.systems.SlidingMasses(sl.surfaces.Plane(0.0, 0.0), [1.0, 1.0], mu=[0.2, 0.4])
    run = sl.simulate(system, system.start([[0.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [2.0, 0.0]]), math.inf)
    assert run.outcome.name == "at_rest"
    assert float(run.end.t) == pytest.approx(2.0 / (0.2 * G), rel=1e-12) and not np.any(run.end.v)
    assert run.to_dataset(times=5).time[-1] == run.end.t
    smooth = sl.systems.SlidingMasses(sl.surfaces.Plane(0.0, 0.0), [1.0], mu=0.0)
    moving = sl.simulate(smooth, smooth.start([[0.0, 0.0]], [[2.0, 0.0]]), math.inf)
    assert moving.outcome.name == "finished" and "Still moving" in moving.outcome.message


@pytest.mark.parametrize("step", [pytest.param(0.004, marks=pytest.mark.slow), 0.002])
def test_a_mass_that_turns_while_friction_stops_it_is_followed_to_its_rest_with_constant_steps(step):
    # In two dimensions the direction of a sliding mass turns ever faster towards its stop.
    system = sl.systems.SlidingMasses(sl.surfaces.Plane(0.3, 0.0), [1.0], mu=0.4)
    start = system.start([[0.0, 0.0]], [[0.4, 0.7]])
    exact = EventDriven(rtol=1e-12, atol=1e-14).run(system, start, 2.0)
    single = FixedStep(step).run(system, start, 2.0)
    assert [event.name for event in single.events] == [event.name for event in exact.events] == ["stop"]
    # Fourth order: 0.7 m/s over steps that are a hundredth of the time to the stop.
    assert single.events[0].t == pytest.approx(exact.events[0].t, abs=2e-7 * (step / 0.004) ** 4)
    stacked = jax.tree.map(lambda x: x[None], (eqx.filter(system, eqx.is_array), start))
    systems = eqx.combine(stacked[0], system)
    many = run_lanes(systems, stacked[1], lambda system, state: system.places(state).speed, until=2.0, step=step)
    assert int(many.events[0]) == 1 and int(many.state.mode[0, 0]) == 2
    np.testing.assert_allclose(many.state.q[0], single.end.q, atol=1e-9)


def test_mass_that_leaves_over_the_rim_of_the_bowl_ends_the_run_with_its_name():
    system = sl.systems.SlidingMasses(sl.surfaces.Sphere(1.0), [1.0], mu=0.0)
    run = sl.simulate(system, system.start([[0.1, 0.0]], [[6.0, 0.5]]), 3.0)
    assert run.outcome.name == "left_domain" and "mass 0" in run.outcome.message


STEEP = sl.surfaces.Cone(1.5, 0.1)  # a rod across it is within the friction angle of the normals


def test_start_without_unique_accelerations_ends_at_once():
    system = sl.systems.SlidingMasses(STEEP, [1.0, 50.0], [(0, 1)], mu=0.9)
    start = system.start([[0.8, 0.0], [-0.8, 0.0]], [[0.5, 0.0], [0.5, 0.0]])
    assert float(system.denominator(start)) == pytest.approx(-0.09105711008608536, abs=1e-14)
    run = sl.simulate(system, start, 2.0)
    assert run.outcome.name == "ill_posed" and float(run.end.t) == 0.0


def test_loss_of_well_posedness_on_the_way_ends_the_run_where_d_vanishes():
    system = sl.systems.SlidingMasses(STEEP, [1.0, 50.0], [(0, 1)], mu=0.75)
    start = system.start([[0.617, 0.0], [-0.567, 0.1]], [[0.8, -1.9], [-0.5, 0.3]], project=True)
    run = sl.simulate(system, start, 2.0)
    assert float(system.denominator(start)) > 0.01
    assert run.outcome.name == "ill_posed" and 0.0 < float(run.end.t) < 0.5
    assert float(system.denominator(run.end)) == pytest.approx(1e-6, rel=1e-3)


def test_start_at_which_no_reaction_agrees_with_its_friction_ends_at_once():
    system = sl.systems.SlidingMasses(STEEP, [1.0, 50.0], [(0, 1)], mu=0.75)
    position = [[0.45605847, 0.0], [-0.87190522, 0.1]]
    start = system.start(position, [[0.4448916, -0.29800937], [0.00237798, -1.00980845]], project=True)
    for mode, sign in ((0, 1.0), (1, -1.0)):
        tried = eqx.tree_at(lambda s: s.mode, start, jnp.array([mode, 0]))
        assert sign * float(system.forces(tried).normal_force[0]) < -1.0
    assert sl.simulate(system, start, 2.0).outcome.name == "ill_posed"


def _network(pairs, n, seed=0):
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(len(pairs), 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    normal = rng.normal(size=(n, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    c = normal + 0.05 * rng.normal(size=(n, 3))
    unstack = jax.jit(Vec.of)
    mobility = Mobility(jnp.asarray(1.0 / rng.uniform(0.5, 2.0, n)), unstack(normal), unstack(c))
    return unstack(direction), mobility, jnp.asarray(rng.normal(size=(len(pairs), 2)))


def _residual(rods, direction, mobility, b):
    """How far the solution is from pulling the rods as b says, through the masses' answers."""

    @eqx.filter_jit
    def left_over(rods, direction, mobility, b):
        h = rods.solve(direction, mobility, b)
        answer = mobility.answer(rods.pull(h[:, 0], direction))
        return direction.dot(rods.between(answer)) - b[:, 0]

    return np.abs(np.asarray(left_over(rods, direction, mobility, b))).max()


GRAPHS = {
    "one rod": ([(0, 1)], 2),
    "path": ([(i, i + 1) for i in range(30)], 31),
    "path in mixed order": ([(3, 2), (0, 1), (4, 3), (1, 2)], 5),
    "two paths": ([(0, 1), (1, 2), (3, 4)], 5),
    "triangle": ([(0, 1), (1, 2), (2, 0)], 3),
    "star": ([(0, i) for i in range(1, 6)], 6),
    "mesh": (
        [(10 * i + j, 10 * i + j + 1) for i in range(10) for j in range(9)]
        + [(10 * i + j, 10 * i + j + 10) for i in range(9) for j in range(10)],
        100,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_rod_forces_solve_their_equations_for_any_graph(name):
    pairs, n = GRAPHS[name]
    assert _residual(Rods(pairs, n), *_network(pairs, n)) < 1e-9  # conditioning up to 1e5 for the mesh


def test_redundant_rods_are_recognised():
    square = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    assert not has_redundant_rods(square, 4)
    assert has_redundant_rods([*square, (1, 3)], 4)
    assert not has_redundant_rods([(i, i + 1) for i in range(5000)], 5001)


def test_redundant_rods_without_friction_move_as_without_the_redundant_one():
    square = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    place = [[0.3, 0.1], [0.1, 0.4], [-0.3, 0.2], [-0.1, -0.3]]
    bowl = sl.surfaces.Sphere(1.0)
    accelerations = []
    for rods in (square, [*square, (1, 3)]):
        system = sl.systems.SlidingMasses(bowl, [1.0, 2.0, 1.5, 1.0], rods, mu=0.0)
        accelerations.append(np.asarray(system.forces(system.start(place)).acceleration))
    np.testing.assert_allclose(accelerations[0], accelerations[1], atol=1e-11)


def test_redundant_rods_with_friction_on_a_curved_surface_are_refused():
    square = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)]
    system = sl.systems.SlidingMasses(sl.surfaces.Sphere(1.0), np.ones(4), square, mu=0.2)
    with pytest.raises(ValueError, match="1 of the 6 rods are redundant"):
        system.start([[0.3, 0.1], [0.1, 0.4], [-0.3, 0.2], [-0.1, -0.3]])


def test_same_scenario_gives_the_same_bits_and_forces_are_right_at_the_start():
    system = pair(mu=0.02)
    start = general_start(system)
    first, second = (sl.simulate(system, start, 1.0).end for _ in range(2))
    assert np.array_equal(np.asarray(first.q), np.asarray(second.q))
    early = sl.simulate(system, start, 1e-6).end
    assert float(system.forces(start).rod_force[0]) == pytest.approx(float(system.forces(early).rod_force[0]), rel=1e-4)


def test_derivative_of_the_rate_with_respect_to_friction_is_finite_and_right():
    def push(mu):
        system = sl.systems.SlidingMasses(sl.surfaces.Sphere(1.0), [1.0, 1.0], [(0, 1)], mu=jnp.array([mu, mu]))
        state = system.state([[0.3, 0.0], [0.4, 0.1]], [[0.1, 0.5], [0.2, 0.4]])
        return system.forces(state).rod_force[0]

    push = jax.jit(push)
    slope = jax.jit(jax.grad(push))(0.1)
    difference = (push(0.1 + 1e-6) - push(0.1 - 1e-6)) / 2e-6
    assert float(slope) == pytest.approx(float(difference), rel=1e-7)
