"""Derivatives through events, for every kind of system and of parameter, against differences of fresh runs."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus.scenarios import load, loads
from saltus.scenarios.replace import replace_keys, value_at

TIGHT = ["solve.rtol=1e-13", "solve.atol=1e-14"]
# Central differences, once extrapolated: h^4 of truncation and 1e-14 / h of rounding leave 1e-10 or so of ordinary
# derivatives; events in which the run itself is right to 1e-9 only (stops) leave less.
STEP = 1e-4


def numbers(end, event_times):
    parts = [end.q.ravel(), end.v.ravel(), end.ledger, jnp.atleast_1d(end.t), jnp.asarray(event_times)]
    return jnp.concatenate(parts)


def simulated(scenario, events, keys, values):
    run = replace_keys(scenario, dict(zip(keys, map(float, values), strict=True))).simulate()
    assert [event.name for event in run.events] == events  # else there is no derivative to speak of
    return np.asarray(numbers(run.end, [float(event.t) for event in run.events]))


def compared(scenario, keys, tolerance=1e-6, without=()):
    """The derivatives of the end and of all event times agree; the events of the run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # laws of engagement that create energy
        run = scenario.simulate()
        events = [event.name for event in run.events]
        values = np.array([value_at(scenario, key) for key in keys], float)

        def replayed(x):
            again = run.replay(*replace_keys(scenario, dict(zip(keys, x, strict=True))).build())
            found = numbers(again.end, again.event_times)
            return found, found

        slopes, own = jax.jacfwd(replayed, has_aux=True)(jnp.asarray(values))
        there = simulated(scenario, events, keys, values)
        assert np.allclose(own, there, rtol=1e-11, atol=1e-11)
        assert np.abs(slopes).max() > 0.0
        parts = ["motion"] * (run.end.q.size + run.end.v.size) + ["ledger"] * run.end.ledger.size + ["time"]
        rows = np.array([name not in without for name in [*parts, *events]])
        for k, value in enumerate(values):
            step = STEP * max(abs(value), 0.1) * np.eye(len(values))[k]
            coarse, fine = (
                (
                    simulated(scenario, events, keys, values + h * step)
                    - simulated(scenario, events, keys, values - h * step)
                )
                / (2 * h * step[k])
                for h in (1.0, 0.5)
            )
            expected = ((4 * fine - coarse) / 3)[rows]
            error = np.abs(np.asarray(slopes[rows, k]) - expected).max()
            assert error <= tolerance * max(np.abs(expected).max(), 1e-3), keys[k]
    return events


PAIR = """
kind = "bodies"
[[bodies]]
shape = { axes = [1.0, 2.0, 3.0], exponents = EXPONENTS }
density = 1.3
velocity = [0.0, 0.1, 0.0]
quaternion = [0.9, 0.1, 0.3, -0.2]
angular_velocity = [1.0, -0.5, 0.7]
[[bodies]]
shape = { axes = [1.2, 0.8, 1.5], exponents = EXPONENTS }
mass = 4.0
center = [6.0, 0.5, 0.3]
velocity = [-2.0, 0.0, 0.1]
angular_velocity = [0.3, 0.9, -1.1]
[impact]
restitution = 0.7
[solve]
until = 4.0
"""
PAIR_KEYS = [
    "bodies.0.shape.axes.0",
    "bodies.1.shape.axes.2",
    "bodies.0.density",
    "bodies.1.mass",
    "impact.restitution",
]
START_KEYS = ["bodies.1.center.1", "bodies.1.velocity.0", "bodies.0.quaternion.2", "bodies.0.angular_velocity.0"]


@pytest.mark.slow
@pytest.mark.parametrize("exponents", ["2.0", "4.0"])
def test_motion_after_the_impact_of_two_bodies(exponents):
    scenario = loads(PAIR.replace("EXPONENTS", exponents))
    keys = PAIR_KEYS + START_KEYS + (["bodies.0.shape.exponents"] if exponents == "4.0" else [])
    assert set(compared(scenario, keys, tolerance=1e-8)) == {"impact"}


@pytest.mark.slow
def test_motion_after_a_rough_impact_of_two_bodies():
    scenario = loads(PAIR.replace("EXPONENTS", "2.0").replace("restitution = 0.7", "restitution = 0.7\nmu = 0.2"))
    assert compared(scenario, ["impact.mu", "impact.restitution", "bodies.1.mass"], tolerance=1e-8) == ["impact"]


@pytest.mark.slow
def test_several_impacts_of_an_egg_with_the_floor():
    scenario = load("bouncing-egg", ["solve.until=1.2"]).scenario
    keys = ["gravity.2", "impact.restitution", "bodies.0.shape.axes.0", "bodies.0.center.2", "walls.0.offset"]
    assert len(compared(scenario, keys)) >= 3


@pytest.mark.slow
def test_impacts_in_a_periodic_box_depend_on_its_size():
    text = PAIR.replace("EXPONENTS", "2.0").replace("until = 4.0", "until = 16.0")
    scenario = loads(text.replace("[impact]", "[box]\nsize = [13.0, 13.0, 13.0]\nperiodic = true\n[impact]"))
    assert len(compared(scenario, ["box.size.0", "bodies.1.velocity.0"])) >= 2


