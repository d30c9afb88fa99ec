"""A function of small arrays for many lanes side by side."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saltus.numerics.scalars import (
    BatchesItselfError,
    CannotScalariseError,
    Scalars,
    as_inputs,
    as_table,
    evaluate,
    scalarize,
)


class SlowPathWarning(RuntimeWarning):
    """Many runs at once go slower than they might; what they give is the same."""


MANY = 512  # numbers among the arguments; beyond them a function is not taken apart


def side_by_side(function: Callable, lanes: Any, common: Any, name: str = "A function") -> Any:
    """`function(lanes, common)` for many lanes at once.

    It is taken apart into operations on single numbers, each of which becomes one on a vector of lanes: nothing small
    is sliced, stacked or transposed. Where that cannot be done it is `jax.vmap`, and a warning says so once.

    Args:
        function: Takes two trees of arrays, returns a tree of arrays.
        lanes: Arrays with the lanes as last axis.
        common: Arrays that are the same for all lanes; large ones (`MANY`) are tables that can only be looked up.
        name: What the warning calls it.

    Returns:
        What the function returns, with the lanes as last axis.
    """
    try:
        return _by_scalars(function, lanes, common)
    except CannotScalariseError as error:
        # A ball with a contact spot, 30,000 runs: 16 s of a core by the spot's own rule for many, 26 s as scalars.
        if not isinstance(error, BatchesItselfError):
            warn_of_slow_path(name, error)
        return jax.vmap(function, in_axes=(-1, None), out_axes=-1)(lanes, common)


@functools.lru_cache(maxsize=64)
def _warn(text: str) -> None:
    warnings.warn(text, SlowPathWarning, stacklevel=4)


def warn_of_slow_path(name: str, error: CannotScalariseError) -> None:
    """Say, once for each reason, that many runs go slower than they might."""
    _warn(f"{name} runs without the fast path for many runs at once, correct but slower: {error}")


def _by_scalars(function: Callable, lanes: Any, common: Any) -> Any:
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), lanes)
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), common)
    shapes = jax.tree.leaves((one, like))
    sizes = [int(np.prod(shape.shape)) for shape in shapes]
    own = len(jax.tree.leaves(lanes))
    tables = [k >= own and size > MANY for k, size in enumerate(sizes)]
    if sum(size for size, table in zip(sizes, tables, strict=True) if not table) > MANY:
        raise CannotScalariseError(f"It has more than {MANY} numbers.")
    first = jax.tree.leaves(lanes)[0]
    width = first.shape[-1]
    arguments, leaves = (one, like), jax.tree.leaves((lanes, common))
    for strict in (False, True):
        scalars = Scalars(strict)
        given = [
            as_table(scalars, shape.shape, shape.dtype, str(k))
            if tables[k]
            else as_inputs(scalars, np.empty(shape.shape, shape.dtype), str(k))
            for k, shape in enumerate(shapes)
        ]
        flat, tree = jax.tree.flatten(scalarize(function, arguments, given, scalars))
        nodes = [node for array in flat for node in array.ravel()]
        if scalars.shows_all(nodes):
            break
    values: dict = {}
    for k, (leaf, inputs) in enumerate(zip(leaves, given, strict=True)):
        if tables[k]:
            values[inputs.flat[0]] = leaf
            continue
        rows = leaf.reshape(inputs.size, width if k < own else 1)
        for node, row in zip(inputs.ravel(), rows, strict=True):
            values[node] = row if k < own else jnp.broadcast_to(row, (width,))
    made = iter(evaluate(nodes, values, jnp.zeros(width)))
    stacked = [
        jnp.stack([next(made) for _ in range(array.size)]).reshape(*array.shape, width)
        if array.size
        else jnp.zeros((*array.shape, width))
        for array in flat
    ]
    return jax.tree.unflatten(tree, stacked)
