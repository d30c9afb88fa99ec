"""Inverse square roots and quotients without branches, from a guess that is improved to third order.

The usual ones leave the straight path for numbers that are very small or very large. On a GPU such a branch
keeps what follows from being begun early; without it a long program of small operations runs up to half as
fast again. Both are right to the last bit or two; where the guess fails they give NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Operations = dict[str, Callable[..., Any]]


def from_single_precision() -> Operations:
    """Guesses in single precision: for numbers between 1e-38 and 1e38."""

    def inverse_root(x):
        return lax.convert_element_type(lax.rsqrt(lax.convert_element_type(x, jnp.float32)), x.dtype)

    def inverse(x):
        return lax.convert_element_type(1.0 / lax.convert_element_type(x, jnp.float32), x.dtype)

    return _refine(inverse_root, inverse)


def from_instructions() -> Operations:
    """Guesses from the instructions of NVIDIA's GPUs, which look at the upper half of a number; in kernels only."""
    from jax.experimental.pallas import triton

    def instruction(name: str):
        def guess(x):
            (found,) = triton.elementwise_inline_asm(
                f"{name}.approx.ftz.f64 $0, $1;",
                args=[x],
                constraints="=d,d",
                pack=1,
                result_shape_dtypes=[jax.ShapeDtypeStruct(x.shape, x.dtype)],
            )
            return found

        return guess

    return _refine(instruction("rsqrt"), instruction("rcp"))


def _refine(inverse_root: Callable, inverse: Callable) -> Operations:
    """Operations by name, as `scalars.evaluate` takes them."""

    def rsqrt(x):
        r = inverse_root(x)
        e = 1.0 - (x * r) * r
        return r + (r * e) * (0.5 + 0.375 * e)

    def div(a, b):
        if not jnp.issubdtype(b.dtype, jnp.floating):
            return lax.div(a, b)
        r = inverse(b)
        e = 1.0 - b * r
        return a * (r + r * (e + e * e))

    return {"rsqrt": rsqrt, "div": div}
