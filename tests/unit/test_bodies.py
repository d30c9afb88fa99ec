"""Systems of rigid bodies: what happens at a touch, what is conserved, what is refused."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

import saltus
from saltus import contacts, scenarios
from saltus.errors import ScenarioError
from saltus.laws.impact import Newton
from saltus.shapes import Ball, Body, Ellipsoid, Superellipsoid
from saltus.systems import RigidBodies
from saltus.systems.bodies import scatter

CASES = json.loads((Path(saltus.__file__).parent / "validation/cases/impact.json").read_text())["cases"]


def ellipsoids_in_paradox():
    """Two ellipsoids that touch in paradox, which was thought to be impossible."""
    case = next(case for case in CASES if case["id"].startswith("par-EE"))
    return [
        Body(
            Ellipsoid(given["shape"]["axes"]),
            density=1.0,
            center=given["center"],
            velocity=given["velocity"],
            quaternion=given["quaternion"],
            angular_velocity=given["omega"],
        )
        for given in (case["input"]["body1"], case["input"]["body2"])
    ]


def run_of(bodies, until, **options):
    system = RigidBodies(bodies, **options)
    return saltus.simulate(system, system.start(bodies), until)


def energy_and_momenta(run, t):
    bodies = run.system.bodies(run.at(t))
    energy = sum(float(body.kinetic_energy()) for body in bodies)
    momentum = sum(np.asarray(body.mass * body.velocity) for body in bodies)
    angular = sum(np.asarray(body.angular_momentum()) + _orbital(body) for body in bodies)
    return energy, momentum, angular


def _orbital(body):
    return np.cross(body.center, body.mass * body.velocity)


def test_sustained_contact_resolves_a_paradox_and_conserves_everything():
    run = run_of(ellipsoids_in_paradox(), 0.5)
    assert [event.name for event in run.events][:2] == ["paradox", "release"]
    released = run.events[1].t
    before, after = energy_and_momenta(run, 0.0), energy_and_momenta(run, 0.5)
    # The contact force does no work; 1e-11 is the tolerance of the integration in contact.
    assert after[0] == pytest.approx(before[0], rel=1e-11)
    assert np.abs(after[1] - before[1]).max() < 1e-11 and np.abs(after[2] - before[2]).max() < 1e-10
    forces = np.asarray(run.system.contact_force(run.states(np.linspace(0.0, released, 12)[1:-1])))
    assert (forces[:, 0] > 0.0).all() and np.allclose(forces[:, 0], forces[:, 1], rtol=0, atol=0)
    rate = run.events[0].data["force_rate"]
    early = float(run.system.contact_force(run.at(1e-4 * released))[0])
    assert early == pytest.approx(rate * 1e-4 * released, rel=1e-2)  # the force sets in linearly


@pytest.mark.slow
def test_bodies_pass_through_each_other_if_asked_to():
    run = run_of(ellipsoids_in_paradox(), 0.5, paradox="pass")
    assert run.events[0].name == "paradox"
    # Nothing acts; rounding of the angular velocity's way to the body and back.
    assert np.abs(run.events[0].before.v - run.events[0].after.v).max() < 1e-14
    assert not np.asarray(run.system.contact_force(run.states([0.01, 0.1]))).any()


def test_a_run_stops_at_a_paradox_if_asked_to():
    run = run_of(ellipsoids_in_paradox(), 0.5, paradox="stop")
    assert run.outcome.name == "paradox" and not run.outcome.ok
    assert "sustain" in run.outcome.message and float(run.end.t) == 0.0


def test_a_dropped_ball_bounces_at_the_exact_times_and_comes_to_rest():
    height, restitution, g = 0.5, 0.5, 9.81
    ball = [Body(Ball(0.1), center=[0.0, 0.0, height + 0.1])]
    fall = np.sqrt(2.0 * height / g)
    run = run_of(ball, 1.5, gravity=(0.0, 0.0, -g), walls=[((0, 0, 1), 0.0)], law=Newton(restitution))
    wanted = fall + np.concatenate([[0.0], np.cumsum(2.0 * fall * restitution ** np.arange(1, 10))])
    assert [event.t for event in run.events[:10]] == pytest.approx(wanted, rel=1e-12)
    rest = run.events[-1]
    # Bounces pile up at the limit of the series. Slower ones than 3e-7 m/s rise less than rounding tells.
    assert rest.name == "contact" and rest.t == pytest.approx(fall * 3.0, abs=2e-7)
    lost = float(run.end.ledger[0])
    assert lost == pytest.approx(float(ball[0].mass) * g * height, rel=1e-12)
    weight = float(ball[0].mass) * g
    assert float(run.system.contact_force(run.at(1.4))[0]) == pytest.approx(weight, rel=1e-12)


def test_a_box_is_filled_with_bodies_of_the_mass_that_is_given():
    text = """
        kind = "bodies"
        box = { size = [5.0, 5.0, 5.0] }
        fill = { shape = { axes = [0.9, 0.6, 0.45] }, count = 2, mass = 7.0 }
        solve = { until = 1.5 }
    """
    system, _ = scenarios.loads(text).build()
    assert np.asarray(system.stock.mass) == pytest.approx(7.0, rel=1e-14)


@pytest.fixture(scope="module")
def box():
    text = """
        kind = "bodies"
        box = { size = [6.0, 6.0, 6.0] }
        fill = { shape = { axes = [0.9, 0.6, 0.45] }, count = 16, seed = 4 }
        solve = { until = 1.5 }
    """  # as many bodies as in the box of the catalogue: one program for both
    scenario = scenarios.loads(text)
    return scenario, scenario.simulate()


def test_a_box_of_ellipsoids_keeps_its_energy(box):
    _, run = box
    assert len(run.events) > 10 and {event.name for event in run.events} == {"impact"}
    before, after = energy_and_momenta(run, 0.0), energy_and_momenta(run, 1.5)
    assert after[0] == pytest.approx(before[0], rel=1e-13)
    assert all(event.data["impulse"] > 0.0 for event in run.events)


@pytest.mark.slow
def test_the_dataset_of_a_box_has_every_name_and_no_body_enters_another(box):
    _, run = box
    data = run.to_dataset(times=60)
    assert float(data["gap"].min()) > -1e-13
    assert {"position", "velocity", "quaternion", "angular_velocity", "gap"} <= set(data.variables)
    assert {"linear_momentum", "angular_momentum", "mode", "potential_energy"} <= set(data.variables)
    assert data["position"].dims == ("time", "body", "axis") and data["gap"].attrs["units"] == "m"
    assert {"event_impulse", "event_body", "event_partner", "event_point", "event_normal"} <= set(data.variables)
    assert (data["event_impulse"].values > 0.0).all() and data["event_energy_loss"].values.max() == 0.0


def test_the_same_box_gives_the_same_bits(box):
    scenario, run = box
    again = scenario.simulate()
    assert [event.t for event in again.events] == [event.t for event in run.events]
    assert np.array_equal(again.end.q, run.end.q) and np.array_equal(again.end.v, run.end.v)


@pytest.mark.slow
def test_a_thousand_impacts_in_a_box_lose_nothing():
    text = """
        kind = "bodies"
        box = { size = [6.0, 6.0, 6.0] }
        fill = { shape = { axes = [0.9, 0.6, 0.45] }, count = 16, seed = 1 }
        solve = { until = 60.0, max_events = 1000 }
    """
    run = scenarios.loads(text).simulate()
    assert len(run.events) == 1000 and run.outcome.name == "too_many_events"
    data = run.to_dataset(times=300)
    energy = data["kinetic_energy"].values
    assert np.ptp(energy) < 1e-10 * energy[0]
    assert float(data["gap"].min()) > -1e-12


@pytest.mark.slow
def test_a_body_meets_another_across_the_edge_of_a_periodic_box():
    text = """
        kind = "bodies"
        box = { size = [10.0, 10.0, 10.0], periodic = true }
        bodies = [
            { shape = { axes = [1.0, 1.0, 1.0] }, center = [4.0, 0.0, 0.0], velocity = [1.0, 0.0, 0.0] },
            { shape = { axes = [1.0, 1.0, 1.0] }, center = [-3.0, 0.0, 0.0] },
        ]
        solve = { until = 3.0 }
    """
    run = scenarios.loads(text).simulate()
    # 3 m from centre to centre across the edge, 2 m when they touch: equal balls swap their velocities at t = 1.
    assert [event.name for event in run.events] == ["impact"]
    assert run.events[0].t == pytest.approx(1.0, rel=1e-14)
    assert np.asarray(run.end.v)[:, 0] == pytest.approx([0.0, 1.0], abs=1e-14)


@pytest.mark.slow
def test_an_egg_rolls_on_the_floor_after_its_bounces():
    loaded = scenarios.load("bouncing-egg", ["solve.until=2.5"])
    run = loaded.scenario.simulate()
    assert run.events[-1].name == "contact"
    data = run.to_dataset(times=50)
    total = (data["kinetic_energy"] + data["potential_energy"] + data["dissipated_energy"]).values
    assert np.ptp(total) < 1e-10 * abs(total[0])
    assert float(data["gap"].min()) > -1e-12


def toml_of(body="", more="", shape="axes = [1.0, 1.0, 2.0]"):
    return f"""
        kind = "bodies"
        bodies = [{{ shape = {{ {shape} }} {body} }}]
        solve = {{ until = 1.0 }}
        {more}
    """


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (toml_of(shape="axes = [0.0, 1.0, 1.0]"), "> 0"),
        (toml_of(shape="axes = [1.0, 1.0, 1.0], exponents = [1.5, 2, 2]"), ">= 2"),
        (toml_of(", quaternion = [0.0, 0.0, 0.0, 0.0]"), "quaternion"),
        (toml_of(", mass = -1.0"), "mass"),
        (toml_of(", mass = 1.0, density = 2.0"), "Give one of them"),
        (toml_of(", mass = 1.0, principal_inertia = [1.0, 1.0, 3.0]"), "triangle inequality"),
        (toml_of(", principal_inertia = [1.0, 1.0, 1.0]"), "mass"),
        (toml_of(more="impact = { restitution = 1.5 }"), "restitution"),
        (toml_of(more='impact = { paradox = "ignore" }'), "sustain"),
        (toml_of(", centre = [0.0, 0.0, 0.0]"), "center"),
        (toml_of(more="walls = [{ normal = [0.0, 0.0, 0.0], offset = 0.0 }]"), "normal"),
        (toml_of(more="walls = [{ normal = [0.0, 0.0, 1.0], offset = 0.0 }]"), "overlaps wall 0"),
        ('kind = "bodies"\nsolve = { until = 1.0 }', "no bodies"),
    ],
)
def test_bad_input_is_one_clear_sentence(text, words):
    with pytest.raises(ScenarioError) as refused:
        scenarios.loads(text).assemble()
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_overlapping_bodies_are_refused():
    bodies = [Body(Ellipsoid([1.0, 1.0, 2.0])), Body(Ellipsoid([1.0, 1.0, 2.0]), center=[1.5, 0.0, 0.0])]
    with pytest.raises(ValueError, match=r"Body 1 overlaps body 0 by 0\.5 m"):
        RigidBodies(bodies).start(bodies)


def test_a_quaternion_of_any_length_is_normalised():
    body = Body(Ellipsoid([1.0, 1.0, 2.0]), quaternion=[2.0, 0.0, 0.0, 0.0])
    assert np.asarray(body.quaternion).tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.slow
def test_scattering_is_reproducible_and_conserves_energy():
    one, two = Ellipsoid([1.0, 0.6, 0.4]), Ellipsoid([0.8, 0.8, 0.5])
    first, second = (scatter(one, two, jax.random.key(2), 300) for _ in range(2))
    assert np.array_equal(first.momentum, second.momentum) and first.hit.shape == (300,)
    assert 0.1 < float(first.hit.mean()) < 0.9
    assert np.abs(first.energy_loss).max() < 1e-12
    assert not np.asarray(first.momentum)[~np.asarray(first.hit)].any()
    # The mean shadow of a convex body is a quarter of its surface; that of both together lies between the balls.
    area, error = first.cross_section()
    assert np.pi * 0.9**2 - 3 * error < area < np.pi * 1.8**2 + 3 * error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        (Superellipsoid([1.0, 2.0, 3.0], 4.0), Ellipsoid([2.0, 1.0, 1.0]), "2b*"),
        (Ellipsoid([2.0, 1.0, 1.5]), Ellipsoid([1.0, 1.0, 1.0]), "2b"),
        (Ellipsoid([2.0, 1.0, 1.5]), Ellipsoid([0.7, 1.6, 1.1]), "2c"),
    ],
    ids=["2b*", "2b", "2c"],
)
def test_the_search_finds_a_paradox_of_each_type(one, two, kind):
    found = contacts.paradox.find(one, two, jax.random.key(0), kind)
    assert found.contact.label == f"paradox-{kind}"
    assert contacts.paradox.free_past(found.body1, found.body2)
    later = contacts.gap(found.body1.after(1e-2), found.body2.after(1e-2))
    assert float(later.gap) == pytest.approx(float(found.contact.local.gap3) * 1e-6 / 6.0, rel=0.3)
