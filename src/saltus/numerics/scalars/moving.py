"""Primitives that move elements about, with indices that are known beforehand."""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from saltus.numerics.scalars.arrays import array_of, as_constants, known_values, rows_of
from saltus.numerics.scalars.graph import CannotScalariseError, Scalars


def _reshape(s: Scalars, eqn, array, *_) -> np.ndarray:
    return array.reshape(eqn.outvars[0].aval.shape)


def _spread(s: Scalars, eqn, array, *_) -> np.ndarray:
    shape, places = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    sizes = [1] * len(shape)
    for axis, place in enumerate(places):
        sizes[place] = array.shape[axis]
    return np.broadcast_to(array.reshape(sizes), shape)


def _slice(s: Scalars, eqn, array) -> np.ndarray:
    p = eqn.params
    strides = p["strides"] or (1,) * array.ndim
    return array[tuple(slice(*part) for part in zip(p["start_indices"], p["limit_indices"], strides, strict=True))]


def _concatenate(s: Scalars, eqn, *arrays) -> np.ndarray:
    return np.concatenate(arrays, axis=eqn.params["dimension"])


def _stack(s: Scalars, eqn, *arrays) -> np.ndarray:
    return np.stack(arrays, axis=eqn.params["axis"])


def _unstack(s: Scalars, eqn, array) -> list[np.ndarray]:
    return rows_of(np.moveaxis(array, eqn.params["axis"], 0))


def _split_array(s: Scalars, eqn, array) -> list[np.ndarray]:
    return np.split(array, np.cumsum(eqn.params["sizes"])[:-1], axis=eqn.params["axis"])


def _transpose(s: Scalars, eqn, array) -> np.ndarray:
    return array.transpose(eqn.params["permutation"])


def _iota(s: Scalars, eqn) -> np.ndarray:
    shape, axis = eqn.params["shape"], eqn.params["dimension"]
    sizes = [-1 if k == axis else 1 for k in range(len(shape))]
    count = np.arange(shape[axis]).astype(eqn.params["dtype"]).reshape(sizes)
    return as_constants(s, np.broadcast_to(count, shape))


def _move_labels(s: Scalars, eqn, *arrays) -> np.ndarray:
    """Moving of elements with known indices: done once with labels in place of the elements."""
    labels, known, pool = [], [], []
    for k, array in enumerate(arrays):
        if k in _MOVED[eqn.primitive.name]:
            labels.append(np.arange(len(pool), len(pool) + array.size).reshape(array.shape))
            pool.extend(array.ravel())
        else:
            values = known_values(array)
            if values is None:
                raise CannotScalariseError(f"{eqn.primitive.name} with indices that are computed")
            known.append(k)
            labels.append(values)
    params = dict(eqn.params)
    if "fill_value" in params:
        params["fill_value"] = -1
    with jax.ensure_compile_time_eval():
        moved = np.asarray(eqn.primitive.bind(*map(jax.numpy.asarray, labels), **params))
    dtype = eqn.outvars[0].aval.dtype
    beyond = s.constant(np.asarray(np.nan if np.issubdtype(dtype, np.floating) else 0, dtype))
    return array_of([pool[k] if k >= 0 else beyond for k in moved.ravel()], moved.shape)


def _scatter(s: Scalars, eqn, array, indices, updates) -> np.ndarray:
    """Elements put, added, ... at known places."""
    where = known_values(indices)
    if where is None:
        raise CannotScalariseError(f"{eqn.primitive.name} with indices that are computed")
    how = {name: eqn.params[name] for name in ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")}
    out = array.copy().reshape(-1)
    combine = {"scatter": None, "scatter-add": "add", "scatter-mul": "mul", "scatter-max": "max", "scatter-min": "min"}
    op = combine[eqn.primitive.name]
    if op == "max" and array.ravel()[0].dtype == bool:
        op = "or"
    if op == "min" and array.ravel()[0].dtype == bool:
        op = "and"
    with jax.ensure_compile_time_eval():
        for k, node in enumerate(updates.ravel()):
            mark = np.zeros(updates.size, np.int64)
            mark[k] = 1
            # Added, not put: of two updates at one place the later would hide the earlier.
            hit = lax.scatter_add(jax.numpy.zeros(array.shape, int), where, mark.reshape(updates.shape), **how)
            for place in np.flatnonzero(np.asarray(hit).ravel()):
                out[place] = node if op is None else s.operation(op, out[place], node)
    return out.reshape(array.shape)


_MOVED = {"gather": (0,), "pad": (0, 1), "rev": (0,), "dynamic_slice": (0,), "dynamic_update_slice": (0, 1)}
RULES = {
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshape),
    **dict.fromkeys(_MOVED, _move_labels),
    **dict.fromkeys(("scatter", "scatter-add", "scatter-mul", "scatter-max", "scatter-min"), _scatter),
    "broadcast_in_dim": _spread,
    "slice": _slice,
    "concatenate": _concatenate,
    "stack": _stack,
    "unstack": _unstack,
    "split": _split_array,
    "transpose": _transpose,
    "iota": _iota,
}
