"""Derivatives in both directions for functions that iterate."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jax.flatten_util import ravel_pytree
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
        parts = [c * t for c, t in zip(columns, tangents, strict=True)]
        return function(*primals), functools.reduce(operator.add, parts)

    return wrapped


def linearised(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)` with a first derivative in both directions, whatever loops it holds.

    For functions of arbitrary trees of arrays that return one array. The Jacobian is taken in forward mode, so there
    should be few numbers in `args`; the function is then replaced by its linear part.
    """
    numbers, rest = eqx.partition(args, eqx.is_inexact_array)
    x, unpacked = ravel_pytree(numbers)

    def of(x):
        value = function(*eqx.combine(unpacked(x), rest))
        return value, value

    about = jax.lax.stop_gradient(x)
    slope, value = jax.jacfwd(of, has_aux=True)(about)
    return value + slope @ (x - about)
