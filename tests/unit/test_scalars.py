"""Programs of small arrays as operations on scalars."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus.numerics.scalars import CannotScalariseError, Scalars, as_inputs, cost, evaluate, needed_nodes, scalarize
from saltus.numerics.scalars.quick import from_single_precision

LANES = 5


def by_scalars(function, *arguments):
    """The function on many lanes, through its scalar program, as arrays of lanes first."""
    s = Scalars()
    given = [as_inputs(s, x[0], f"x{k}") for k, x in enumerate(arguments)]
    nodes = scalarize(function, tuple(x[0] for x in arguments), given, s)
    values = {
        node: jnp.asarray(x.reshape(LANES, -1)[:, k])
        for x, own in zip(arguments, given, strict=True)
        for k, node in enumerate(own.ravel())
    }
    leaves, tree = jax.tree.flatten(nodes, is_leaf=lambda x: isinstance(x, np.ndarray))
    found = [
        np.stack(evaluate(leaf.ravel(), values, jnp.zeros(LANES)), axis=-1).reshape(LANES, *leaf.shape)
        for leaf in leaves
    ]
    return jax.tree.unflatten(tree, found)


def draw(*shape):
    return np.random.default_rng(3).normal(size=(LANES, *shape))


def moves(x):
    rolled = jnp.roll(x, 1, axis=0).T
    return rolled.at[jnp.array([0, 2])].add(x[:2, :3]), x[jnp.array([2, 0]), 1], jnp.pad(x, ((1, 0), (0, 2)))


def choices(x):
    place = jnp.argmax(x, axis=1)
    bent = jax.lax.cond(x[0, 0] > 0.0, lambda x: x**3, lambda x: jnp.sin(x), x)
    return place, bent, jnp.where(x > 0.5, x, -1.0), jnp.clip(x, -0.3, 0.4), jnp.cumsum(x, axis=0)


def sums(x):
    powers = jax.lax.scan(lambda c, row: (c + row @ row, c * row), 1.0, x)
    return x @ x, jnp.linalg.norm(x, axis=1), jnp.max(x), jnp.any(x > 1.0), powers, jnp.einsum("ij,kj->ik", x, x)


def of_nothing(x):
    none = x[:0]
    largest, smallest = jnp.max(none, initial=-1.0), jnp.min(none, axis=0, initial=2.0)
    return largest + x, smallest, none.sum(axis=0), jnp.prod(none), (none > 0.0).any(), none.T @ none


def loop(x):
    return jax.lax.fori_loop(0, 3, lambda k, y: 0.5 * y @ x + k, x)


@pytest.mark.parametrize("function", [moves, choices, sums, of_nothing, loop])
def test_scalar_program_computes_what_the_function_does(function):
    x = draw(3, 3)
    expected = jax.vmap(function)(jnp.asarray(x))
    # The same operations on the same numbers, but for the order in sums of three.
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13), by_scalars(function, x), expected
    )


def test_linear_solve_exchanges_rows_where_the_first_pivot_vanishes():
    matrix = np.array([[0.0, 2.0, 1.0], [1.0, 1e-20, 3.0], [4.0, 1.0, 0.0]]) + np.zeros((LANES, 1, 1))
    right = draw(3)
    found = by_scalars(jnp.linalg.solve, matrix, right)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right[..., None])[..., 0], rtol=1e-13)


def test_tridiagonal_solve_is_that_of_the_matrix():
    lower, main, upper = draw(4), 5.0 + draw(4), draw(4)
    right = draw(4, 2)
    found = by_scalars(jax.lax.linalg.tridiagonal_solve, lower, main, upper, right)
    whole = np.zeros((LANES, 4, 4))
    for k in range(4):
        whole[:, k, k] = main[:, k]
        if k:
            whole[:, k, k - 1], whole[:, k - 1, k] = lower[:, k], upper[:, k - 1]
    np.testing.assert_allclose(found, np.linalg.solve(whole, right), rtol=1e-12)


def test_nothing_is_computed_twice_and_nothing_trivial_at_all():
    s = Scalars()
    x = as_inputs(s, np.zeros(2), "x")

    def function(x):
        zeros, one = jnp.zeros(2), jnp.ones(2)
        return (x * one + zeros) * (one * x) + x @ (one - one), x[0] * x[0] / jnp.sqrt(x[1])

    squares, ratio = scalarize(function, (np.zeros(2),), [x], s)
    assert dict(cost([*squares, *ratio.ravel()])) == {"mul": 3, "rsqrt": 1}


def test_what_cannot_be_written_out_is_named_only_if_it_is_needed():
    s = Scalars()
    matrix = as_inputs(s, np.eye(2), "m")
    trace, largest = scalarize(lambda m: (jnp.trace(m), jnp.linalg.eigvalsh(m)[-1]), (np.eye(2),), [matrix], s)
    needed_nodes(trace.ravel())
    with pytest.raises(CannotScalariseError, match="eigh"):
        needed_nodes(largest.ravel())


def test_quick_inverse_roots_and_quotients_are_right_to_the_last_bits():
    x = 10.0 ** np.random.default_rng(5).uniform(-30, 30, 4000)
    quick = from_single_precision()
    # Third order from a guess of 23 bits leaves rounding alone: three roundings of 1.1e-16.
    np.testing.assert_allclose(quick["rsqrt"](jnp.asarray(x)), 1.0 / np.sqrt(x), rtol=5e-16)
    np.testing.assert_allclose(quick["div"](jnp.ones_like(x), jnp.asarray(-x)), -1.0 / x, rtol=5e-16)
