"""The form of a state: how a tree of named numbers and arrays lies in one vector."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


@dataclasses.dataclass(frozen=True)
class Form:
    """Names and shapes of the leaves of a tree, in the order in which they lie in the vector.

    Args:
        structure: The tree.
        names: A name for each leaf: the keys on the way to it, joined by underscores; "y" for a bare array.
        shapes: The shape of each leaf.
    """

    structure: Any
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(tree: Any) -> Form:
        """The form of a state; `TypeError` where a leaf is no number."""
        paths, structure = jax.tree_util.tree_flatten_with_path(tree)
        if not paths:
            raise ValueError(f"The state must hold at least one number, got {tree!r}.")
        names = tuple("_".join(_key(entry) for entry in path) or "y" for path, _ in paths)
        for name, (_, leaf) in zip(names, paths, strict=True):
            _check_leaf(name, leaf)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"Two parts of the state would be called {twice!r}. Rename one of them.")
        return Form(structure, names, tuple(jnp.shape(leaf) for _, leaf in paths))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers each leaf has."""
        return tuple(int(np.prod(shape)) for shape in self.shapes)

    def vector(self, tree: Any, what: str) -> Array:
        """The leaves in one vector; `TypeError` that begins with `what` for a tree of another form."""
        leaves, structure = jax.tree.flatten(tree)
        if structure != self.structure:
            raise TypeError(f"{what} must have the form of the state, {self.structure}, got {structure}.")
        parts = []
        for name, shape, leaf in zip(self.names, self.shapes, leaves, strict=True):
            if jnp.shape(leaf) != shape:
                raise TypeError(f"{what} must have shape {shape} in {name!r}, as the state has, got {jnp.shape(leaf)}.")
            parts.append(jnp.ravel(jnp.asarray(leaf, float)))
        return jnp.concatenate(parts)

    def leaves(self, vector: Array) -> list[Array]:
        """The leaves of a vector; leading axes of stacked vectors stay in front."""
        ends = np.cumsum(self.sizes)
        parts = [vector[..., end - size : end] for end, size in zip(ends, self.sizes, strict=True)]
        return [part.reshape(*vector.shape[:-1], *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def tree(self, vector: Array) -> Any:
        """The tree of a vector."""
        return jax.tree.unflatten(self.structure, self.leaves(vector))


def _key(entry: Any) -> str:
    """One step on the way to a leaf, in words."""
    for attribute in ("key", "name", "idx"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def _check_leaf(name: str, leaf: Any) -> None:
    if not isinstance(leaf, int | float | complex | np.ndarray | np.generic | jax.Array):
        raise TypeError(f"The part {name!r} of the state must be a number or an array, got {leaf!r}.")
    kind = jnp.result_type(leaf)
    if kind == jnp.bool_ or jnp.issubdtype(kind, jnp.complexfloating):
        raise TypeError(f"The part {name!r} of the state is {kind}; a state holds real numbers. Use modes for choices.")
    if isinstance(leaf, jax.Array | np.ndarray) and kind == jnp.float32:
        raise TypeError(f"The part {name!r} of the state is float32; events need float64. Import saltus before JAX.")
