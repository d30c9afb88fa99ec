"""Scenarios of a body on the ground: what they refuse, how runs end, what results tell."""

import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.errors import ScenarioError
from saltus.laws.friction import Combined, Coulomb
from saltus.laws.impact import Newton, Poisson, RoughNewton, Soil, Stronge
from saltus.scenarios import loads
from saltus.scenarios.templates import template
from saltus.shapes import Ball, Disc, Ellipsoid, Solid
from saltus.surfaces import Paraboloid, Plane
from saltus.systems import BodyOnGround

TEXT = template("ground_body")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{ axes = [0.2, 0.15, 0.12] }", "{ axes = [0.2, 0.15, 0.12], radius = 0.1 }", "one of axes, radius"),
        ("{ axes = [0.2, 0.15, 0.12] }", "{ axes = [0.2, 0.15, -0.12] }", "`axes` must be > 0"),
        ("{ axes = [0.2, 0.15, 0.12] }", "{ radius = 0.2, exponents = 4.0 }", "`body.shape.exponents` belongs to"),
        (
            "{ axes = [0.2, 0.15, 0.12] }",
            "{ axes = [0.2, 0.15, 0.12], rounding = 0.1 }",
            "`body.shape.rounding` belongs",
        ),
        ("density = 2700.0", "density = 2700.0\nmass = 1.0", "`body.mass` or `body.density`"),
        ('model = "coulomb"', 'model = "exact"\nspot_radius = "hertz"', "`friction.modulus`"),
        ("restitution = 0.3", "restitution = 0.3\nreference_mass = 10.0", "belongs to law 'soil'"),
        ('until = "rest"', 'until = "still"', 'a time > 0 in seconds or "rest"'),
        ("rolling_friction = 0.04", "rolling_frictoin = 0.04", "Did you mean 'rolling_friction'?"),
    ],
)
def test_a_wrong_scenario_is_refused_in_one_sentence(old, new, words):
    assert old in TEXT
    with pytest.raises(ScenarioError, match=words.replace("?", "\\?")) as refused:
        loads(TEXT.replace(old, new))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("shape", "inside", "outside"),
    [
        (Ball(0.2), [0.0, 0.0, 0.199], [0.0, 0.0, 0.201]),
        (Ellipsoid([0.2, 0.15, 0.01]), [0.0, 0.0, -0.0099], [0.14, 0.0, 0.0072]),
        (Disc(0.1), [0.05, 0.0, 0.0], [0.0, 0.0, 0.001]),
        (Disc(0.1, 0.002), [0.0, 0.0, 0.0019], [0.0, 0.103, 0.0]),
    ],
)
def test_a_centre_of_mass_outside_of_the_body_is_refused(shape, inside, outside):
    given = {"mass": 1.0, "principal_inertia": [1.0, 1.0, 1.0]}
    Solid(shape, center_of_mass=inside, **given)
    with pytest.raises(ValueError, match=r"`center_of_mass` must lie within the body, got \[0"):
        Solid(shape, center_of_mass=outside, **given)


