"""Derivatives in both directions for functions that iterate."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
from jaxtyping import Array


def by_forward_jacobian(function: Callable[..., Array]) -> Callable[..., Array]:
    """Make a function of a few scalars differentiable in reverse mode as well.

    JAX cannot run a `while_loop` backwards. Here the whole Jacobian is taken in forward mode,
    one column per scalar argument, and the chain rule is a small matrix product that JAX can
    transpose. For functions of few scalars that return one array.
    """

    @jax.custom_jvp
    @functools.wraps(function)
    def wrapped(*args: Array) -> Array:
        return function(*args)

    @wrapped.defjvp
    def _jvp(primals, tangents):
        columns = jax.jacfwd(function, argnums=tuple(range(len(primals))))(*primals)
        return function(*primals), sum(c * t for c, t in zip(columns, tangents, strict=True))

    return wrapped
