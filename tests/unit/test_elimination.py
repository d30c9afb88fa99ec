"""Small linear systems as loops of plain arithmetic: as accurate as LAPACK, and without a call of it."""

import numpy as np
import pytest

from saltus.numerics.elimination import FEW, solve, solve_tridiagonal

import jax  # isort: skip
import jax.numpy as jnp  # isort: skip


@pytest.mark.parametrize("n", range(1, FEW + 3))
@pytest.mark.parametrize("columns", [None, 1, 3])
def test_solution_is_as_near_as_that_of_lapack(n, columns):
    random = np.random.default_rng(n)
    matrix, right = random.normal(size=(n, n)), random.normal(size=n if columns is None else (n, columns))
    wanted = np.linalg.solve(matrix, right)
    # Elimination with pivots of the columns: rounding times the condition, with a little room.
    near = 20 * np.finfo(float).eps * np.linalg.cond(matrix) * np.abs(wanted).max()
    np.testing.assert_allclose(solve(jnp.asarray(matrix), jnp.asarray(right)), wanted, rtol=0.0, atol=near)


def test_rows_are_taken_in_the_order_of_their_pivots():
    matrix = jnp.array([[0.0, 2.0, 0.0], [1e-20, 1.0, 1.0], [3.0, 0.0, 1.0]])
    np.testing.assert_allclose(solve(matrix, matrix @ jnp.array([1.0, -2.0, 3.0])), [1.0, -2.0, 3.0], rtol=1e-15)


def test_singular_matrix_gives_no_finite_solution():
    assert not np.isfinite(solve(jnp.ones((2, 2)), jnp.array([1.0, 2.0]))).all()


@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev])
def test_derivatives_are_those_of_the_solution(derivative):
    random = np.random.default_rng(5)
    matrix, right = jnp.asarray(random.normal(size=(4, 4))), jnp.asarray(random.normal(size=4))
    ours, theirs = (derivative(function, argnums=(0, 1))(matrix, right) for function in (solve, jnp.linalg.solve))
    for found, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12 * float(jnp.abs(wanted).max()))


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_tridiagonal_solution(n):
    random = np.random.default_rng(n)
    lower, upper, right = (random.uniform(-1, 1, n) for _ in range(3))
    lower[0] = upper[-1] = 0.0
    matrix = np.diag(np.full(n, 3.0)) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    found = solve_tridiagonal(*(jnp.asarray(x) for x in (lower, np.full(n, 3.0), upper, right)))
    np.testing.assert_allclose(matrix @ np.asarray(found), right, atol=1e-14)


@pytest.mark.parametrize("columns", [None, 2])
def test_tridiagonal_system_with_several_right_sides_and_its_derivatives(columns):
    n, random = 7, np.random.default_rng(3)
    lower, upper, middle = random.uniform(-1.0, 1.0, n), random.uniform(-1.0, 1.0, n), random.uniform(2.5, 4.0, n)
    right = random.normal(size=n if columns is None else (n, columns))

    def dense(lower, middle, upper, right):
        return jnp.linalg.solve(jnp.diag(middle) + jnp.diag(lower[1:], -1) + jnp.diag(upper[:-1], 1), right)

    given = tuple(jnp.asarray(part) for part in (lower, middle, upper, right))
    np.testing.assert_allclose(solve_tridiagonal(*given), dense(*given), atol=1e-14)
    for derivative in (jax.jacfwd, jax.jacrev):
        ours, theirs = (derivative(function, argnums=(0, 1, 2, 3))(*given) for function in (solve_tridiagonal, dense))
        for found, wanted in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-14)


def test_no_library_is_called_so_that_a_loop_over_steps_is_compiled_as_one_piece():
    matrix, row = jnp.eye(3), jnp.ones(3)
    for function, given in ((solve, (matrix, row)), (solve_tridiagonal, (row, 3.0 * row, row, row))):
        assert "custom-call" not in jax.jit(function).lower(*given).compile().as_text()