def test_the_centre_of_mass_of_several_balls_may_lie_between_them():
    given = {"mass": 1.0, "principal_inertia": [1.0, 1.0, 1.0], "centers": [[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]}
    Solid([Ball(0.1), Ball(0.2)], **given)
    with pytest.raises(ValueError, match="must lie within the body"):
        Solid([Ball(0.1), Ball(0.2)], center_of_mass=[0.0, 0.0, 0.16], **given)


def test_a_scenario_with_its_centre_of_mass_outside_of_the_body_is_refused_in_one_sentence():
    with pytest.raises(ScenarioError, match="`center_of_mass` must lie within the body") as refused:
        loads(TEXT.replace("density = 2700.0", "density = 2700.0\ncenter_of_mass = [0.0, 0.0, 0.5]")).assemble()
    assert "\n" not in str(refused.value)


def test_a_body_of_several_shapes_needs_its_inertia():
    with pytest.raises(ValueError, match="needs `mass` and `principal_inertia`"):
        Solid([Ball(1.0), Ball(0.5)], mass=1.0, centers=[[0, 0, 0], [0, 0, 1]])


# ---- laws of impact ----------------------------------------------------------------------------------------------

UP = jnp.array([0.0, 0.0, 1.0])
MOBILITY = jnp.array([[1.2, 0.1, 0.3], [0.1, 1.0, -0.2], [0.3, -0.2, 0.9]])


@pytest.mark.parametrize("law", [Poisson, RoughNewton, Stronge])
def test_without_friction_all_laws_of_restitution_are_one(law):
    velocity = jnp.array([0.4, -0.3, -2.0])
    wanted = Newton(0.6).impulse(velocity, UP, MOBILITY)
    assert np.asarray(law(0.6, 0.0).impulse(velocity, UP, MOBILITY)) == pytest.approx(np.asarray(wanted), abs=1e-10)


def test_poisson_gives_back_its_share_of_the_normal_impulse_and_newton_of_the_speed():
    velocity = jnp.array([1.4, -0.3, -2.0])
    pressed = Poisson(0.0, 0.3).impulse(velocity, UP, MOBILITY)
    whole = Poisson(0.5, 0.3).impulse(velocity, UP, MOBILITY)
    assert float(whole[2]) == pytest.approx(1.5 * float(pressed[2]), rel=1e-10)
    after = velocity + MOBILITY @ RoughNewton(0.5, 0.3).impulse(velocity, UP, MOBILITY)
    assert float(after[2]) == pytest.approx(1.0, rel=1e-9)


def test_soil_rebounds_less_the_faster_and_the_heavier():
    soil = Soil(0.5, 0.4, reference_speed=9.0, reference_mass=100.0)
    assert float(soil.restitution_of(jnp.asarray(9.0), jnp.asarray(100.0))) == pytest.approx(0.25)
    for mass, speed in ((100.0, 3.0), (1000.0, 3.0), (1000.0, 12.0)):
        mobility = jnp.eye(3) / mass
        impulse = soil.impulse(jnp.array([0.0, 0.0, -speed]), UP, mobility)
        rebound = float((impulse @ mobility)[2]) / speed - 1.0
        assert rebound == pytest.approx(0.5 / (1.0 + mass / 100.0 * (speed / 9.0) ** 2), rel=1e-12)


def test_soil_never_gains_energy_and_stays_in_the_cone_of_friction():
    rng = np.random.default_rng(3)
    for _ in range(200):
        root = rng.normal(size=(3, 3))
        mobility = jnp.asarray(root @ root.T + 0.05 * np.eye(3))
        velocity = jnp.asarray(rng.normal(size=3)).at[2].set(-abs(rng.normal()) - 1e-3)
        mu, tangential = rng.uniform(0.0, 1.5), rng.uniform(-1.0, 1.0)
        law = Soil(rng.uniform(), mu, reference_mass=rng.uniform(0.1, 10.0), tangential_restitution=tangential)
        impulse = law.impulse(velocity, UP, mobility)
        gained = float(impulse @ velocity + 0.5 * impulse @ mobility @ impulse)
        assert gained <= 1e-12 and float((velocity + mobility @ impulse)[2]) >= -1e-12
        assert float(jnp.hypot(impulse[0], impulse[1])) <= mu * float(impulse[2]) * (1.0 + 1e-9) + 1e-12
    assert not np.asarray(law.impulse(jnp.array([1.0, 0.0, 0.1]), UP, mobility)).any()


# ---- how runs end ------------------------------------------------------------------------------------------------


def test_a_stone_wider_than_the_hollow_ends_its_run_with_a_name():
    # Radius of curvature of the hollow 0.5 m; the stone's sides are as flat as 0.9^2 / 0.3 = 2.7 m.
    stone = Solid(Ellipsoid([0.9, 0.9, 0.3]), mass=1.0)
    system = BodyOnGround(Paraboloid(1.0, 1.0), stone, Coulomb(0.3), Newton(0.0))
    run = sl.simulate(system, system.start([0.0, 0.0], height=0.5), 1.0)
    assert run.outcome.name == "several_contacts" and "more than one place" in run.outcome.message


def like_the_template(solid, mu, lever):
    """On level ground, with the laws of the template: one compiled program for all ellipsoids."""
    return BodyOnGround(Plane(0.0, 0.0), solid, Coulomb(mu), Stronge(0.0, 0.0), rolling_friction=lever)


def test_friction_that_jams_a_rod_into_the_ground_is_recognised_as_painleves_paradox():
    # A slender rod that leans forwards and slides: at 45 degrees the normal force is not determined beyond mu = 5 / 3.
    rod = Solid(Ellipsoid([1.0, 0.01, 0.01]), mass=1.0, principal_inertia=[1e-3, 1 / 3, 1 / 3])
    leaning = [np.cos(np.pi / 8), 0.0, -np.sin(np.pi / 8), 0.0]
    names = {}
    for mu in (1.6, 1.75):
        system = like_the_template(rod, mu, lever=1e-12)
        start = system.start([0.0, 0.0], velocity=[-3.0, 0.0, 0.0], quaternion=leaning)
        names[mu] = sl.simulate(system, start, 1e-4).outcome.name
    assert names == {1.6: "finished", 1.75: "ill_posed"}


def test_rolling_friction_brings_a_ball_to_rest_at_the_known_place():
    radius, lever, v, g = 0.1, 0.002, 1.0, 9.81
    ball = like_the_template(Solid(Ellipsoid([radius] * 3), mass=3.0), 0.5, lever)
    run = sl.simulate(ball, ball.start([0.0, 0.0], [v, 0.0, 0.0], angular_velocity=[0.0, v / radius, 0.0]), np.inf)
    slowing = 5 / 7 * g * lever / radius
    (event,) = run.events
    assert run.outcome.name == "at_rest" and event.data["into"] == "rest"
    assert event.t == pytest.approx(v / slowing, rel=1e-9)
    assert float(run.end.q[0]) == pytest.approx(v**2 / (2 * slowing), rel=1e-9)
    assert float(run.end.ledger[0]) == pytest.approx(0.7 * 3.0 * v**2, rel=1e-9)


@pytest.mark.slow
def test_a_ball_that_rolls_off_a_dome_lifts_off_where_it_must():
    # Without slip from the top: cos of the angle is 10/17, whatever the radii.
    mu = 1e7  # of any finite friction nothing is left just before the normal force is: an error of 0.16 / mu
    ball = BodyOnGround(sl.surfaces.Dome(1.0), Solid(Ball(0.1), mass=1.0), Coulomb(mu), Newton(0.0), gravity=9.81)
    start = ball.start([1e-3, 0.0])
    run = sl.simulate(ball, start, 20.0, rtol=1e-11)
    leaves = run.events[0]
    assert leaves.data["into"] == "flight" and abs(leaves.data["energy_loss"]) < 1e-12
    height, begin = (float(state.q[2]) + 1.0 for state in (leaves.before, start))
    assert height == pytest.approx(10 / 17 * begin, rel=2e-8)
    assert run.outcome.name == "left_domain"


def test_a_body_left_on_the_ground_in_balance_rests():
    egg = BodyOnGround(Plane(0.0, 0.0), Solid(Ellipsoid([0.2, 0.15, 0.1]), mass=1.0), Coulomb(0.4), Newton(0.4))
    run = sl.simulate(egg, egg.start([0.0, 0.0]), np.inf)
    assert run.outcome.name == "at_rest" and float(run.end.q[2]) == pytest.approx(0.1, rel=1e-14)


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("shape", [Ball(0.1), Disc(0.1, 0.005)])
def test_a_body_dropped_straight_down_rests_after_its_last_landing(shape, mu):
    # It bounced on without rolling friction until nothing moved, and was waited for then: 600 s of a scenario.
    body = BodyOnGround(Plane(0.0, 0.0), Solid(shape, mass=2.0), Coulomb(mu), Newton(0.5), patience=9.0)
    run = sl.simulate(body, body.start([0.0, 0.0], height=1.0), np.inf)
    assert run.outcome.name == "at_rest" and run.events[-1].data["into"] == "rest"
    first = np.sqrt(2.0 / 9.81)
    assert run.events[-1].t == pytest.approx(first * (1.0 + 2.0 * 0.5 / (1.0 - 0.5)), abs=1e-4)


def test_a_ball_that_only_spins_rests_once_its_spot_has_stopped_it():
    # The torque of an even pressure over the spot is 2/3 mu N R; nothing turns the ball then, but it went on "rolling".
    mu, spot, radius, spin, g = 0.5, 0.01, 0.1, 10.0, 9.81
    law = Combined(mu, spot, pressure="uniform")
    ball = BodyOnGround(Plane(0.0, 0.0), Solid(Ball(radius), mass=2.0), law, Newton(0.5), gravity=g, patience=9.0)
    run = sl.simulate(ball, ball.start([0.0, 0.0], angular_velocity=[0.0, 0.0, spin]), np.inf)
    assert run.outcome.name == "at_rest"
    assert run.events[-1].t == pytest.approx(0.4 * radius**2 * spin / (2.0 / 3.0 * mu * g * spot), rel=1e-8)


def test_a_disc_supports_what_a_flat_disc_does():
    disc = Disc(2.0, 0.1)
    n = jnp.array([0.6, 0.0, 0.8])
    assert np.asarray(disc.support_point(n)) == pytest.approx([2.0 + 0.06, 0.0, 0.08])
    assert float(disc.level(disc.support_point(n))) == pytest.approx(0.0, abs=1e-15)
    assert np.asarray(disc.normal(disc.support_point(n))) == pytest.approx(np.asarray(n))


def test_the_dataset_of_a_run_tells_the_forces_and_draws():
    text = TEXT.replace('until = "rest"', "until = 1.0")
    data = sl.scenarios.loads(text).simulate().to_dataset(31, {"scenario": text})
    touching = data["mode"].values > 0
    assert touching.any() and not touching.all()
    assert (data["normal_force"].values[touching] > 0.0).all() and not data["normal_force"].values[~touching].any()
    assert np.abs(data["gap"].values[touching]).max() < 1e-14
    total = data["kinetic_energy"] + data["potential_energy"] + data["dissipated_energy"]
    assert float(abs(total - total[0]).max()) < 1e-7
    for name in ("friction_force", "slip", "contact_point", "jump_height", "spin", "friction_torque"):
        assert data[name].attrs["units"] and data[name].attrs["long_name"]
    from saltus import views

    assert views.figure(data).axes


@pytest.mark.parametrize("method", ["kvaerno5", "kvaerno3"])
def test_implicit_methods_are_refused_at_once(method, capsys):
    """They went on for minutes in ever shorter steps, and the kinetic energy was no number."""
    from saltus.cli.app import call
    from saltus.engines import EventDriven

    assert call(["run", "euler-disk", "--set", f"solve.method={method}"]) == 2
    told = capsys.readouterr().err
    assert method in told and "dopri8" in told and told.count("\n") == 1
    ball = BodyOnGround(Plane(0.0, 0.0), Solid(Ball(0.1), mass=1.0), Coulomb(0.3), Stronge(0.5, 0.3))
    start = ball.start([0.0, 0.0], height=1.0)
    for options in ({"method": method}, {"engine": EventDriven(method=method)}):
        with pytest.raises(ValueError, match="cannot run a BodyOnGround"):
            sl.simulate(ball, start, 1.0, **options)


@pytest.mark.parametrize("law", [Coulomb(0.5), Combined(0.5, 1e-3)])
def test_the_guard_of_the_grip_stays_of_order_one_where_the_ground_no_longer_presses(law):
    """As a share of the load it fell to minus infinity there, and steps were cut until they were short enough."""
    egg = Solid(Ellipsoid([0.3, 0.2, 0.2]), mass=1.0)
    system = BodyOnGround(Plane(0.0, 0.0), egg, law, Newton(0.5), rolling_friction=0.01)
    start = system.start([0.0, 0.0], quaternion=[np.cos(0.7), 0.0, np.sin(0.7), 0.0])  # nearly upright
    slips = next(guard for guard in system.guards() if guard.name == "slips")

    def value(turning):
        v = start.v.replace(velocity=jnp.asarray([0.2 * turning, 0.0, 0.0]), turning=jnp.asarray([0.0, turning, 0.0]))
        state = system.project(start.replace(v=v, mode=jnp.asarray(3)))
        return float(system.see(state).forces.load), float(slips.function(state))

    loads, values = np.array([value(turning) for turning in np.linspace(1.0, 12.0, 61)]).T
    assert loads[0] > 0.0 > loads[-1]
    assert np.all(np.abs(values) < 100.0)
    assert np.max(np.abs(np.diff(values, 2))) < 0.2 * np.ptp(values)
