"""Arithmetic written down instead of done: a graph of scalar operations in which nothing stands twice.

Constants are folded, and what they make trivial is dropped: x + 0, x * 1, and x * 0. Where x may be undefined (the
root of a number that may be negative), its NaN tells an engine that a step has left the domain. Such products are
dropped too, but it is known afterwards (`shows_all`) whether something else in the results is NaN there as well; if
not, the program is made again with `strict`, which keeps them.
Divisions become products with inverses, so that an inverse used often, or one of a constant, is cheap.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from jax import lax

from saltus.errors import SaltusError


class CannotScalariseError(SaltusError):
    """A program that cannot be written as operations on scalars; the message names the operation."""


def refusal(operation: str) -> CannotScalariseError:
    """The error that names an operation without a rule."""
    return CannotScalariseError(f"The operation {operation!r} cannot be written as operations on scalars.")


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """One scalar: an input, a constant, or an operation on others.

    Args:
        op: Name of the operation: that of the JAX primitive, or "input", "constant", "unknown".
        args: What it is applied to.
        dtype: Type of the value.
        value: Value of a constant; place of an input; what an unknown operation is called.
        bind: How to compute it, where the name alone does not tell.
    """

    op: str
    args: tuple[Node, ...]
    dtype: np.dtype
    value: Any = None
    bind: Callable | None = None

    @property
    def known(self) -> bool:
        """Whether it is a constant."""
        return self.op == "constant"

    def equals(self, number: float | int) -> bool:
        """Whether it is this constant."""
        return self.op == "constant" and bool(self.value == number)


_OPERATIONS = {
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "neg": lax.neg, "rsqrt": lax.rsqrt,
    "sqrt": lax.sqrt, "abs": lax.abs, "max": lax.max, "min": lax.min, "select": lax.select,
    "and": lax.bitwise_and, "or": lax.bitwise_or, "not": lax.bitwise_not, "xor": lax.bitwise_xor,
    "eq": lax.eq, "ne": lax.ne, "lt": lax.lt, "le": lax.le, "gt": lax.gt, "ge": lax.ge,
}  # fmt: skip
_FOLDED = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "abs": abs,
    "max": np.maximum, "min": np.minimum, "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": np.invert,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_COMMUTATIVE = ("add", "mul", "max", "min", "and", "or", "eq", "ne")
_TRUTHS = ("eq", "ne", "lt", "le", "gt", "ge")


_UNDEFINED = {"sqrt", "rsqrt", "log", "log1p", "pow", "asin", "acos", "acosh", "atanh"}  # for some finite arguments
# What may hide the NaN of an argument.
_HIDING = {"select", "max", "min", "and", "or", "not", "xor", *_TRUTHS, "convert", "sign", "is_finite", "atan2", "pow"}


class Scalars:
    """Makes nodes; equal ones are made once.

    Args:
        strict: Whether x * 0 is kept where x may be undefined.
    """

    def __init__(self, strict: bool = False):
        self.strict = strict
        self._made: dict[Any, Node] = {}
        self._order: dict[Node, int] = {}
        # Of each node: what may be undefined in it (poles aside), and whether it is never negative.
        self._undefined: dict[Node, frozenset[Node]] = {}
        self._nonnegative: dict[Node, bool] = {}
        self._dropped: frozenset[Node] = frozenset()

    def _once(self, key, node: Node) -> Node:
        found = self._made.setdefault(key, node)
        if found not in self._order:
            self._order[found] = len(self._order)
            self._nonnegative[found] = self._is_nonnegative(found)
            self._undefined[found] = self._what_is_undefined(found)
        return found

    def constant(self, value) -> Node:
        """A number."""
        value = np.asarray(value)[()]
        return self._once(("constant", value.dtype, value.tobytes()), Node("constant", (), value.dtype, value))

    def input(self, place, dtype) -> Node:
        """A number that is given later."""
        return self._once(("input", place), Node("input", (), np.dtype(dtype), place))

    def unknown(self, name: str, dtype) -> Node:
        """What cannot be written as scalar operations; harmless unless it is needed."""
        return Node("unknown", (), np.dtype(dtype), name)

    def operation(self, op: str, *args: Node, dtype=None, key=(), bind: Callable | None = None) -> Node:
        """The operation on these nodes, simplified."""
        for arg in args:
            if arg.op == "unknown":
                return arg
        if bind is None:
            simple = self._simplify(op, args)
            if simple is not None:
                return simple
        dtype = np.dtype(bool) if op in _TRUTHS else np.dtype(dtype or args[-1].dtype)
        if args and all(arg.known for arg in args):
            return self._fold(op, args, dtype, bind)
        if op in _COMMUTATIVE:
            args = tuple(sorted(args, key=self._order.__getitem__))
        return self._once((op, key, dtype, *map(id, args)), Node(op, args, dtype, None, bind))

    def _what_is_undefined(self, node: Node) -> frozenset[Node]:
        """The nodes among those it is made of, with itself, that are undefined for some finite inputs."""
        parts = [part for part in map(self._undefined.__getitem__, node.args) if part]
        found = parts[0] if len(parts) == 1 else frozenset().union(*parts)
        real = node.op in ("sqrt", "rsqrt") and self._nonnegative[node.args[0]]
        return found | {node} if node.op in _UNDEFINED and not real else found

    def drops(self, node: Node) -> bool:
        """Whether a node that is multiplied by zero is dropped; what may be undefined in it is remembered."""
        undefined = self._undefined[node]
        if not self.strict:
            self._dropped |= undefined
        return not (self.strict and undefined)

    def shows_all(self, results: Iterable[Node]) -> bool:
        """Whether some of these results is NaN wherever something that was dropped is undefined."""
        shown, stack = set(), list(results)
        while stack:
            node = stack.pop()
            if node not in shown:
                shown.add(node)
                stack.extend(() if node.op in _HIDING else node.args)
        return self._dropped <= shown

    def _is_nonnegative(self, node: Node) -> bool:
        """Whether a node is never negative: squares, sizes, and sums and products of such."""
        each = [self._nonnegative[arg] for arg in node.args]
        return (
            (node.known and node.dtype != bool and bool(node.value >= 0))
            or (node.op == "mul" and node.args[0] is node.args[1])
            or node.op in ("abs", "sqrt", "exp")
            or (node.op in ("add", "mul", "min") and all(each))
            or (node.op == "max" and any(each))
            or (node.op == "select" and all(each[1:]))
        )

    def _fold(self, op: str, args, dtype, bind) -> Node:
        values = [arg.value for arg in args]
        with np.errstate(all="ignore"):
            if bind is None and op in _FOLDED:
                return self.constant(np.asarray(_FOLDED[op](*values), dtype))
            with jax.ensure_compile_time_eval():
                return self.constant(np.asarray((bind or _OPERATIONS[op])(*map(np.asarray, values)), dtype))

    def _simplify(self, op: str, args: tuple[Node, ...]) -> Node | None:
        rule = _RULES.get(op)
        return None if rule is None or all(arg.known for arg in args) else rule(self, *args)


def _add(s: Scalars, a: Node, b: Node) -> Node | None:
    if a.equals(0):
        return b
    if b.equals(0):
        return a
    if b.op == "neg":
        return s.operation("sub", a, b.args[0])
    return s.operation("sub", b, a.args[0]) if a.op == "neg" else None


def _sub(s: Scalars, a: Node, b: Node) -> Node | None:
    if b.equals(0):
        return a
    if a.equals(0):
        return s.operation("neg", b)
    return s.operation("add", a, b.args[0]) if b.op == "neg" else None


def _mul(s: Scalars, a: Node, b: Node) -> Node | None:
    for one, other in ((a, b), (b, a)):
        if one.equals(0) and s.drops(other):
            return one
        if one.equals(1):
            return other
        if one.equals(-1):
            return s.operation("neg", other)
    if a.op == "neg" and b.op == "neg":
        return s.operation("mul", a.args[0], b.args[0])
    return None


def _div(s: Scalars, a: Node, b: Node) -> Node | None:
    if not np.issubdtype(b.dtype, np.floating):
        return None
    if b.op == "sqrt":
        return s.operation("mul", a, s.operation("rsqrt", b.args[0]))
    if a.equals(1):
        return None
    return s.operation("mul", a, s.operation("div", s.constant(np.ones((), b.dtype)), b))


def _neg(s: Scalars, a: Node) -> Node | None:
    return a.args[0] if a.op == "neg" else None


def _abs(s: Scalars, a: Node) -> Node | None:
    return s.operation("abs", a.args[0]) if a.op == "neg" else None


def _logical(neutral: bool) -> Callable[[Scalars, Node, Node], Node | None]:
    """Rule of `and` (whose neutral value is true) or of `or` (false)."""

    def simplify(s: Scalars, a: Node, b: Node) -> Node | None:
        if a.dtype != bool:
            return None
        if a.known or b.known:
            known, other = (a, b) if a.known else (b, a)
            return other if bool(known.value) == neutral else known
        return a if a is b else None

    return simplify


def _not(s: Scalars, a: Node) -> Node | None:
    return a.args[0] if a.op == "not" else None


def _select(s: Scalars, condition: Node, yes: Node, no: Node) -> Node | None:
    if condition.known:
        return yes if condition.value else no
    return yes if yes is no else None


def _either(s: Scalars, a: Node, b: Node) -> Node | None:
    return a if a is b else None


_RULES = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "neg": _neg, "abs": _abs,
    "and": _logical(True), "or": _logical(False), "not": _not,
    "select": _select, "max": _either, "min": _either,
}  # fmt: skip


def power(s: Scalars, a: Node, exponent: int) -> Node:
    """A whole power, by repeated squaring."""
    if exponent < 0:
        return s.operation("div", s.constant(np.ones((), a.dtype)), power(s, a, -exponent))
    if exponent == 0:
        return s.constant(np.ones((), a.dtype))
    half = power(s, a, exponent // 2) if exponent > 1 else None
    if half is None:
        return a
    square = s.operation("mul", half, half)
    return s.operation("mul", square, a) if exponent % 2 else square


def needed_nodes(nodes: Iterable[Node]) -> list[Node]:
    """These nodes and all they are made of, each after its parts.

    Raises:
        CannotScalariseError: If one of them cannot be computed; the message names the operation.
    """
    found: dict[Node, None] = {}
    stack = [(node, False) for node in reversed(list(nodes))]
    while stack:
        node, ready = stack.pop()
        if node in found:
            continue
        if node.op == "unknown":
            raise refusal(node.value)
        if ready:
            found[node] = None
        else:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args))
    return list(found)


def evaluate(nodes: Iterable[Node], values: dict[Node, Any], like, operations=None) -> list[Any]:
    """Values of nodes, from those of the inputs in `values`, which is filled with all that is computed.

    Args:
        nodes: What is asked for.
        values: Values of inputs (and of anything else known), arrays of one shape.
        like: Array of the shape that constants are given.
        operations: Other ways to compute operations of these names (`scalars.quick`).
    """
    table = {**_OPERATIONS, **(operations or {})}
    wanted = list(nodes)
    stack = [(node, False) for node in reversed(wanted)]
    while stack:
        node, ready = stack.pop()
        if node in values:
            continue
        if node.known:
            values[node] = lax.full(like.shape, node.value, node.dtype)
        elif ready:
            operate = node.bind or table[node.op]
            values[node] = operate(*(values[arg] for arg in node.args))
        elif node.op in ("input", "unknown"):
            raise refusal(node.value)
        else:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args))
    return [values[node] for node in wanted]


def cost(nodes: Iterable[Node]) -> Counter:
    """How often each operation occurs."""
    return Counter(node.op for node in needed_nodes(nodes) if node.args)


def is_whole(value: float) -> bool:
    """Whether a number is a small whole one."""
    return bool(math.isfinite(value) and value == int(value) and abs(value) <= 16)
