"""A surface written as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from saltus import checks
from saltus.numerics import formula
from saltus.surfaces.base import AbstractSurface, Values, broadcast, number, where_finite


class Expression(AbstractSurface):
    """Surface from arithmetic in x and y, read by a parser that accepts nothing else.

    Known are numbers, + - * / **, the functions sin cos tan asin acos atan atan2 sinh cosh tanh exp log
    sqrt abs hypot min max, the constants pi and e, and the names of the parameters.

    >>> valley = Expression("a*x**2 + b*y**2", {"a": 0.1, "b": 0.2})
    >>> round(float(valley.height(1.0, 2.0)), 12)
    0.9

    Args:
        text: Height [m] as arithmetic in x, y [m] and the parameters.
        parameters: Numbers by name; differentiable.
    """

    text: str = eqx.field(static=True)
    parameters: dict[str, Float[Array, ""]]

    def __init__(self, text: str, parameters: Mapping[str, Any] | None = None):
        self.text = text
        self.parameters = {name: number(value) for name, value in (parameters or {}).items()}
        formula.check_names(self.parameters, taken=("x", "y"))
        for name, value in self.parameters.items():
            checks.finite(f"parameters.{name}", value)
        # Going through it once finds constant parts that are no numbers, such as 1/0, before any run starts.
        try:
            jax.eval_shape(self.height, 0.0, 0.0)
        except ValueError as error:
            raise ValueError(str(error)) from None  # without what JAX adds about frames of its own

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        x, y = broadcast(x, y)
        value = formula.evaluate(self.text, {"x": x, "y": y, **self.parameters})
        return jnp.broadcast_to(jnp.asarray(value, float), x.shape)

    def margin(self, x: ArrayLike, y: ArrayLike) -> Values:
        return where_finite(self.height(x, y))
