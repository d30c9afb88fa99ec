"""Linear systems with three diagonals, in a time proportional to their size."""

from __future__ import annotations

from jax.lax.linalg import tridiagonal_solve
from jaxtyping import Array, Float


def solve_tridiagonal(
    lower: Float[Array, " n"], diagonal: Float[Array, " n"], upper: Float[Array, " n"], right: Float[Array, " n"]
) -> Float[Array, " n"]:
    """Solution of a tridiagonal system, in a time proportional to its size.

    Args:
        lower: Entries left of the diagonal; the first is not used.
        diagonal: Entries on the diagonal.
        upper: Entries right of the diagonal; the last is not used.
        right: Right-hand side.
    """
    return tridiagonal_solve(lower, diagonal, upper, right[:, None])[:, 0]
