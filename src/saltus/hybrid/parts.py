"""Named parts of a state, and how they lie in one array where a stepper wants one."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.hybrid.record import Record

# What an array can do, and its parts therefore too.
LIKE_ARRAYS = frozenset((
    "all", "any", "argmax", "argmin", "astype", "at", "copy", "flatten", "item", "max", "mean", "min", "prod", "ravel",
    "reshape", "std", "sum", "tolist", "T", "transpose", "var",
))  # fmt: skip


def part(axes: int = 0) -> Any:
    """A field of `Parts`: a number (no axes), or a vector (one)."""
    return eqx.field(metadata={"axes": axes})


class Parts(Record):
    """Numbers and vectors with names that make up `q`, `v`, `ledger` or `mode` of a state.

    Each field is declared as `name: Array = part()` or `part(1)`; None stands for one that is not there. Further axes
    in front (of stacked states, of many bodies) are the same in all of them. Systems read and write the fields;
    engines ask for the one array (`array`) in which they follow one another along the last axis. NumPy and JAX take
    that array for the parts themselves, so `np.asarray(state.q)` and `state.q[0]` hold whatever the names are.

    >>> class Place(Parts):
    ...     angle: Array = part(1)
    ...     height: Array = part()
    >>> Place(angle=np.array([0.1, 0.2]), height=np.array(3.0)).array()
    array([0.1, 0.2, 3. ])
    """

    def array(self) -> Array:
        """All fields, one after the other along the last axis; whole numbers for flags."""
        return as_array(self)

    def refill(self, array: Any) -> Self:
        """Parts of this form and these types whose array is the given one; it may have further axes in front."""
        return refill(self, array)

    def replace(self, **fields: Any) -> Self:
        """The same parts with other values in some fields."""
        return dataclasses.replace(self, **fields)

    # ---- as an array -------------------------------------------------------------------------------

    def __jax_array__(self) -> Array:
        return jnp.asarray(as_array(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(_join(self, np), dtype)  # by NumPy: JAX would compile it; a copy in any case

    def __getitem__(self, index: Any) -> Array:
        return as_array(self)[index]

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        # By `__getitem__` alone Python would never end: JAX takes the last number for all that are beyond it.
        return iter(as_array(self))

    def __add__(self, other: Any) -> Array:
        return as_array(self) + as_array(other)

    def __sub__(self, other: Any) -> Array:
        return as_array(self) - as_array(other)

    def __mul__(self, other: Any) -> Array:
        return as_array(self) * as_array(other)

    def __truediv__(self, other: Any) -> Array:
        return self.array() / as_array(other)

    def __radd__(self, other: Any) -> Array:
        return other + self.array()

    def __rsub__(self, other: Any) -> Array:
        return other - self.array()

    def __rmul__(self, other: Any) -> Array:
        return other * self.array()

    def __neg__(self) -> Array:
        return -self.array()

    def __abs__(self) -> Array:
        return abs(self.array())

    if not TYPE_CHECKING:  # a type checker should know the fields, and no others

        def __getattr__(self, name: str) -> Any:
            """What arrays can do beside that: `state.v.max()`, `state.q.ravel()`, `state.q.at[0]`."""
            if name in LIKE_ARRAYS:
                return getattr(as_array(self), name)
            raise AttributeError(f"{type(self).__name__!r} has no part {name!r}; it has {', '.join(self._names())}.")

    def _names(self) -> list[str]:
        return [name for name, _ in _axes(type(self))]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        shapes = [(value.shape, axes) for value, axes in _fields(self)]
        (first, axes), *_ = shapes
        return *first[: len(first) - axes], sum(shape[-1] if axes else 1 for shape, axes in shapes)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of axes of the array."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return np.result_type(*(value.dtype for value, _ in _fields(self)))


# Functions, not methods: equinox makes an object of every method that is asked for, which would be most of their time.


@functools.cache
def _axes(kind: type) -> tuple[tuple[str, int], ...]:
    """Name and number of axes of each field of a class of parts."""
    return tuple((field.name, field.metadata["axes"]) for field in dataclasses.fields(kind))


def _fields(parts: Parts) -> list[tuple[Any, int]]:
    """Value and number of axes of each field that is there."""
    values = vars(parts)
    return [(values[name], axes) for name, axes in _axes(type(parts)) if values[name] is not None]


def _join(parts: Parts, xp: Any) -> Any:
    values = [(xp.asarray(value), axes) for value, axes in _fields(parts)]
    rows = [value if axes else value[..., None] for value, axes in values]
    return xp.concatenate([row.astype(int) if row.dtype == bool else row for row in rows], axis=-1)


def as_array(part: Any) -> Any:
    """A part of a state as one array, whether it has names or not."""
    if not isinstance(part, Parts):
        return part
    known = all(isinstance(value, np.ndarray | np.generic) for value, _ in _fields(part))
    return _join(part, np if known else jnp)


def as_numpy(part: Any) -> Any:
    """A part of a state whose numbers are known as one NumPy array.

    Quicker than `np.asarray`, which asks a part for many methods. Programs take such numbers as they are, and Python
    reads them five times as fast.
    """
    return _join(part, np) if isinstance(part, Parts) else np.asarray(part)


def refill(like: Any, array: Any) -> Any:
    """An array as a part of a state of the form of `like`; it may have further axes in front."""
    if not isinstance(like, Parts):
        return array
    # Of known numbers NumPy takes the parts: JAX would compile a program for each.
    known = isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer)
    whole = np.asarray(array) if known else array
    pieces, begin = [], 0
    for old, axes in _fields(like):
        end = begin + (old.shape[-1] if axes else 1)
        piece = whole[..., begin:end] if axes else whole[..., begin]
        pieces.append(piece.astype(old.dtype) if piece.dtype != old.dtype else piece)
        begin = end
    return jax.tree.unflatten(jax.tree.structure(like), jax.device_put(pieces) if known else pieces)


def shift(part: Any, rate: Any, h: Any) -> Any:
    """`part + h rate`, name by name."""
    return jax.tree.map(lambda value, slope: value + h * slope, part, rate)
