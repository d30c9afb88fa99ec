"""Arrays of nodes: small arrays whose elements are scalars of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from saltus.numerics.scalars.graph import Node, Scalars

LARGE = 4096  # numbers; a larger table is data, not part of the program


def as_constants(scalars: Scalars, array) -> np.ndarray:
    """An array of numbers as an array of nodes."""
    array = np.asarray(array)
    if array.size > LARGE:
        return fill(array.shape, scalars.unknown(f"table of {array.size} numbers", array.dtype))
    return each(scalars.constant, array)


def as_inputs(scalars: Scalars, array, name: str) -> np.ndarray:
    """Nodes for the elements of an array that is given later; their places are `(name, number)`."""
    array = np.asarray(array)
    nodes = [scalars.input((name, k), array.dtype) for k in range(array.size)]
    return array_of(nodes, array.shape)


def array_of(nodes: Sequence[Node], shape) -> np.ndarray:
    """An array that holds these nodes."""
    out = np.empty(len(nodes), object)
    for k, node in enumerate(nodes):
        out[k] = node
    return out.reshape(shape)


def fill(shape, node: Node) -> np.ndarray:
    return array_of([node] * int(np.prod(shape, dtype=int)), shape)


def each(function: Callable, *arrays: np.ndarray) -> np.ndarray:
    """The function on each element; arrays without dimensions go with any others."""
    arrays = np.broadcast_arrays(*arrays)
    return array_of([function(*items) for items in zip(*(a.ravel() for a in arrays), strict=True)], arrays[0].shape)


def rows_of(array: np.ndarray) -> list[np.ndarray]:
    """The array cut along its first axis; each part is an array again, also a single element."""
    return [array[k : k + 1].reshape(array.shape[1:]) for k in range(len(array))]


def known_values(array: np.ndarray) -> np.ndarray | None:
    """The numbers in an array of constants; None if it holds anything else."""
    nodes = array.ravel()
    if not all(node.known for node in nodes):
        return None
    return np.array([node.value for node in nodes]).reshape(array.shape)
