"""Sums, extremes and products of small arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from saltus.numerics.scalars.arrays import each, fill, rows_of
from saltus.numerics.scalars.graph import Scalars


def _neutral(op: str, dtype) -> np.ndarray:
    """What a reduction gives where there is nothing to reduce, such as the forces of no rods."""
    if op in ("max", "min"):
        sign, kind = (-1.0 if op == "max" else 1.0), np.dtype(dtype)
        limits = None if kind.kind == "f" else np.iinfo(kind)
        value = sign * np.inf if limits is None else (limits.min if op == "max" else limits.max)
    else:
        value = {"add": 0, "mul": 1, "and": True, "or": False}[op]
    return np.asarray(value, dtype)


def _reduction(op: str) -> Callable:
    def reduce(s: Scalars, eqn, array) -> np.ndarray:
        axes = eqn.params["axes"]
        shape = eqn.outvars[0].aval.shape
        rows = rows_of(np.moveaxis(array, axes, range(len(axes))).reshape(-1, *shape))
        if not rows:
            return fill(shape, s.constant(_neutral(op, eqn.outvars[0].aval.dtype)))
        out = rows[0]
        for row in rows[1:]:
            out = each(lambda a, b: s.operation(op, a, b), out, row)
        return out

    return reduce


def _cumulate(op: str) -> Callable:
    def cumulate(s: Scalars, eqn, array) -> np.ndarray:
        rows = np.moveaxis(array, eqn.params["axis"], 0)
        rows = rows_of(rows[::-1] if eqn.params["reverse"] else rows)
        for k in range(1, len(rows)):
            rows[k] = each(lambda a, b: s.operation(op, a, b), rows[k - 1], rows[k])
        rows = rows[::-1] if eqn.params["reverse"] else rows
        return np.moveaxis(np.stack(rows), 0, eqn.params["axis"])

    return cumulate


def _extreme(op: str) -> Callable:
    def place(s: Scalars, eqn, array) -> np.ndarray:
        (axis,) = eqn.params["axes"]
        dtype = eqn.params["index_dtype"]
        rows = rows_of(np.moveaxis(array, axis, 0))
        best, where = rows[0], fill(rows[0].shape, s.constant(np.zeros((), dtype)))
        for k in range(1, len(rows)):
            better = each(lambda a, b: s.operation(op, a, b), rows[k], best)
            best = each(lambda w, a, b: s.operation("select", w, a, b), better, rows[k], best)
            number = s.constant(np.asarray(k, dtype))
            where = each(lambda w, b, number=number: s.operation("select", w, number, b), better, where)
        return where

    return place


def _product(s: Scalars, eqn, left, right) -> np.ndarray:
    (over_left, over_right), (batch_left, batch_right) = eqn.params["dimension_numbers"]
    left = np.moveaxis(left, (*batch_left, *over_left), range(len(batch_left) + len(over_left)))
    right = np.moveaxis(right, (*batch_right, *over_right), range(len(batch_right) + len(over_right)))
    n, m = len(batch_left), len(over_left)
    shape = eqn.outvars[0].aval.shape
    if not left.size or not right.size:
        return fill(shape, s.constant(_neutral("add", eqn.outvars[0].aval.dtype)))
    batch = left.shape[:n]
    out = np.empty((int(np.prod(batch, dtype=int)), *shape[n:]), object)
    lefts, rights = left.reshape(-1, *left.shape[n:]), right.reshape(-1, *right.shape[n:])
    for k in range(out.shape[0]):
        a = lefts[k].reshape(-1, *left.shape[n + m :])
        b = rights[k].reshape(-1, *right.shape[n + m :])
        a = a.reshape(*a.shape, *(1,) * (right.ndim - n - m))
        b = b.reshape(b.shape[0], *(1,) * (left.ndim - n - m), *b.shape[1:])
        terms = [
            each(lambda x, y: s.operation("mul", x, y), one, other)
            for one, other in zip(rows_of(a), rows_of(b), strict=True)
        ]
        total = functools.reduce(lambda p, q: each(lambda x, y: s.operation("add", x, y), p, q), terms)
        out[k : k + 1] = total[None]
    return out.reshape(shape)


RULES = {
    "reduce_sum": _reduction("add"),
    "reduce_prod": _reduction("mul"),
    "reduce_max": _reduction("max"),
    "reduce_min": _reduction("min"),
    "reduce_and": _reduction("and"),
    "reduce_or": _reduction("or"),
    "cumsum": _cumulate("add"),
    "cumprod": _cumulate("mul"),
    "cummax": _cumulate("max"),
    "cummin": _cumulate("min"),
    "argmax": _extreme("gt"),
    "argmin": _extreme("lt"),
    "dot_general": _product,
}
