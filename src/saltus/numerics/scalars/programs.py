"""A function of small arrays, element by element: its JAX program rewritten as operations on scalars.

Where many lanes run the same small program, each element of each small array becomes a vector over the
lanes: nothing is stacked, sliced or transposed any more, and what constants make trivial is gone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex

from saltus.numerics.scalars import elementwise, moving, solves, sums
from saltus.numerics.scalars.arrays import as_constants, each, fill, rows_of
from saltus.numerics.scalars.graph import CannotScalariseError, Scalars

LONG = 64  # turns; longer loops are not unrolled
SMALL = 6  # unknowns; larger linear systems are not written out


def scalarize(function: Callable, arguments: Any, given: Sequence[np.ndarray], scalars: Scalars) -> Any:
    """The results of `function`, as arrays of nodes.

    Args:
        function: Takes and returns trees of arrays.
        arguments: Arguments like those it is called with, one tuple.
        given: For each leaf of the arguments an array of nodes of its shape.
        scalars: Makes the nodes.
    """
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    outputs = _inline(scalars, closed, list(given))
    return jax.tree.unflatten(jax.tree.structure(shape), outputs)


def _inline(s: Scalars, closed, inputs: list[np.ndarray]) -> list[np.ndarray]:
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
                raise CannotScalariseError(name)
            outputs = rule(s, Equation.of(eqn), *values)
        except CannotScalariseError as error:
            told = str(error) or name
            outputs = [fill(var.aval.shape, s.unknown(told, var.aval.dtype)) for var in eqn.outvars]
        if isinstance(outputs, np.ndarray):
            outputs = [outputs]
        for var, value in zip(eqn.outvars, outputs, strict=True):
            env[var] = value
    return [read(var) for var in jaxpr.outvars]


class Parameters(dict):
    """Parameters of an equation; one that is not there has another name in this version of JAX."""

    def __missing__(self, key):
        raise CannotScalariseError(f"a parameter {key!r}, which JAX {jax.__version__} does not have")


@dataclasses.dataclass(frozen=True)
class Equation:
    """What rules read of an equation of a JAX program."""

    primitive: Any
    params: Parameters
    invars: list
    outvars: list

    @staticmethod
    def of(eqn) -> Equation:
        return Equation(eqn.primitive, Parameters(eqn.params), eqn.invars, eqn.outvars)


def _part(whole: Any, name: str) -> Any:
    """A part of a parameter."""
    if not hasattr(whole, name):
        raise CannotScalariseError(f"a part {name!r}, which JAX {jax.__version__} does not have")
    return getattr(whole, name)


def _inner(s: Scalars, eqn, *inputs) -> list[np.ndarray]:
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if name in eqn.params:
            inner = eqn.params[name]
            return _inline(s, inner, list(inputs)) if hasattr(inner, "consts") else _program(s, inner, [], list(inputs))
    raise CannotScalariseError(eqn.primitive.name)


def _cond(s: Scalars, eqn, which, *inputs) -> list[np.ndarray]:
    branches = eqn.params["branches"]
    node = which.ravel()[0]
    if node.known:
        return _inline(s, branches[int(np.clip(node.value, 0, len(branches) - 1))], list(inputs))
    ends = [_inline(s, branch, list(inputs)) for branch in branches]
    out = ends[-1]
    for k in range(len(branches) - 2, -1, -1):
        first = s.operation("le", node, s.constant(np.asarray(k, node.dtype)))
        out = [
            each(lambda a, b, first=first: s.operation("select", first, a, b), x, y)
            for x, y in zip(ends[k], out, strict=True)
        ]
    return out


def _scan(s: Scalars, eqn, *inputs) -> list[np.ndarray]:
    p = eqn.params
    if p["length"] > LONG:
        raise CannotScalariseError(f"scan over {p['length']} turns")
    n_fixed, n_carry = _counts_of_scan(p, len(inputs))
    fixed, carry, rows = list(inputs[:n_fixed]), list(inputs[n_fixed : n_fixed + n_carry]), inputs[n_fixed + n_carry :]
    turns = range(p["length"])[::-1] if p["reverse"] else range(p["length"])
    kept = {}
    for k in turns:
        ends = _inline(s, p["jaxpr"], [*fixed, *carry, *(rows_of(row)[k] for row in rows)])
        carry, kept[k] = ends[:n_carry], ends[n_carry:]
    stacked = [np.stack([kept[k][i] for k in range(p["length"])]) for i in range(len(eqn.outvars) - n_carry)]
    return [*carry, *stacked]


def _counts_of_scan(parameters: dict, inputs: int) -> tuple[int, int]:
    """How many inputs of a scan stay as they are, and how many are carried on."""
    if "ft_in" in parameters:  # since JAX 0.11: a tree of constants, carry and rows
        fixed, carry, _ = parameters["ft_in"].update(tuple(range(inputs))).unpack()
        return len(list(fixed)), len(list(carry))
    return parameters["num_consts"], parameters["num_carry"]


def _while(s: Scalars, eqn, *inputs) -> list[np.ndarray]:
    """A loop whose turns can be counted beforehand."""
    p = eqn.params
    n_test, n_body = p["cond_nconsts"], p["body_nconsts"]
    for_test, for_body = list(inputs[:n_test]), list(inputs[n_test : n_test + n_body])
    carry = list(inputs[n_test + n_body :])
    for _ in range(LONG):
        (going,) = _inline(s, p["cond_jaxpr"], [*for_test, *carry])
        if not going.ravel()[0].known:
            break
        if not going.ravel()[0].value:
            return carry
        carry = _inline(s, p["body_jaxpr"], [*for_body, *carry])
    raise CannotScalariseError("while with an end that is computed")


def _linear_solve(s: Scalars, eqn, *inputs) -> np.ndarray | list[np.ndarray]:
    """A linear solve, from its matrix: Gaussian elimination with the largest pivots of the columns."""
    lengths, programs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    if len(eqn.outvars) != 1:
        raise CannotScalariseError("custom_linear_solve of several unknowns")
    matrix_inputs, right = list(inputs[: _part(lengths, "matvec")]), inputs[-1]
    shape = right.shape
    n = right.size
    if n > SMALL:
        raise CannotScalariseError(f"linear solve with {n} unknowns")
    unit = np.eye(n).reshape(n, *shape)
    columns = [
        _inline(s, _part(programs, "matvec"), [*matrix_inputs, as_constants(s, unit[k])])[0].ravel() for k in range(n)
    ]
    return solves.eliminate(s, np.stack(columns, axis=1), right.reshape(n, 1)).reshape(shape)


RULES: dict[str, Callable[..., Any]] = {
    **elementwise.RULES,
    **moving.RULES,
    **sums.RULES,
    **dict.fromkeys(("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call"), _inner),
    **dict.fromkeys(("custom_vjp_call_jaxpr", "remat", "remat2", "checkpoint"), _inner),
    "cond": _cond,
    "scan": _scan,
    "while": _while,
    "custom_linear_solve": _linear_solve,
    "tridiagonal_solve": solves.tridiagonal,
}
