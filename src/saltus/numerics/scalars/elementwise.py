"""Primitives that work element by element."""

from __future__ import annotations

import numpy as np
from jax import lax

from saltus.numerics.scalars.arrays import each, known_values
from saltus.numerics.scalars.graph import Node, Scalars, is_whole, power


def _elementwise(s: Scalars, eqn, *arrays) -> np.ndarray:
    """A primitive that scalars know by name."""
    own: str = eqn.primitive.name
    name = _NAMES.get(own) or own
    dtype = eqn.outvars[0].aval.dtype
    return each(lambda *nodes: s.operation(name, *nodes, dtype=dtype), *arrays)


def _bound(s: Scalars, eqn, *arrays) -> np.ndarray:
    """Any other primitive that works element by element."""
    primitive, params = eqn.primitive, dict(eqn.params)
    key = tuple(sorted((name, repr(value)) for name, value in params.items()))
    dtype = eqn.outvars[0].aval.dtype

    def bind(*values):
        return primitive.bind(*values, **params)

    return each(lambda *nodes: s.operation(primitive.name, *nodes, dtype=dtype, key=key, bind=bind), *arrays)


def _convert(s: Scalars, eqn, array) -> np.ndarray:
    dtype = np.dtype(eqn.params["new_dtype"])

    def one(node: Node) -> Node:
        if node.dtype == dtype:
            return node
        if node.known:
            return s.constant(np.asarray(node.value, dtype))
        return s.operation(
            "convert", node, dtype=dtype, key=dtype, bind=lambda x: lax.convert_element_type(x, dtype)
        )  # fmt: skip

    return each(one, array)


def _integer_power(s: Scalars, eqn, array) -> np.ndarray:
    return each(lambda node: power(s, node, eqn.params["y"]), array)


def _square(s: Scalars, eqn, array) -> np.ndarray:
    return each(lambda node: s.operation("mul", node, node), array)


def _power(s: Scalars, eqn, base, exponent) -> np.ndarray:
    values = known_values(exponent)
    if values is None or not all(is_whole(2.0 * value) for value in values.ravel()):
        return _bound(s, eqn, base, exponent)

    def one(node: Node, exponent: Node) -> Node:
        twice = int(2 * exponent.value)
        whole = power(s, node, twice // 2) if twice > 1 else None
        if twice == 1 or (twice > 0 and twice % 2):
            root = s.operation("sqrt", node)
            return root if whole is None else s.operation("mul", whole, root)
        return power(s, node, twice // 2) if twice % 2 == 0 else power(s, s.operation("sqrt", node), twice)

    return each(one, base, exponent)


def _select(s: Scalars, eqn, which, *cases) -> np.ndarray:
    if eqn.invars[0].aval.dtype == bool:
        return each(lambda w, no, yes: s.operation("select", w, yes, no), which, *cases)

    def one(w: Node, *nodes: Node) -> Node:
        out = nodes[-1]
        for k in range(len(nodes) - 2, -1, -1):
            out = s.operation("select", s.operation("le", w, s.constant(np.asarray(k, w.dtype))), nodes[k], out)
        return out

    return each(one, which, *cases)


def _clamp(s: Scalars, eqn, low, array, high) -> np.ndarray:
    return each(lambda a, x, b: s.operation("min", s.operation("max", x, a), b), low, array, high)


def _same(s: Scalars, eqn, *arrays) -> list[np.ndarray]:
    return list(arrays)


_NAMES = {"add_any": "add"}
RULES = {
    **dict.fromkeys(("add", "add_any", "sub", "mul", "div", "neg", "abs", "max", "min", "sqrt", "rsqrt"), _elementwise),
    **dict.fromkeys(("and", "or", "not", "xor", "eq", "ne", "lt", "le", "gt", "ge"), _elementwise),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"), _bound),
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log1p", "logistic", "cbrt", "erf", "is_finite"), _bound),
    **dict.fromkeys(("floor", "ceil", "round", "sign", "rem", "nextafter", "asinh", "acosh", "atanh"), _bound),
    **dict.fromkeys(("stop_gradient", "copy", "copy_p", "optimization_barrier", "pvary"), _same),
    "convert_element_type": _convert,
    "integer_pow": _integer_power,
    "square": _square,
    "pow": _power,
    "select_n": _select,
    "clamp": _clamp,
}
