"""Arithmetic written as text, read without ever running it as Python.

Python's own parser makes the tree; a whitelist walks over it. Anything that is not a number, a known
name, + - * / **, or a call of a listed function is refused with one sentence that names the piece.
"""

from __future__ import annotations

import ast
import functools
import importlib
import keyword
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from saltus.checks import suggestion

MAX_LENGTH = 2000
MAX_DEPTH = 100

CONSTANTS = {"pi": math.pi, "e": math.e}

# Name in a formula: (name in numpy and jax.numpy, number of arguments; None for two or more).
FUNCTIONS: dict[str, tuple[str, int | None]] = {
    "sin": ("sin", 1), "cos": ("cos", 1), "tan": ("tan", 1),
    "asin": ("arcsin", 1), "acos": ("arccos", 1), "atan": ("arctan", 1), "atan2": ("arctan2", 2),
    "sinh": ("sinh", 1), "cosh": ("cosh", 1), "tanh": ("tanh", 1),
    "exp": ("exp", 1), "log": ("log", 1), "sqrt": ("sqrt", 1), "abs": ("abs", 1),
    "hypot": ("hypot", 2), "min": ("minimum", None), "max": ("maximum", None),
}  # fmt: skip

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}


@functools.lru_cache(maxsize=256)
def parse(text: str, names: tuple[str, ...]) -> ast.expr:
    """The tree of `text`, with every piece of it checked.

    Args:
        text: Arithmetic such as "a*x**2 + sin(y)".
        names: Names that may stand in it, beside the functions and the constants pi and e.

    Raises:
        ValueError: With one sentence that names the first piece that is not arithmetic.
    """
    if not isinstance(text, str):
        raise ValueError(f"A formula is a text such as 'a*x**2', got {text!r}.")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"The formula has {len(text)} characters; {MAX_LENGTH} are allowed.")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"The formula {_shorten(text)!r} cannot be read as arithmetic.") from None
    _check(tree, text, names, 0)
    return tree


def evaluate(text: str, values: Mapping[str, Any], arithmetic: Any = None) -> Any:
    """The value of `text` for arrays or numbers `values`.

    Constant parts are worked out in Python first, so that `x**2` has an integer power and with it the right
    derivatives at zero.

    Args:
        text: Arithmetic.
        values: Of the names in it.
        arithmetic: What has the functions, by their names in NumPy, and `integer_pow`; without it those of JAX, so
            that the value can be differentiated.
    """
    tree = parse(text, tuple(values))
    return _value(tree, text, values, arithmetic)


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def _piece(node: ast.AST, text: str) -> str:
    return _shorten(ast.get_source_segment(text.strip(), node) or type(node).__name__)  # type: ignore[arg-type]


def _check(node: ast.expr, text: str, names: tuple[str, ...], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"The formula {_shorten(text)!r} is nested deeper than {MAX_DEPTH} levels.")
    for child in _children(node, text, names):
        _check(child, text, names, depth + 1)


