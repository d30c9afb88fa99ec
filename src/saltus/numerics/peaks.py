"""The highest point between samples."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def highest(samples: Float[Array, "n ..."]) -> Float[Array, "..."]:
    """Largest value of the parabolas through every three neighbours of equally spaced samples."""
    before, here, after = samples[:-2], samples[1:-1], samples[2:]
    bend, tilt = 2.0 * here - before - after, after - before
    peaked = (bend > 0.0) & (jnp.abs(tilt) <= 2.0 * bend)  # the top lies between the three
    rise = jnp.where(peaked, tilt**2 / (8.0 * jnp.where(peaked, bend, 1.0)), 0.0)
    return jnp.maximum((here + rise).max(axis=0), jnp.maximum(samples[0], samples[-1]))
