"""A function of small arrays for many lanes side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saltus.numerics.scalars import Scalars, as_inputs, evaluate, scalarize

MANY = 512  # numbers among the arguments; beyond them a function is not taken apart


def side_by_side(function: Callable, lanes: Any, common: Any) -> Any:
    """`function(lanes, common)` for many lanes at once.

    It is taken apart into operations on single numbers, each of which becomes one on a vector of lanes: nothing small
    is sliced, stacked or transposed. Where that cannot be done it is `jax.vmap`.

    Args:
        function: Takes two trees of arrays, returns a tree of arrays.
        lanes: Arrays with the lanes as last axis.
        common: Arrays that are the same for all lanes.

    Returns:
        What the function returns, with the lanes as last axis.
    """
    try:
        return _by_scalars(function, lanes, common)
    except NotImplementedError:
        return jax.vmap(function, in_axes=(-1, None), out_axes=-1)(lanes, common)


def _by_scalars(function: Callable, lanes: Any, common: Any) -> Any:
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), lanes)
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), common)
    shapes = jax.tree.leaves((one, like))
    if sum(int(np.prod(shape.shape)) for shape in shapes) > MANY:
        raise NotImplementedError("too many numbers")
    first = jax.tree.leaves(lanes)[0]
    width = first.shape[-1]
    scalars = Scalars()
    given = [as_inputs(scalars, np.empty(shape.shape, shape.dtype), str(k)) for k, shape in enumerate(shapes)]
    values: dict = {}
    own = len(jax.tree.leaves(lanes))
    for k, (leaf, nodes) in enumerate(zip(jax.tree.leaves((lanes, common)), given, strict=True)):
        rows = leaf.reshape(nodes.size, -1)
        for node, row in zip(nodes.ravel(), rows, strict=True):
            values[node] = row if k < own else jnp.broadcast_to(row, (width,))
    results = scalarize(function, (one, like), given, scalars)
    flat, tree = jax.tree.flatten(results)
    nodes = [node for array in flat for node in array.ravel()]
    made = iter(evaluate(nodes, values, jnp.zeros(width)))
    stacked = [
        jnp.stack([next(made) for _ in range(array.size)]).reshape(*array.shape, width)
        if array.size
        else jnp.zeros((*array.shape, width))
        for array in flat
    ]
    return jax.tree.unflatten(tree, stacked)