def _children(node: ast.expr, text: str, names: tuple[str, ...]) -> Sequence[ast.expr]:
    """The parts of an allowed node; refuses any other."""
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float()):
            return ()
        case ast.Name(id=name):
            if name in names or name in CONSTANTS:
                return ()
            raise ValueError(_unknown_name(name, text, names))
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return (operand,)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS or isinstance(op, ast.Pow):
            return (left, right)
        case ast.Call():
            return _arguments(node, text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
        raise ValueError(f"Powers are written with **: {_shorten(text.replace('^', '**'))!r}, got {_shorten(text)!r}.")
    allowed = f"Allowed are numbers, {', '.join(names)}, + - * / ** and {', '.join(FUNCTIONS)}."
    raise ValueError(f"{_piece(node, text)!r} in the formula {_shorten(text)!r} is not arithmetic. {allowed}")


def _unknown_name(name: str, text: str, names: tuple[str, ...]) -> str:
    if name in FUNCTIONS:
        return f"The function {name!r} in the formula {_shorten(text)!r} needs its argument in parentheses."
    near = suggestion(name, [*names, *CONSTANTS])
    return f"Unknown name {name!r} in the formula {_shorten(text)!r}.{near} Known: {', '.join([*names, *CONSTANTS])}."


def _arguments(node: ast.Call, text: str) -> Sequence[ast.expr]:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        called = _piece(node.func, text)
        near = suggestion(called, FUNCTIONS)
        raise ValueError(
            f"Unknown function {called!r} in the formula {_shorten(text)!r}.{near} Known: {', '.join(FUNCTIONS)}."
        )
    _, arity = FUNCTIONS[node.func.id]
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if node.keywords or starred or (len(node.args) < 2 if arity is None else len(node.args) != arity):
        wanted = {None: "two or more arguments", 1: "one argument", 2: "two arguments"}[arity]
        raise ValueError(f"{node.func.id!r} takes {wanted}, got {_piece(node, text)!r}.")
    return node.args


def _value(node: ast.expr, text: str, values: Mapping[str, Any], arithmetic: Any) -> Any:
    """The value of a checked node: a Python float for a constant part, else an array."""
    match node:
        case ast.Constant(value=number):
            return _finite(lambda: float(number), node, text)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return values[name] if name in values else CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand):
            value = _value(operand, text, values, arithmetic)
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(op=op, left=left, right=right):
            a, b = (_value(side, text, values, arithmetic) for side in (left, right))
            if isinstance(op, ast.Div) and type(b) is float and b == 0.0:
                raise ValueError(f"{_piece(node, text)!r} in the formula {_shorten(text)!r} divides by zero.")
            if isinstance(op, ast.Pow):
                return _apply(functools.partial(_power, arithmetic), (a, b), node, text)
            return _apply(_OPERATORS[type(op)], (a, b), node, text)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            parts = tuple(_value(argument, text, values, arithmetic) for argument in arguments)
            return _apply(_function(name, np if _all_floats(parts) else arithmetic), parts, node, text)
    raise AssertionError(f"unchecked node {node!r}")


def _all_floats(parts: tuple[Any, ...]) -> bool:
    return all(type(part) is float for part in parts)


def _apply(function: Callable[..., Any], parts: tuple[Any, ...], node: ast.expr, text: str) -> Any:
    if _all_floats(parts):
        return _finite(lambda: function(*parts), node, text)
    return function(*parts)


def _finite(compute: Callable[[], Any], node: ast.expr, text: str) -> float:
    try:
        with np.errstate(all="ignore"):
            value = float(compute())
    except (OverflowError, ZeroDivisionError, ValueError, TypeError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{_piece(node, text)!r} in the formula {_shorten(text)!r} is not a finite number.")
    return value


def _power(arithmetic: Any, base: Any, exponent: Any) -> Any:
    if type(exponent) is float and type(base) is not float and exponent.is_integer() and abs(exponent) < 2**31:
        if arithmetic is None:
            import jax

            return jax.lax.integer_pow(base, int(exponent))
        return arithmetic.integer_pow(base, int(exponent))
    if type(base) is float and type(exponent) is float:
        return math.pow(base, exponent)
    return base**exponent


def _function(name: str, arithmetic: Any) -> Callable[..., Any]:
    # JAX takes a second to import, and reading a formula does not need it.
    module = importlib.import_module("jax.numpy") if arithmetic is None else arithmetic
    target, arity = FUNCTIONS[name]
    if target == "hypot" and module is not np:  # that of JAX has no second derivative where both sides are equal
        return lambda a, b: module.sqrt(a * a + b * b)
    function = getattr(module, target)
    return function if arity is not None else lambda *parts: functools.reduce(function, parts)


def check_names(names: Sequence[str] | Mapping[str, Any], taken: Sequence[str]) -> None:
    """Whether `names` can be given to numbers in a formula: identifiers that mean nothing else."""
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ValueError(f"{name!r} cannot name a parameter; use letters, digits and _ only.")
        if name in taken or name in FUNCTIONS or name in CONSTANTS:
            raise ValueError(f"A parameter cannot be called {name!r}: the name has a meaning in formulas already.")
