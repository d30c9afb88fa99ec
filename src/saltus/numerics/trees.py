"""Trees of arrays: states, results, whatever JAX takes apart."""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

Tree = TypeVar("Tree")


def choose(condition: Array, yes: Tree, no: Tree) -> Tree:
    """`yes` where the condition holds, else `no`, leaf by leaf."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
