"""Numbers as arrays of JAX without a program: `jnp.asarray` compiles one for every shape and type it converts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def numbers(value: Any, dtype: Any = float) -> Array:
    """`value` as an array of this type; numbers that JAX traces stay traced."""
    if isinstance(value, jax.Array):
        return jnp.asarray(value, dtype)
    try:
        known = np.asarray(value, dtype)
    except jax.errors.TracerArrayConversionError:  # in a list
        return jnp.asarray(value, dtype)
    return jax.device_put(known)


def join_numbers(*parts: Any) -> Array:
    """Numbers and lists of them one after the other, as `numbers` gives them."""
    try:
        known = [np.atleast_1d(np.asarray(part, float)) for part in parts]
    except jax.errors.TracerArrayConversionError:
        return jnp.concatenate([jnp.atleast_1d(jnp.asarray(part, float)) for part in parts])
    return jax.device_put(np.concatenate(known))


def stack_numbers(*parts: Any) -> Array:
    """Arrays of one shape as one array with a new first axis, as `numbers` gives them."""
    try:
        known = [np.asarray(part) for part in parts]
    except jax.errors.TracerArrayConversionError:
        return jnp.stack([jnp.asarray(part) for part in parts])
    return jax.device_put(np.stack(known))
