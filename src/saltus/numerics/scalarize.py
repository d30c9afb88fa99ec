"""A function of small arrays, element by element: its JAX program rewritten as operations on scalars.

Where many lanes run the same small program, each element of each small array becomes a vector over the
lanes: nothing is stacked, sliced or transposed any more, and what constants make trivial is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend import core as jex

from saltus.numerics.scalars import Node, Scalars, is_whole, power

LARGE = 4096  # numbers; a larger table is data, not part of the program
LONG = 64  # turns; longer loops are not unrolled

Rule = Callable[..., Any]


def scalarize(function: Callable, arguments: Any, given: Sequence[np.ndarray], scalars: Scalars) -> Any:
    """The results of `function`, as arrays of nodes.

    Args:
        function: Takes and returns trees of arrays.
        arguments: Arguments like those it is called with, one tuple.
        given: For each leaf of the arguments an array of nodes of its shape.
        scalars: Makes the nodes.
    """
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    outputs = _closed(scalars, closed, list(given))
    return jax.tree.unflatten(jax.tree.structure(shape), outputs)


def as_constants(scalars: Scalars, array) -> np.ndarray:
    """An array of numbers as an array of nodes."""
    array = np.asarray(array)
    if array.size > LARGE:
        return _filled(array.shape, scalars.unknown(f"table of {array.size} numbers", array.dtype))
    return _each(scalars.constant, array)


def as_inputs(scalars: Scalars, array, name: str) -> np.ndarray:
    """Nodes for the elements of an array that is given later; their places are `(name, number)`."""
    array = np.asarray(array)
    nodes = [scalars.input((name, k), array.dtype) for k in range(array.size)]
    return _array(nodes, array.shape)


def _array(nodes: Sequence[Node], shape) -> np.ndarray:
    """An array that holds these nodes."""
    out = np.empty(len(nodes), object)
    for k, node in enumerate(nodes):
        out[k] = node
    return out.reshape(shape)


def _filled(shape, node: Node) -> np.ndarray:
    return _array([node] * int(np.prod(shape, dtype=int)), shape)


def _each(function: Callable, *arrays: np.ndarray) -> np.ndarray:
    """The function on each element; arrays without dimensions go with any others."""
    arrays = np.broadcast_arrays(*arrays)
    return _array([function(*items) for items in zip(*(a.ravel() for a in arrays), strict=True)], arrays[0].shape)


def _rows(array: np.ndarray) -> list[np.ndarray]:
    """The array cut along its first axis; each part is an array again, also a single element."""
    return [array[k : k + 1].reshape(array.shape[1:]) for k in range(len(array))]


def _values(array: np.ndarray) -> np.ndarray | None:
    """The numbers in an array of constants; None if it holds anything else."""
    nodes = array.ravel()
    if not all(node.known for node in nodes):
        return None
    return np.array([node.value for node in nodes]).reshape(array.shape)


def _closed(s: Scalars, closed, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return _program(s, closed.jaxpr, [as_constants(s, c) for c in closed.consts], inputs)


def _program(s: Scalars, jaxpr, constants: list[np.ndarray], inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a JAX program."""
    env: dict[Any, np.ndarray] = {}

    def read(var) -> np.ndarray:
        return as_constants(s, var.val) if isinstance(var, jex.Literal) else env[var]

    for var, value in zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *inputs), strict=True):
        env[var] = value
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        rule = RULES.get(name)
        values = [read(var) for var in eqn.invars]
        try:
            if rule is None:
                raise NotImplementedError(name)
            outputs = rule(s, eqn, *values)
        except NotImplementedError as error:
            told = str(error) or name
            outputs = [_filled(var.aval.shape, s.unknown(told, var.aval.dtype)) for var in eqn.outvars]
        if isinstance(outputs, np.ndarray):
            outputs = [outputs]
        for var, value in zip(eqn.outvars, outputs, strict=True):
            env[var] = value
    return [read(var) for var in jaxpr.outvars]


# ---- element by element ---------------------------------------------------------------------------


def _elementwise(s: Scalars, eqn, *arrays) -> np.ndarray:
    """A primitive that scalars know by name."""
    name = _NAMES.get(eqn.primitive.name, eqn.primitive.name)
    dtype = eqn.outvars[0].aval.dtype
    return _each(lambda *nodes: s.operation(name, *nodes, dtype=dtype), *arrays)


