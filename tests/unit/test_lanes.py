"""Small functions over many lanes, taken apart into single numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus.numerics.lanes import SlowPathWarning, side_by_side
from saltus.numerics.peaks import highest
from saltus.surfaces import Terrain


def _mixed(lane, common):
    x, m = lane["x"], lane["m"]
    solved = jnp.linalg.solve(m + 3.0 * jnp.eye(2), x[:2])
    best = jnp.where(x > 0.5, x * common["scale"], jnp.sqrt(jnp.abs(x)))
    return {"a": jnp.concatenate([solved, best[::-1]]), "b": jnp.max(best), "c": (m @ m).T, "d": jnp.sum(x) > 1.0}


def _sorted(lane, common):
    return jnp.sort(lane["x"]) + common["scale"]


@pytest.mark.parametrize("function", [_mixed, _sorted])
def test_lanes_side_by_side_are_as_vmap(function):
    rng = np.random.default_rng(0)
    lanes = {"x": jnp.asarray(rng.uniform(size=(3, 8))), "m": jnp.asarray(rng.uniform(size=(2, 2, 8)))}
    common = {"scale": jnp.asarray(1.7)}
    wanted = jax.vmap(function, in_axes=(-1, None), out_axes=-1)(lanes, common)
    found = jax.jit(lambda lanes, common: side_by_side(function, lanes, common))(lanes, common)
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_highest_point_of_a_parabola_is_found_between_samples_and_next_to_the_ends():
    x = np.linspace(0.0, 1.0, 5)
    tops = np.array([0.05, 0.4, 0.93])
    samples = 2.0 - 3.0 * (x[:, None] - tops) ** 2
    np.testing.assert_allclose(highest(jnp.asarray(samples)), 2.0, rtol=1e-14)


def test_highest_point_of_a_slope_is_its_end():
    assert float(highest(jnp.asarray([1.0, 2.0, 3.0, 4.0]))) == 4.0


def _looked_up(lane, common):
    x, y = lane["x"][0], lane["x"][1]
    return {"height": common["ground"].height(x, y), "slope": jnp.stack(common["ground"].gradient(x, y))}


def test_lanes_look_up_a_large_table_as_vmap_does_and_without_the_slow_path(recwarn):
    rng = np.random.default_rng(0)
    common = {"ground": Terrain(rng.uniform(size=(20, 30)), spacing=2.0)}
    lanes = {"x": jnp.asarray(rng.uniform(-5.0, 65.0, size=(2, 8)))}  # beyond the border too
    numbers, rest = eqx.partition(common, eqx.is_array)

    def function(lane, numbers):
        return _looked_up(lane, eqx.combine(numbers, rest))

    wanted = jax.vmap(function, in_axes=(-1, None), out_axes=-1)(lanes, numbers)
    found = jax.jit(lambda lanes, numbers: side_by_side(function, lanes, numbers, "A map"))(lanes, numbers)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
    assert not [warning for warning in recwarn if issubclass(warning.category, SlowPathWarning)]


def test_a_sum_over_a_large_table_goes_the_slow_way_and_says_so():
    with pytest.warns(SlowPathWarning, match="table"):
        found = side_by_side(
            lambda lane, table: lane["x"] + jnp.sum(table), {"x": jnp.ones((2, 4))}, jnp.ones(1000), "A sum"
        )
    np.testing.assert_allclose(found, 1001.0)


def test_a_function_with_its_own_rule_for_many_goes_by_it_in_silence(recwarn):
    @jax.custom_batching.custom_vmap
    def twice(x):
        return 2.0 * x

    @twice.def_vmap
    def _(size, batched, x):
        return 2.0 * x + 1.0, True  # another answer, to see that it was asked

    found = side_by_side(lambda lane, _: twice(lane["x"]), {"x": jnp.ones((2, 4))}, jnp.ones(1), "A double")
    np.testing.assert_allclose(found, 3.0)
    assert not [warning for warning in recwarn if issubclass(warning.category, SlowPathWarning)]
