"""Any JAX function as a surface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike

from saltus import checks
from saltus.surfaces.base import AbstractSurface, Values, broadcast, number, where_finite


class Graph(AbstractSurface):
    """Surface z = function(x, y, **parameters); gradient and curvature come by differentiation.

    The function is called with two numbers, is made of JAX operations, and is twice continuously
    differentiable where masses go. `parameters` are differentiable leaves; numbers that the function
    captures otherwise are constants.

    >>> bowl = Graph(lambda x, y, a: a * x**2 + y**2, parameters={"a": 0.5})
    >>> float(bowl.height(2.0, 1.0))
    3.0

    Args:
        function: Height [m] of x, y [m]; an `equinox.Module` with `__call__` works too.
        parameters: Numbers handed to the function by name.
        margin_function: Positive where the surface is defined, falling through zero at its border; without
            it the surface is defined where its height is finite.
    """

    function: Callable[..., Any]
    margin_function: Callable[..., Any] | None

    def __init__(
        self,
        function: Any,
        parameters: Mapping[str, Any] | None = None,
        margin_function: Callable[..., Any] | None = None,
    ):
        if not callable(function):
            raise ValueError(f"`function` must be a function of x and y, got {function!r}.")
        numbers = {name: number(value) for name, value in (parameters or {}).items()}
        for name, value in numbers.items():
            checks.finite(name, value)
        self.function = _as_tree(function, numbers)
        self.margin_function = None if margin_function is None else _as_tree(margin_function, {})
        for name, one in (("function", self.function), ("margin_function", self.margin_function)):
            if one is not None:
                _check_traceable(name, one)

    def height(self, x: ArrayLike, y: ArrayLike) -> Values:
        return _elementwise(self.function, x, y)

    def margin(self, x: ArrayLike, y: ArrayLike) -> Values:
        if self.margin_function is None:
            return where_finite(self.height(x, y))
        return _elementwise(self.margin_function, x, y)


def _as_tree(function: Callable[..., Any], numbers: dict[str, Any]) -> Callable[..., Any]:
    """The function with its numbers as leaves and nothing else, so that plain jit and vmap accept it."""
    if not numbers and isinstance(function, eqx.Module) and callable(function):
        return function
    return jax.tree_util.Partial(function, **numbers)


def _check_traceable(name: str, function: Callable[..., Any]) -> None:
    """Refuse, with a sentence, what could not be differentiated later."""
    number = jax.ShapeDtypeStruct((), float)
    try:
        found = jax.eval_shape(function, number, number)
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
        raise TypeError(
            f"`{name}` of a Graph must be made of JAX operations: write jnp.sin for np.sin or math.sin, and jnp.where "
            "for if."
        ) from error
    except TypeError as error:
        raise TypeError(f"`{name}` of a Graph must be a function of x and y: {error}.") from error
    if getattr(found, "shape", None) != ():
        raise TypeError(f"`{name}` of a Graph must give one number, the height at x and y, got {found}.")


def _elementwise(function: Callable[..., Any], x: ArrayLike, y: ArrayLike) -> Values:
    x, y = broadcast(x, y)
    return jnp.vectorize(lambda a, b: jnp.asarray(function(a, b), float))(x, y)