@pytest.mark.slow
def test_exit_of_a_chain_with_plastic_jerks():
    overrides = ["links=3", "overhang=0.3", "engagement=plastic", "mass=[1.0, 0.8, 1.2, 1.0]", "table_friction=0.05"]
    scenario = load("chain", [*TIGHT, *overrides, "length=[1.0, 0.9, 1.1]"]).scenario
    keys = ["overhang", "gravity", "table_friction", "mass.1", "length.0", "length.2"]
    assert compared(scenario, keys, tolerance=1e-8).count("crossing") == 2


@pytest.mark.slow
@pytest.mark.parametrize("law", ["limit", "printed", "frozen"])
def test_exit_of_a_chain_with_other_laws_of_the_jerk(law):
    scenario = load("chain", [*TIGHT, "links=3", "overhang=0.3", f"engagement={law}"]).scenario
    assert compared(scenario, ["overhang", "gravity", "mass", "length"], tolerance=1e-8).count("crossing") == 2


@pytest.mark.slow
def test_chain_with_links_hanging_and_friction_that_sticks():
    scenario = load("chain-friction", [*TIGHT, "solve.until=1.0"]).scenario
    assert "stick" in compared(scenario, ["overhang", "gravity", "table_friction"])
    scenario = load("chain-hanging", TIGHT).scenario
    assert "crossing" in compared(scenario, ["overhang", "edge_friction", "table_friction", "mass.2", "length.3"])


@pytest.mark.slow
def test_masses_that_stick_and_are_torn_loose():
    keys = ["masses.0.mu", "masses.1.mu", "surface.slope_x", "gravity", "masses.0.mass", "masses.1.velocity.0"]
    # Just before a stop and after a release the direction of friction is stiff, and explicit steps at the edge of
    # stability enlarge errors: of the time of the second stop, and of the work of friction, 3e-6; of all else 1e-10.
    scenario = load("sticking-pair", TIGHT).scenario
    assert {"stop", "release"} <= set(compared(scenario, keys, tolerance=1e-5))
    compared(scenario, keys, tolerance=1e-8, without=("stop", "ledger"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "until, tolerance",
    [
        pytest.param(0.84, 1e-8, id="and-bounces"),
        # The last of its bounces take 3e-6 s and are 1e-11 m high: rounding of the height, 1e-16 m, is 1e-5 of that.
        pytest.param(1.2, 1e-5, id="until-its-bounces-pile-up"),
    ],
)
def test_mass_that_lifts_off_a_hill_and_lands(until, tolerance):
    text = f"""
        kind = "sliding"
        surface = {{ type = "gaussian", amplitude = 1.0, width = 1.0 }}
        solve = {{ until = {until}, adhesion = false, rtol = 1e-13, atol = 1e-14, restitution = 0.3 }}
        masses = [{{ mass = 1.0, position = [-1.5, 0.1], velocity = [5.0, 0.0], mu = 0.2 }}]
    """
    keys = ["surface.amplitude", "surface.width", "masses.0.mu", "gravity", "masses.0.velocity.0", "solve.restitution"]
    assert {"lift_off", "landing"} <= set(compared(loads(text), keys, tolerance))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, keys",
    [
        ("billiard-roll", ["friction.mu", "radius", "gravity", "start.velocity.0"]),
        ("plane-spin-down", ["friction.mu", "friction.spot_radius", "radius", "gravity", "mass"]),
        ("rails-stick-one-by-one", ["friction.mu", "half_angle", "slope", "radius", "start.angular_velocity.1"]),
        ("butterfly-roll", ["friction.mu", "radius", "gravity"]),
    ],
)
def test_balls_that_slip_stick_roll_and_lift_off(name, keys):
    assert compared(load(name, TIGHT).scenario, keys)


@pytest.mark.slow
def test_ball_on_a_spot_does_not_depend_on_when_the_method_changes():
    # "spins" is where proportional slip and spin are taken for exact: a matter of method, with no time of its own.
    keys = ["friction.mu", "friction.spot_radius", "radius", "start.angular_velocity.2"]
    assert compared(load("billiard-masse", TIGHT).scenario, keys, without=["spins"]) == ["spins"]
    keys = ["friction.mu", "friction.spot_radius", "radius", "half_angle", "start.velocity"]
    assert "rests" in compared(load("rails-to-rest", TIGHT).scenario, keys, without=["creeps"])


@pytest.mark.parametrize("speed", [0.0, 2.0])
def test_gradients_backwards_of_masses_with_friction_built_from_a_scenario(speed):
    text = f"""
        kind = "sliding"
        surface = {{ type = "plane", slope_x = -0.5 }}
        masses = [{{ mass = 1.0, position = [0.0, 0.0], velocity = [{speed}, 0.0], mu = 0.2 }}]
        solve = {{ until = 2.0 }}
    """
    scenario = loads(text)
    run = scenario.simulate()

    def way(mu):
        return run.replay(*replace_keys(scenario, {"masses.0.mu": mu}).build()).end.q[0, 0]

    # x = v t + a t^2 / 2 with a = g (sin - mu cos) cos along the plane, so dx / dmu = -g cos^2 t^2 / 2.
    expected = -9.81 / 1.25 * 2.0
    assert float(jax.grad(way)(0.2)) == pytest.approx(expected, rel=1e-9)
