"""Linear systems with three diagonals, in a time proportional to their size."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


def solve_tridiagonal(
    lower: Float[Array, " n"], diagonal: Float[Array, " n"], upper: Float[Array, " n"], right: Float[Array, " n"]
) -> Float[Array, " n"]:
    """Solution of a tridiagonal system by elimination without pivoting (Thomas).

    Right for matrices that are positive definite or dominated by their diagonal. As quick as
    LAPACK on one processor, and it runs under `vmap`, `grad` and on any device.

    Args:
        lower: Entries left of the diagonal; the first is not used.
        diagonal: Entries on the diagonal.
        upper: Entries right of the diagonal; the last is not used.
        right: Right-hand side.
    """

    def eliminate(carry, row):
        ratio, value = carry
        low, middle, high, r = row
        pivot = 1.0 / (middle - low * ratio)
        carry = (high * pivot, (r - low * value) * pivot)
        return carry, carry

    def substitute(following, row):
        ratio, value = row
        x = value - ratio * following
        return x, x

    zero = jnp.zeros((), jnp.result_type(diagonal, right))
    rows = (lower.at[0].set(0.0), diagonal, upper, right)
    _, (ratios, values) = lax.scan(eliminate, (zero, zero), rows)
    return lax.scan(substitute, zero, (ratios.at[-1].set(0.0), values), reverse=True)[1]