def _bound(s: Scalars, eqn, *arrays) -> np.ndarray:
    """Any other primitive that works element by element."""
    primitive, params = eqn.primitive, dict(eqn.params)
    key = tuple(sorted((name, repr(value)) for name, value in params.items()))
    dtype = eqn.outvars[0].aval.dtype

    def bind(*values):
        return primitive.bind(*values, **params)

    return _each(lambda *nodes: s.operation(primitive.name, *nodes, dtype=dtype, key=key, bind=bind), *arrays)


def _converted(s: Scalars, eqn, array) -> np.ndarray:
    dtype = np.dtype(eqn.params["new_dtype"])

    def one(node: Node) -> Node:
        if node.dtype == dtype:
            return node
        if node.known:
            return s.constant(np.asarray(node.value, dtype))
        return s.operation(
            "convert", node, dtype=dtype, key=dtype, bind=lambda x: lax.convert_element_type(x, dtype)
        )  # fmt: skip

    return _each(one, array)


def _powered(s: Scalars, eqn, array) -> np.ndarray:
    return _each(lambda node: power(s, node, eqn.params["y"]), array)


def _squared(s: Scalars, eqn, array) -> np.ndarray:
    return _each(lambda node: s.operation("mul", node, node), array)


def _raised(s: Scalars, eqn, base, exponent) -> np.ndarray:
    values = _values(exponent)
    if values is None or not all(is_whole(2.0 * value) for value in values.ravel()):
        return _bound(s, eqn, base, exponent)

    def one(node: Node, exponent: Node) -> Node:
        twice = int(2 * exponent.value)
        whole = power(s, node, twice // 2) if twice > 1 else None
        if twice == 1 or (twice > 0 and twice % 2):
            root = s.operation("sqrt", node)
            return root if whole is None else s.operation("mul", whole, root)
        return power(s, node, twice // 2) if twice % 2 == 0 else power(s, s.operation("sqrt", node), twice)

    return _each(one, base, exponent)


def _selected(s: Scalars, eqn, which, *cases) -> np.ndarray:
    if eqn.invars[0].aval.dtype == bool:
        return _each(lambda w, no, yes: s.operation("select", w, yes, no), which, *cases)

    def one(w: Node, *nodes: Node) -> Node:
        out = nodes[-1]
        for k in range(len(nodes) - 2, -1, -1):
            out = s.operation("select", s.operation("le", w, s.constant(np.asarray(k, w.dtype))), nodes[k], out)
        return out

    return _each(one, which, *cases)


def _clamped(s: Scalars, eqn, low, array, high) -> np.ndarray:
    return _each(lambda a, x, b: s.operation("min", s.operation("max", x, a), b), low, array, high)


def _same(s: Scalars, eqn, *arrays) -> list[np.ndarray]:
    return list(arrays)


# ---- moving elements about ------------------------------------------------------------------------


def _reshaped(s: Scalars, eqn, array, *_) -> np.ndarray:
    return array.reshape(eqn.outvars[0].aval.shape)


def _spread(s: Scalars, eqn, array, *_) -> np.ndarray:
    shape, places = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    sizes = [1] * len(shape)
    for axis, place in enumerate(places):
        sizes[place] = array.shape[axis]
    return np.broadcast_to(array.reshape(sizes), shape)


def _sliced(s: Scalars, eqn, array) -> np.ndarray:
    p = eqn.params
    strides = p["strides"] or (1,) * array.ndim
    return array[tuple(slice(*part) for part in zip(p["start_indices"], p["limit_indices"], strides, strict=True))]


def _joined(s: Scalars, eqn, *arrays) -> np.ndarray:
    return np.concatenate(arrays, axis=eqn.params["dimension"])


def _stacked(s: Scalars, eqn, *arrays) -> np.ndarray:
    return np.stack(arrays, axis=eqn.params["axis"])


def _unstacked(s: Scalars, eqn, array) -> list[np.ndarray]:
    return _rows(np.moveaxis(array, eqn.params["axis"], 0))


def _parted(s: Scalars, eqn, array) -> list[np.ndarray]:
    return np.split(array, np.cumsum(eqn.params["sizes"])[:-1], axis=eqn.params["axis"])


def _transposed(s: Scalars, eqn, array) -> np.ndarray:
    return array.transpose(eqn.params["permutation"])


def _counted(s: Scalars, eqn) -> np.ndarray:
    shape, axis = eqn.params["shape"], eqn.params["dimension"]
    sizes = [-1 if k == axis else 1 for k in range(len(shape))]
    count = np.arange(shape[axis]).astype(eqn.params["dtype"]).reshape(sizes)
    return as_constants(s, np.broadcast_to(count, shape))


def _labelled(s: Scalars, eqn, *arrays) -> np.ndarray:
    """Moving of elements with known indices: done once with labels in place of the elements."""
    labels, known, pool = [], [], []
    for k, array in enumerate(arrays):
        if k in _MOVED[eqn.primitive.name]:
            labels.append(np.arange(len(pool), len(pool) + array.size).reshape(array.shape))
            pool.extend(array.ravel())
        else:
            values = _values(array)
            if values is None:
                raise NotImplementedError(f"{eqn.primitive.name} with indices that are computed")
            known.append(k)
            labels.append(values)
    params = dict(eqn.params)
    if "fill_value" in params:
        params["fill_value"] = -1
    with jax.ensure_compile_time_eval():
        moved = np.asarray(eqn.primitive.bind(*map(jax.numpy.asarray, labels), **params))
    dtype = eqn.outvars[0].aval.dtype
    beyond = s.constant(np.asarray(np.nan if np.issubdtype(dtype, np.floating) else 0, dtype))
    return _array([pool[k] if k >= 0 else beyond for k in moved.ravel()], moved.shape)


def _scattered(s: Scalars, eqn, array, indices, updates) -> np.ndarray:
    """Elements put, added, ... at known places."""
    where = _values(indices)
    if where is None:
        raise NotImplementedError(f"{eqn.primitive.name} with indices that are computed")
    params = {**eqn.params, "update_jaxpr": None, "update_consts": ()}
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
            hit = lax.scatter_p.bind(
                jax.numpy.zeros(array.shape, int), where, mark.reshape(updates.shape), **params
            )  # fmt: skip
            for place in np.flatnonzero(np.asarray(hit).ravel()):
                out[place] = node if op is None else s.operation(op, out[place], node)
    return out.reshape(array.shape)


# ---- sums and the like ----------------------------------------------------------------------------


def _reduction(op: str) -> Rule:
    def reduced(s: Scalars, eqn, array) -> np.ndarray:
        axes = eqn.params["axes"]
        shape = eqn.outvars[0].aval.shape
        rows = _rows(np.moveaxis(array, axes, range(len(axes))).reshape(-1, *shape))
        if not rows:
            raise NotImplementedError(f"{eqn.primitive.name} of nothing")
        out = rows[0]
        for row in rows[1:]:
            out = _each(lambda a, b: s.operation(op, a, b), out, row)
        return out

    return reduced


def _running(op: str) -> Rule:
    def summed(s: Scalars, eqn, array) -> np.ndarray:
        rows = np.moveaxis(array, eqn.params["axis"], 0)
        rows = _rows(rows[::-1] if eqn.params["reverse"] else rows)
        for k in range(1, len(rows)):
            rows[k] = _each(lambda a, b: s.operation(op, a, b), rows[k - 1], rows[k])
        rows = rows[::-1] if eqn.params["reverse"] else rows
        return np.moveaxis(np.stack(rows), 0, eqn.params["axis"])

    return summed


def _extreme(op: str) -> Rule:
    def place(s: Scalars, eqn, array) -> np.ndarray:
        (axis,) = eqn.params["axes"]
        dtype = eqn.params["index_dtype"]
        rows = _rows(np.moveaxis(array, axis, 0))
        best, where = rows[0], _filled(rows[0].shape, s.constant(np.zeros((), dtype)))
        for k in range(1, len(rows)):
            better = _each(lambda a, b: s.operation(op, a, b), rows[k], best)
            best = _each(lambda w, a, b: s.operation("select", w, a, b), better, rows[k], best)
            number = s.constant(np.asarray(k, dtype))
            where = _each(lambda w, b, number=number: s.operation("select", w, number, b), better, where)
        return where

    return place


def _product(s: Scalars, eqn, left, right) -> np.ndarray:
    (over_left, over_right), (batch_left, batch_right) = eqn.params["dimension_numbers"]
    left = np.moveaxis(left, (*batch_left, *over_left), range(len(batch_left) + len(over_left)))
    right = np.moveaxis(right, (*batch_right, *over_right), range(len(batch_right) + len(over_right)))
    n, m = len(batch_left), len(over_left)
    shape = eqn.outvars[0].aval.shape
    batch = left.shape[:n]
    out = np.empty((int(np.prod(batch, dtype=int)), *shape[n:]), object)
    lefts, rights = left.reshape(-1, *left.shape[n:]), right.reshape(-1, *right.shape[n:])
    for k in range(out.shape[0]):
        a = lefts[k].reshape(-1, *left.shape[n + m :])
        b = rights[k].reshape(-1, *right.shape[n + m :])
        a = a.reshape(*a.shape, *(1,) * (right.ndim - n - m))
        b = b.reshape(b.shape[0], *(1,) * (left.ndim - n - m), *b.shape[1:])
        total = None
        for one, other in zip(_rows(a), _rows(b), strict=True):
            term = _each(lambda x, y: s.operation("mul", x, y), one, other)
            total = term if total is None else _each(lambda x, y: s.operation("add", x, y), total, term)
        out[k : k + 1] = total[None]
    return out.reshape(shape)


# ---- programs in programs -------------------------------------------------------------------------


def _inner(s: Scalars, eqn, *inputs) -> list[np.ndarray]:
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if name in eqn.params:
            inner = eqn.params[name]
            return _closed(s, inner, list(inputs)) if hasattr(inner, "consts") else _program(s, inner, [], list(inputs))
    raise NotImplementedError(eqn.primitive.name)


def _branched(s: Scalars, eqn, which, *inputs) -> list[np.ndarray]:
    branches = eqn.params["branches"]
    node = which.ravel()[0]
    if node.known:
        return _closed(s, branches[int(np.clip(node.value, 0, len(branches) - 1))], list(inputs))
    ends = [_closed(s, branch, list(inputs)) for branch in branches]
    out = ends[-1]
    for k in range(len(branches) - 2, -1, -1):
        first = s.operation("le", node, s.constant(np.asarray(k, node.dtype)))
        out = [
            _each(lambda a, b, first=first: s.operation("select", first, a, b), x, y)
            for x, y in zip(ends[k], out, strict=True)
        ]
    return out


def _scanned(s: Scalars, eqn, *inputs) -> list[np.ndarray]:
    p = eqn.params
    if p["length"] > LONG:
        raise NotImplementedError(f"scan over {p['length']} turns")
    fixed, carry = list(inputs[: p["num_consts"]]), list(inputs[p["num_consts"] : p["num_consts"] + p["num_carry"]])
    rows = inputs[p["num_consts"] + p["num_carry"] :]
    turns = range(p["length"])[::-1] if p["reverse"] else range(p["length"])
    kept = {}
    for k in turns:
        ends = _closed(s, p["jaxpr"], [*fixed, *carry, *(_rows(row)[k] for row in rows)])
        carry, kept[k] = ends[: p["num_carry"]], ends[p["num_carry"] :]
    stacked = [np.stack([kept[k][i] for k in range(p["length"])]) for i in range(len(eqn.outvars) - p["num_carry"])]
    return [*carry, *stacked]


def _looped(s: Scalars, eqn, *inputs) -> list[np.ndarray]:
    """A loop whose turns can be counted beforehand."""
    p = eqn.params
    n_test, n_body = p["cond_nconsts"], p["body_nconsts"]
    for_test, for_body = list(inputs[:n_test]), list(inputs[n_test : n_test + n_body])
    carry = list(inputs[n_test + n_body :])
    for _ in range(LONG):
        (going,) = _closed(s, p["cond_jaxpr"], [*for_test, *carry])
        if not going.ravel()[0].known:
            break
        if not going.ravel()[0].value:
            return carry
        carry = _closed(s, p["body_jaxpr"], [*for_body, *carry])
    raise NotImplementedError("while with an end that is computed")


# ---- linear systems -------------------------------------------------------------------------------

SMALL = 6  # unknowns; larger systems are not written out


def _solved(s: Scalars, eqn, *inputs) -> np.ndarray | list[np.ndarray]:
    """A linear solve, from its matrix: Gaussian elimination with the largest pivots of the columns."""
    lengths, programs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    if len(eqn.outvars) != 1:
        raise NotImplementedError("custom_linear_solve of several unknowns")
    matrix_inputs, right = list(inputs[: lengths.matvec]), inputs[-1]
    shape = right.shape
    n = right.size
    if n > SMALL:
        raise NotImplementedError(f"linear solve with {n} unknowns")
    unit = np.eye(n).reshape(n, *shape)
    columns = [_closed(s, programs.matvec, [*matrix_inputs, as_constants(s, unit[k])])[0].ravel() for k in range(n)]
    return eliminated(s, np.stack(columns, axis=1), right.reshape(n, 1)).reshape(shape)


def eliminated(s: Scalars, matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of a small linear system, by elimination with row exchanges."""
    n = len(matrix)
    rows = [list(matrix[i]) + list(right[i]) for i in range(n)]

    def op(name, *nodes):
        return s.operation(name, *nodes)

    for k in range(n):
        for i in range(k + 1, n):
            if rows[i][k].equals(0):
                continue
            swap = op("gt", op("abs", rows[i][k]), op("abs", rows[k][k]))
            upper = [op("select", swap, b, a) for a, b in zip(rows[k], rows[i], strict=True)]
            rows[i] = [op("select", swap, a, b) for a, b in zip(rows[k], rows[i], strict=True)]
            rows[k] = upper
        inverse = op("div", s.constant(1.0), rows[k][k])
        rows[k] = [op("mul", inverse, x) if j > k else x for j, x in enumerate(rows[k])]
        for i in range(k + 1, n):
            factor = rows[i][k]
            rows[i] = [op("sub", x, op("mul", factor, y)) if j > k else x
                       for j, (x, y) in enumerate(zip(rows[i], rows[k], strict=True))]  # fmt: skip
    for k in range(n - 1, -1, -1):
        for i in range(k):
            rows[i][n:] = [
                op("sub", x, op("mul", rows[i][k], y)) for x, y in zip(rows[i][n:], rows[k][n:], strict=True)
            ]
    return np.stack([_array(row[n:], (len(row) - n,)) for row in rows])


def _tridiagonal(s: Scalars, eqn, below, diagonal, above, right) -> np.ndarray:
    """Elimination along the diagonal, as for any chain."""
    if diagonal.ndim != 1 or len(diagonal) > LONG:
        raise NotImplementedError("tridiagonal_solve of many unknowns")
    n = len(diagonal)
    ups, ends = [], []

    def op(name, *nodes):
        return s.operation(name, *nodes)

    for k in range(n):
        pivot = op("sub", diagonal[k], op("mul", below[k], ups[-1])) if k else diagonal[k]
        inverse = op("div", s.constant(1.0), pivot)
        ups.append(op("mul", above[k], inverse))
        row = [op("sub", b, op("mul", below[k], e)) for b, e in zip(right[k], ends[-1], strict=True)] if k else right[k]
        ends.append([op("mul", b, inverse) for b in row])
    for k in range(n - 2, -1, -1):
        ends[k] = [op("sub", b, op("mul", ups[k], e)) for b, e in zip(ends[k], ends[k + 1], strict=True)]
    return np.stack([_array(row, (len(row),)) for row in ends])


_NAMES = {"add_any": "add"}
_MOVED = {"gather": (0,), "pad": (0, 1), "rev": (0,), "dynamic_slice": (0,), "dynamic_update_slice": (0, 1)}
RULES: dict[str, Rule] = {
    **dict.fromkeys(("add", "add_any", "sub", "mul", "div", "neg", "abs", "max", "min", "sqrt", "rsqrt"), _elementwise),
    **dict.fromkeys(("and", "or", "not", "xor", "eq", "ne", "lt", "le", "gt", "ge"), _elementwise),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"), _bound),
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log1p", "logistic", "cbrt", "erf", "is_finite"), _bound),
    **dict.fromkeys(("floor", "ceil", "round", "sign", "rem", "nextafter", "asinh", "acosh", "atanh"), _bound),
    **dict.fromkeys(("stop_gradient", "copy", "copy_p", "optimization_barrier", "pvary"), _same),
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshaped),
    **dict.fromkeys(_MOVED, _labelled),
    **dict.fromkeys(("scatter", "scatter-add", "scatter-mul", "scatter-max", "scatter-min"), _scattered),
    **dict.fromkeys(("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call"), _inner),
    **dict.fromkeys(("custom_vjp_call_jaxpr", "remat", "checkpoint"), _inner),
    "convert_element_type": _converted,
    "integer_pow": _powered,
    "square": _squared,
    "pow": _raised,
    "select_n": _selected,
    "clamp": _clamped,
    "broadcast_in_dim": _spread,
    "slice": _sliced,
    "concatenate": _joined,
    "stack": _stacked,
    "unstack": _unstacked,
    "split": _parted,
    "transpose": _transposed,
    "iota": _counted,
    "reduce_sum": _reduction("add"),
    "reduce_prod": _reduction("mul"),
    "reduce_max": _reduction("max"),
    "reduce_min": _reduction("min"),
    "reduce_and": _reduction("and"),
    "reduce_or": _reduction("or"),
    "cumsum": _running("add"),
    "cumprod": _running("mul"),
    "cummax": _running("max"),
    "cummin": _running("min"),
    "argmax": _extreme("gt"),
    "argmin": _extreme("lt"),
    "dot_general": _product,
    "cond": _branched,
    "scan": _scanned,
    "while": _looped,
    "custom_linear_solve": _solved,
    "tridiagonal_solve": _tridiagonal,
}
