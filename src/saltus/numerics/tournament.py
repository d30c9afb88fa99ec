"""The smallest of many numbers, kept up to date in place: a binary tree in one array.

Entry 1 is the smallest number, entries 2 k and 2 k + 1 are what entry k was chosen from; the numbers themselves
begin in the middle of the array. A change costs one turn per level, whatever the size.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def leaves(count: int) -> int:
    """How many numbers a tree for `count` has: the next power of two."""
    return 1 << max(count - 1, 1).bit_length()


def tree(numbers: np.ndarray) -> np.ndarray:
    """The tree of these numbers; places beyond them hold infinity."""
    level = np.full(leaves(numbers.size), np.inf, numbers.dtype)
    level[: numbers.size] = numbers
    levels = [level]
    while level.size > 1:
        level = np.minimum(level[0::2], level[1::2])
        levels.append(level)
    return np.concatenate([np.full(1, np.inf, numbers.dtype), *reversed(levels)])


def smallest(tree: Array) -> tuple[Array, Array]:
    """Place and value of the smallest number; of equal ones the first."""
    half = tree.size // 2
    value = tree[1]

    def down(_, k):
        k = 2 * k
        return jnp.where(tree[k] == value, k, k + 1)

    return jax.lax.fori_loop(0, half.bit_length() - 1, down, jnp.int32(1)) - half, value


def replace(tree: Array, place: Array, value: Array) -> Array:
    """The tree with another number at a place."""
    half = tree.size // 2
    k = (place + half).astype(jnp.int32)
    tree = jax.lax.dynamic_update_slice(tree, jnp.reshape(value, 1), (k,))

    def up(_, carry):
        k, tree = carry
        k = k // 2
        pair = jax.lax.dynamic_slice(tree, (2 * k,), (2,))
        return k, jax.lax.dynamic_update_slice(tree, jnp.minimum(pair[0:1], pair[1:2]), (k,))

    return jax.lax.fori_loop(0, half.bit_length() - 1, up, (k, tree))[1]
