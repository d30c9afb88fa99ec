"""Programs of small arrays as operations on scalars."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import ad_util
from jax._src import core as jex

from saltus.numerics.scalars import CannotScalariseError, Scalars, as_inputs, cost, evaluate, needed_nodes, scalarize
from saltus.numerics.scalars.programs import RULES
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
    same_numbers(function, draw(3, 3))


def same_numbers(function, *arguments):
    """The same operations on the same numbers, but for the order in sums of three and for roots in place of powers."""
    expected = jax.vmap(function)(*map(jnp.asarray, arguments))
    found = by_scalars(function, *arguments)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13), found, expected)


def _of(outer, inner):
    return lambda x: outer(inner(x))


# One function for each rule: its program has to hold the primitive after which the rule is named.
HALF = jnp.array([[0.5, -1.5, 2.0], [0.1, 0.7, -0.3], [1.0, 0.0, -2.5]])
PLACES = jnp.array([2, 0])
ONE_ARGUMENT = {
    **{name: getattr(lax, name) for name in ("neg", "abs", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "exp")},
    **{name: getattr(lax, name) for name in ("exp2", "expm1", "logistic", "cbrt", "erf", "is_finite", "floor", "ceil")},
    **{name: getattr(lax, name) for name in ("round", "sign", "asinh", "square", "optimization_barrier")},
    **{name: _of(getattr(lax, name), jnp.tanh) for name in ("asin", "acos", "atanh")},
    **{name: _of(getattr(lax, name), lambda x: 1.0 + x * x) for name in ("sqrt", "rsqrt", "log", "log1p", "acosh")},
    "not": lambda x: jnp.logical_not(x > 0.0),
    "copy": lambda x: lax.copy_p.bind(x),
    "convert_element_type": lambda x: ((10.0 * x).astype(int), (x > 0.0).astype(float)),
    "integer_pow": lambda x: (lax.integer_pow(x, 3), lax.integer_pow(x, -2)),
    "pow": lambda x: [lax.pow(1.0 + x * x, jnp.asarray(power)) for power in (0.5, -1.5, 2.5, 3.0, 0.3)],
    "clamp": lambda x: lax.clamp(-0.3, x, 0.4),
    "select_n": lambda x: (lax.select_n(x > 0.0, x, -x), lax.select_n(_number(x), x, 2.0 * x, 3.0 * x)),
}
TWO_ARGUMENTS = {
    **{name: getattr(lax, name) for name in ("add", "sub", "mul", "div", "max", "min", "rem", "atan2", "nextafter")},
    **{name: getattr(lax, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: lambda x, y, f=f: f(x > 0.0, y > 0.0) for name, f in zip(
        ("and", "or", "xor"), (lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor), strict=True)},
    "add_any": lambda x, y: ad_util.add_jaxvals_p.bind(x, y),
}  # fmt: skip
MOVES = {
    "reshape": lambda x: x.reshape(9),
    "squeeze": lambda x: lax.squeeze(x[:1], (0,)),
    "broadcast_in_dim": lambda x: lax.broadcast_in_dim(x, (3, 2, 3), (0, 2)),
    "slice": lambda x: lax.slice(x, (0, 1), (3, 3), (2, 1)),
    "concatenate": lambda x: jnp.concatenate([x, 2.0 * x], axis=1),
    "split": lambda x: lax.split(x, (1, 2), axis=1),
    "transpose": lambda x: x.T,
    "iota": lambda x: x + lax.broadcasted_iota(float, (3, 3), 1),
    "gather": lambda x: x[PLACES, 1],
    "pad": lambda x: lax.pad(x, 0.5, ((1, 0, 0), (0, 2, 1))),
    "rev": lambda x: lax.rev(x, (1,)),
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (1, 0), (2, 2)),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, 2.0 * x[:1], (1, 0)),
    "scatter": lambda x: x.at[PLACES].set(x[:2] ** 2),
    "scatter-add": lambda x: x.at[jnp.array([0, 0])].add(x[1:]),
    "scatter-mul": lambda x: x.at[PLACES].multiply(x[1:]),
    "scatter-max": lambda x: (x.at[PLACES].max(x[1:]), (x > 0.0).at[PLACES].max(x[1:] > 0.0)),
    "scatter-min": lambda x: (x.at[PLACES].min(x[1:]), (x > 0.0).at[PLACES].min(x[1:] > 0.0)),
}
SUMS = {
    "reduce_sum": lambda x: (jnp.sum(x), jnp.sum(x, axis=1)),
    "reduce_prod": lambda x: jnp.prod(x, axis=0),
    "reduce_max": lambda x: jnp.max(x, axis=1),
    "reduce_min": lambda x: jnp.min(x),
    "reduce_and": lambda x: (x > -0.5).all(axis=0),
    "reduce_or": lambda x: (x > 0.5).any(axis=1),
    "cumsum": lambda x: (lax.cumsum(x, 1), lax.cumsum(x, 0, reverse=True)),
    "cumprod": lambda x: lax.cumprod(x, 1),
    "cummax": lambda x: lax.cummax(x, 0, reverse=True),
    "cummin": lambda x: lax.cummin(x, 1),
    "argmax": lambda x: lax.argmax(x, 0, int),
    "argmin": lambda x: lax.argmin(x, 1, int),
    "dot_general": lambda x: (x @ HALF, jnp.einsum("ij,ik->ijk", x, x)),
}
PROGRAMS = {
    "cond": lambda x: lax.cond(x[0, 0] > 0.0, jnp.sin, lambda x: x**2, x),
    "scan": lambda x: lax.scan(lambda sum, row: (sum + row, sum * row), x[0], x, reverse=True),
    "while": lambda x: lax.while_loop(lambda now: now[0] < 3, lambda now: (now[0] + 1, now[1] @ HALF), (0, x)),
    "custom_jvp_call": lambda x: jax.nn.relu(x),
    "custom_vjp_call": lambda x: _with_own_derivative(x),
    "checkpoint": lambda x: jax.checkpoint(lambda x: jnp.sin(x) @ HALF)(x),
    "jit": lambda x: jax.jit(lambda x: x @ HALF)(x),
    "custom_linear_solve": lambda x: jnp.linalg.solve(x + 4.0 * jnp.eye(3), x[0]),
    "tridiagonal_solve": lambda x: lax.linalg.tridiagonal_solve(x[0], 5.0 + x[1], x[2], x),
}
RULES_OF_ONE = {**ONE_ARGUMENT, **MOVES, **SUMS, **PROGRAMS}
# Names that other versions of JAX give to wrappers, copies and moves.
OF_OTHER_VERSIONS = {
    "pjit", "closed_call", "core_call", "custom_vjp_call_jaxpr", "remat", "remat2", "stop_gradient", "copy_p", "pvary",
    "expand_dims", "stack", "unstack",
}  # fmt: skip


def _number(x):
    return jnp.clip(x + 1.0, 0.0, 2.0).astype("int32")


@jax.custom_vjp
def _with_own_derivative(x):
    return jnp.cos(x)


_with_own_derivative.defvjp(lambda x: (jnp.cos(x), x), lambda x, bar: (bar,))


def primitives(jaxpr):
    """Names of all primitives of a program, also of those inside others."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in jex.jaxprs_in_params(equation.params):
            yield from primitives(inner)


def test_every_rule_has_its_function():
    assert set(RULES_OF_ONE) | set(TWO_ARGUMENTS) == set(RULES) - OF_OTHER_VERSIONS


@pytest.mark.parametrize("rule", [*RULES_OF_ONE, *TWO_ARGUMENTS])
def test_a_rule_computes_what_its_primitive_does(rule):
    function = RULES_OF_ONE.get(rule) or TWO_ARGUMENTS[rule]
    arguments = (draw(3, 3),) if rule in RULES_OF_ONE else (draw(3, 3), draw(3, 3)[..., ::-1].copy())
    names = {"jit": {"pjit"}, "checkpoint": {"remat", "remat2"}}.get(rule, set()) | {rule}
    assert names & set(primitives(jax.make_jaxpr(function)(*(x[0] for x in arguments)).jaxpr))
    same_numbers(function, *arguments)


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
