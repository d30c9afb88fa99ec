"""Derivatives in both directions for functions that iterate."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
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


def linear_part(function: Callable[..., Any], *args: Any, rows: bool = False) -> Any:
    """`function(*args)` with a first derivative in both directions, whatever loops it holds.

    For functions of trees of arrays that return a tree of arrays of floats. The Jacobian is taken in forward mode, by
    the traced numbers of trees and by all arguments that are plain arrays of floats, so there should be few of them.
    It is one program, compiled once for all calls with the same function and shapes; the function is then replaced by
    its linear part. Second derivatives are lost.

    Args:
        function: One that is the same object at every call; defined in a module.
        args: Its arguments.
        rows: Whether all arrays have a first axis of rows, each an argument for itself.
    """
    if not any(_is_traced(leaf) for leaf in jax.tree.leaves(args)):
        return _values(function, args, rows)
    args = jax.tree.map(_strong, args)
    which = tuple(eqx.is_inexact_array(arg) or jax.tree.map(_is_traced, arg) for arg in args)
    numbers, rest = eqx.partition(args, which)
    about = jax.lax.stop_gradient(numbers)
    slopes, values = _jacobian(function, about, rest, rows)
    return _displace(values, slopes, numbers, about, rows)


def _is_traced(leaf: Any) -> bool:
    return eqx.is_inexact_array(leaf) and isinstance(leaf, Tracer)


def _strong(leaf: Any) -> Any:
    """The same number without JAX's mark of Python's floats, which would have everything compiled once more."""
    return jax.lax.convert_element_type(leaf, leaf.dtype) if eqx.is_inexact_array(leaf) else leaf


@eqx.filter_jit
def _values(function: Callable, args: tuple, rows: bool) -> Any:
    return (eqx.filter_vmap(function) if rows else function)(*args)


@eqx.filter_jit
def _jacobian(function: Callable, numbers: Any, rest: Any, rows: bool) -> tuple[Any, Any]:
    """For each leaf of the value its derivatives by all numbers, these on the last axis; and the value."""

    def of(numbers, rest):
        x, unpacked = ravel_pytree(numbers)

        def value(x):
            found = function(*eqx.combine(unpacked(x), rest))
            return found, found

        return jax.jacfwd(value, has_aux=True)(x)

    return (eqx.filter_vmap(of) if rows else of)(numbers, rest)


@eqx.filter_jit
def _displace(values: Any, slopes: Any, numbers: Any, about: Any, rows: bool) -> Any:
    """The value as it depends on the numbers."""

    def flat(tree):
        return ravel_pytree(tree)[0]

    change = jax.vmap(flat)(numbers) - jax.vmap(flat)(about) if rows else flat(numbers) - flat(about)

    def move(value, slope):
        return value + (jnp.einsum("r...x,rx->r...", slope, change) if rows else slope @ change)

    return jax.tree.map(move, values, slopes)
