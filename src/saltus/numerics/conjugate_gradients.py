"""Symmetric positive definite linear systems that are known by their products alone."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array


def solve(
    product: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    right: Array,
    tolerance: float | Array,
    max_steps: int,
) -> Array:
    """Solution of `product(x) = right` by preconditioned conjugate gradients, from x = 0.

    Not `jax.scipy.sparse.linalg.cg`: that ends by the residual itself, not in the norm of the preconditioner, and gives
    NaN where a direction has no curvature.

    Args:
        product: The matrix times a vector; symmetric positive definite where `right` is not zero.
        precondition: An approximate inverse times a vector; symmetric positive definite.
        right: Right-hand side, of any shape.
        tolerance: How far the residual falls, relative to `right`, in the norm of the preconditioner.
        max_steps: Steps after which the best so far is returned.
    """

    def going(carry):
        _, _, _, square, step = carry
        return (square > goal) & (step < max_steps)

    def body(carry):
        x, residual, direction, square, step = carry
        image = product(direction)
        # A direction of no curvature (rounding, or an exact solution) ends the search.
        curvature = jnp.sum(direction * image)
        length = jnp.where(curvature > 0.0, square / jnp.where(curvature > 0.0, curvature, 1.0), 0.0)
        x, residual = x + length * direction, residual - length * image
        nearer = precondition(residual)
        after = jnp.sum(residual * nearer)
        direction = nearer + (after / square) * direction
        return x, residual, direction, jnp.where(curvature > 0.0, after, 0.0), step + 1

    first = precondition(right)
    square = jnp.sum(right * first)
    goal = tolerance**2 * square
    start = (jnp.zeros_like(right), right, first, square, 0)
    return jax.lax.while_loop(going, body, start)[0]
