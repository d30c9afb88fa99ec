"""Linear systems of few unknowns, and with three diagonals, as loops of plain arithmetic.

The linear algebra of JAX on a CPU is a call of LAPACK. XLA compiles a loop over the steps of a run as one piece
(`_jax_settings`) only where it holds no such call; a rate that solves for two unknowns by one is several times as slow,
and takes longer to compile.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

FEW = 8  # unknowns up to which a loop is quicker than a call of LAPACK, or as quick


def solve(matrix: Float[Array, "n n"], right: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """Solution of a linear system, as by `jnp.linalg.solve`."""
    if len(matrix) == 2:
        return _solve_two(matrix, right)
    if len(matrix) > FEW or jax.default_backend() != "cpu":
        return jnp.linalg.solve(matrix, right)

    def times(unknown: Array) -> Array:
        return matrix @ unknown

    # Its derivatives are solutions with the same matrix.
    return jax.lax.custom_linear_solve(
        times, right, lambda _, b: _eliminate(matrix, b), lambda _, b: _eliminate(matrix.T, b)
    )


def _solve_two(matrix: Float[Array, "2 2"], right: Float[Array, "2 ..."]) -> Float[Array, "2 ..."]:
    """Elimination of the first of two unknowns, from the row in which it has the larger coefficient."""
    rows = jnp.concatenate([matrix, right.reshape(2, -1)], axis=1)
    exchanged = jnp.abs(matrix[1, 0]) > jnp.abs(matrix[0, 0])
    first, second = jnp.where(exchanged, rows[::-1], rows)
    left = second - first * (second[0] / first[0])
    last = left[2:] / left[1]
    return jnp.stack([(first[2:] - first[1] * last) / first[0], last]).reshape(right.shape)


def _eliminate(matrix: Float[Array, "n n"], right: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """Elimination by Gauss and Jordan with the largest pivot of each column; rows stay where they are."""
    n = len(matrix)
    rows = jnp.arange(n)

    def clear_column(k, carry):
        table, unused, place = carry
        column = jax.lax.dynamic_index_in_dim(table, k, 1)
        best = jnp.argmax(jnp.where(unused, jnp.abs(column[:, 0]), -1.0))
        here = rows == best
        pivot = jax.lax.dynamic_index_in_dim(table, best, 0)
        pivot = pivot / jax.lax.dynamic_index_in_dim(pivot, k, 1)
        table = jnp.where(here[:, None], pivot, table - column * pivot)
        return table, unused & ~here, jnp.where(rows == k, best, place)

    table = jnp.concatenate([matrix, right.reshape(n, -1)], axis=1)
    table, _, place = jax.lax.fori_loop(0, n, clear_column, (table, jnp.ones(n, bool), jnp.zeros_like(rows)))
    return table[place, n:].reshape(right.shape)


def solve_tridiagonal(
    lower: Float[Array, " n"], diagonal: Float[Array, " n"], upper: Float[Array, " n"], right: Float[Array, "n ..."]
) -> Float[Array, "n ..."]:
    """Solution of a tridiagonal system without exchange of rows, in a time proportional to its size.

    For matrices that need none: positive definite ones, or those whose diagonals dominate.

    Args:
        lower: Entries left of the diagonal; the first is not used.
        diagonal: Entries on the diagonal.
        upper: Entries right of the diagonal; the last is not used.
        right: Right-hand side, or several side by side.
    """
    if jax.default_backend() != "cpu":
        columns = right.reshape(len(right), -1)
        return jax.lax.linalg.tridiagonal_solve(lower, diagonal, upper, columns).reshape(right.shape)

    def eliminate(before, row):
        (above, value), (low, middle, high, b) = before, row
        pivot = middle - low * above
        now = high / pivot, (b - low * value) / pivot
        return now, now

    def substitute(after, row):
        above, value = row
        x = value - above * after
        return x, x

    nothing = jnp.zeros((), right.dtype), jnp.zeros(right.shape[1:], right.dtype)
    _, reduced = jax.lax.scan(eliminate, nothing, (lower, diagonal, upper, right))
    return jax.lax.scan(substitute, nothing[1], reduced, reverse=True)[1]
