"""How XLA compiles loops."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def in_pieces(number: Float[Array, ""]) -> Float[Array, ""]:
    """The same number; a loop around this is compiled kernel by kernel, and only the loops within it as one piece.

    Loops are compiled as one piece for their speed (`_jax_settings`). For a loop that holds all modes, searches and
    jumps of a long system that takes many minutes. XLA leaves alone loops in which it finds a sort.
    """
    return jax.lax.sort(jax.lax.optimization_barrier(jnp.stack([number, number])))[0]
