"""2F1 on [0, 1] against mpmath, in both programs."""

from pathlib import Path

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from saltus.numerics import hypergeometric as h

X = np.concatenate([[0.0, 1e-9, 0.01], np.linspace(0.05, 0.95, 19), [0.7499, 0.75, 0.7501, 0.999, 1 - 1e-9, 1.0]])


# Compiled once for all tables, which are data.
at_few_points, by_horner = jax.jit(h._at_few_points), jax.jit(h._by_horner)


def parameters(gamma):
    return ((-0.5, 0.5, gamma), (0.5, 1.5, gamma + 2), (1.5 - gamma, 0.5, 2.0), (1.5 - gamma, 1.5, 3.0))


def exact(a, b, c):
    with mpmath.workdps(30):
        return np.array([float(mpmath.hyp2f1(a, b, c, mpmath.mpf(x))) for x in X])


# Half-whole exponents are square roots, whole ones logarithms, 8.5 has a faint branch point, 20 needs quadrature.
@pytest.mark.parametrize("gamma", [1.05, 1.5, 2.0, 2.0001, 2.24, 2.5, 5.3, 8.5, 12.0])
def test_both_programs_are_exact_to_rounding(gamma):
    table = h.tabulate(parameters(gamma))
    few, many = at_few_points(table, jnp.asarray(X)), by_horner(table, jnp.asarray(X))
    for index, triple in enumerate(parameters(gamma)):
        wanted = exact(*triple)
        # A few units in the last place of the largest value: sums of some 36 terms.
        allowed = 1.5e-15 * np.abs(wanted).max()
        np.testing.assert_allclose(few[index], wanted, rtol=0, atol=allowed)
        np.testing.assert_allclose(many[index], wanted, rtol=0, atol=allowed)


def test_tables_are_the_same_where_a_long_double_is_a_double(monkeypatch):
    # As on Windows and on ARM Macs.
    known = h._coefficients(parameters(2.24))[0]
    monkeypatch.setattr(np, "longdouble", np.float64)
    h._coefficients.cache_clear()
    h._cosines.cache_clear()
    again = h._coefficients(parameters(2.24))[0]
    np.testing.assert_array_equal(again, known)
    # 34 digits leave nothing to chance: more of them round to the same doubles, but for what is as good as zero.
    monkeypatch.setattr(h, "DIGITS", 50)
    h._coefficients.cache_clear()
    h._cosines.cache_clear()
    np.testing.assert_allclose(h._coefficients(parameters(2.24))[0], known, rtol=1e-15, atol=1e-18)
    h._coefficients.cache_clear()
    h._cosines.cache_clear()


def test_nothing_hangs_on_how_long_a_long_double_is():
    source = Path(h.__file__).parents[1]
    assert [path for path in source.rglob("*.py") if "longdouble" in path.read_text(encoding="utf-8")] == []


def test_vmap_and_large_batches_give_the_same_values():
    table = h.tabulate(parameters(2.3))
    x = jnp.linspace(0.0, 1.0, 70_001)  # more than one chunk
    batch = table(x)
    for one, other in zip(batch, jax.vmap(table)(x), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip((v[::7000] for v in batch), jax.vmap(table)(x[::7000]), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=4e-16)  # two programs, two roundings


def test_tables_themselves_can_be_batched():
    tables = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(h.tabulate(parameters(g)) for g in (1.7, 2.5)))
    both = jax.jit(jax.vmap(lambda table, x: table(x)))(tables, jnp.array([0.3, 0.9]))
    alone = h.tabulate(parameters(2.5))(jnp.array([0.9]))
    np.testing.assert_allclose([v[1] for v in both], [v[0] for v in alone], rtol=0, atol=4e-16)


def test_parameters_without_a_finite_value_at_one_are_refused():
    with pytest.raises(ValueError, match="needs c > 0"):
        h.tabulate(((0.5, 0.5, 1.0),))


def test_derivatives_in_several_directions_at_once_are_those_of_each():
    # `jacfwd` batches the directions but not the point, which once led to endless recursion.
    table = h.tabulate(parameters(2.5))

    def values(x):
        return table(x[0] * x[1])[0]

    x = jnp.array([0.4, 0.9])
    along = jax.jit(lambda direction: jax.jvp(values, (x,), (direction,))[1])
    one_by_one = [along(direction) for direction in np.eye(2)]
    np.testing.assert_allclose(jax.jit(jax.jacfwd(values))(x), one_by_one, rtol=1e-14)
