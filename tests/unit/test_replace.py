"""Values put at dotted keys of a scenario, traced ones too."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import saltus as sl
from saltus.scenarios import load
from saltus.scenarios.replace import replace_keys, value_at


def test_value_is_put_at_a_key_and_the_scenario_is_left_as_it_was():
    bowl = load("bowl").scenario
    other = replace_keys(bowl, {"masses.1.mass": 3.0, "surface.radius": 2.0, "friction.mu": 0.5})
    assert (value_at(other, "masses.1.mass"), other.surface.radius, other.friction.mu) == (3.0, 2.0, 0.5)
    assert value_at(bowl, "masses.1.mass") == 1.0 and bowl.surface.radius == 1.0
    assert other.masses[0] is bowl.masses[0]


def test_entries_of_lists_and_dicts_are_replaced():
    assert value_at(replace_keys(load("bowl").scenario, {"masses.0.position.1": 7.0}), "masses.0.position") == [
        load("bowl").scenario.masses[0].position[0],
        7.0,
    ]
    formula = load("expression-surface").scenario
    assert replace_keys(formula, {"surface.parameters.a": 7.0}).surface.parameters["a"] == 7.0


@pytest.mark.parametrize(
    "key, words",
    [
        ("frictions.mu", "Did you mean 'friction'"),
        ("masses.7.mu", "no key `masses.7`"),
        ("gravity.x", "not a table or list"),
        ("masses..mu", "text with dots"),
    ],
)
def test_wrong_key_is_told_in_one_sentence(key, words):
    with pytest.raises(sl.ScenarioError, match=words):
        replace_keys(load("bowl").scenario, {key: 1.0})


@pytest.mark.parametrize(
    "name, key",
    [
        ("bowl", "masses.0.mu"),
        ("bowl", "surface.radius"),
        ("bowl", "masses.0.position.0"),
        ("chain", "overhang"),
        ("chain", "length"),
        ("rails-to-rest", "half_angle"),
        ("rails-to-rest", "friction.spot_radius"),
        ("billiard-roll", "start.velocity.0"),
        ("butterfly-roll", "radius"),
        ("ellipsoids", "bodies.0.shape.axes.1"),
        ("ellipsoids", "impact.restitution"),
        ("bouncing-egg", "walls.0.offset"),
    ],
)
def test_scenario_is_built_from_a_traced_number(name, key):
    scenario = load(name).scenario

    def built(value):
        return eqx.filter(replace_keys(scenario, {key: value}).build(), eqx.is_inexact_array)

    value = value_at(scenario, key)
    shapes = jax.eval_shape(built, jnp.asarray(0.5 if value is None else value))
    assert len(jax.tree.leaves(shapes)) > 5


@pytest.mark.parametrize("overhang", [0.4, 1.0, 2.7])
def test_traced_overhang_hangs_as_many_links_as_a_known_one(overhang):
    scenario = load("chain", ["links=4", "length=[1.0, 0.8, 1.2, 1.0]", f"overhang={overhang}"]).scenario
    traced = jax.jit(lambda value: replace_keys(scenario, {"overhang": value}).build()[1])(overhang)
    known = scenario.build()[1]
    assert jnp.array_equal(traced.mode, known.mode)
    assert jnp.allclose(traced.q, known.q, atol=1e-15)
