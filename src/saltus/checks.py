"""The wording of argument errors, so that all of them sound alike.

Every check raises `ValueError` (`TypeError` for what is no number, or another kind of object) with one sentence for
what is wrong (with the value), what is allowed, and what to do. A number that JAX traces is not known yet: it passes,
and within `noting` the condition on it is kept, for whoever runs the traced program to look at.
"""

from __future__ import annotations

import contextlib
import contextvars
import difflib
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


def concrete(value: Any) -> np.ndarray | None:
    """The numbers of `value`, or None where they are not known yet (inside jit, grad or vmap)."""
    if type(value).__name__.endswith("Tracer"):
        return None
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None


_notes: contextvars.ContextVar[list | None] = contextvars.ContextVar("notes", default=None)


@contextlib.contextmanager
def noting() -> Iterator[list]:
    """Within it, conditions on traced numbers are kept in the list given."""
    notes: list = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def note(condition: Any) -> None:
    """A condition that must hold, where its numbers may not be known yet; concrete ones are checked elsewhere.

    Args:
        condition: It, or a function that gives it, which is called only where conditions are kept.
    """
    notes = _notes.get()
    if notes is not None:
        notes.append(condition() if callable(condition) else condition)


def shape_of(value: Any) -> tuple[int, ...]:
    """Shape of an array, of a number or of a list, which may hold traced numbers."""
    if hasattr(value, "shape"):
        return tuple(value.shape)
    if isinstance(value, list | tuple) and any(concrete(entry) is None for entry in value):
        return (len(value), *shape_of(value[0]))
    return np.shape(value)


def _fail(name: str, rule: str, value: Any, advice: str) -> None:
    text = f"`{name}` must be {rule}, got {value}."
    raise ValueError(f"{text} {advice}" if advice else text)


def _offender(values: np.ndarray, bad: np.ndarray) -> Any:
    """The first value that breaks the rule, with its index when there are several."""
    if values.ndim == 0:
        return float(values)
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    where = ", ".join(str(i) for i in index)
    return f"{float(values[index])} at index {where}"


def _require(name: str, value: Any, rule: str, test: Any, advice: str) -> None:
    values = concrete(value)
    if values is None:
        if (word := _no_number(value)) is not None:
            raise TypeError(f"`{name}` must be a number {rule}, got {word!r}.{f' {advice}' if advice else ''}")
        _note_test(value, test)
        return
    bad = ~np.asarray(test(values))
    if bad.any():
        _fail(name, rule, _offender(values, bad), advice)


def _no_number(value: Any) -> Any:
    """The first thing in `value` that can be no number: a text, a table or nothing at all."""
    if isinstance(value, list | tuple):
        return next((found for one in value if (found := _no_number(one)) is not None), None)
    if value is None:
        return "None"
    return value if isinstance(value, str | bytes | dict | set) or callable(value) else None


def _note_test(value: Any, test: Any) -> None:
    if isinstance(value, list | tuple):
        for item in value:
            _note_test(item, test)
    elif _notes.get() is not None:
        note(test(value))


def _is_finite(x):
    return x - x == 0.0  # for traced numbers too


def finite(name: str, value: Any) -> None:
    """Every number of `value` is finite."""
    _require(name, value, "finite", _is_finite, "")


def positive(name: str, value: Any, advice: str = "") -> None:
    """Every number of `value` is finite and > 0."""
    if type(value) is float and 0.0 < value < math.inf:
        return
    _require(name, value, "> 0", lambda x: _is_finite(x) & (x > 0), advice)


def nonnegative(name: str, value: Any, advice: str = "") -> None:
    """Every number of `value` is finite and >= 0."""
    _require(name, value, ">= 0", lambda x: _is_finite(x) & (x >= 0), advice)


def between(name: str, value: Any, low: float, high: float, advice: str = "") -> None:
    """Every number of `value` lies in [low, high]."""
    _require(name, value, f"in [{low:g}, {high:g}]", lambda x: (x >= low) & (x <= high), advice)


def shaped(name: str, value: Any, shape: tuple[int | None, ...], advice: str = "") -> None:
    """`value` has this shape; None stands for any length."""
    found = shape_of(value)
    if len(found) != len(shape) or any(want is not None and want != n for n, want in zip(found, shape, strict=True)):
        wanted = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        _fail(name, f"of shape {wanted}", str(found), advice)


def instance(name: str, value: Any, kind: type | tuple[type, ...], advice: str) -> None:
    """`value` is an object of this type; `advice` says how to make one. Raises `TypeError`."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = " or ".join(one.__name__.removeprefix("Abstract") for one in kinds)
        shown = repr(value) if isinstance(value, str | int | float) else f"a {type(value).__name__}"
        raise TypeError(f"`{name}` must be a {wanted}, got {shown}. {advice}")


def one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    """`value` is one of the words of `allowed`; the nearest one is suggested."""
    allowed = list(allowed)
    if value not in allowed:
        raise ValueError(f"Unknown {name} {value!r}.{suggestion(value, allowed)} Known: {', '.join(allowed)}.")


def suggestion(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the nearest known word, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""
