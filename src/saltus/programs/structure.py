"""The form of what a program returns, as JSON and back: containers and classes of saltus around numbered arrays.

Classes are named, not stored: only those of saltus that hold fields and nothing else can be named, so that a file from
elsewhere can call no code.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import jax

from saltus.programs.text import UnwritableError, is_data

PLAIN = (bool, int, float, str)


class FormError(ValueError):
    """A form that names something it must not, or nothing at all."""


def describe(value: Any, count: int = 0) -> tuple[Any, int]:
    """The form of a value whose arrays are numbered from `count` in the order of `jax.tree.leaves`, and the next."""
    if value is None:
        return None, count
    if is_data(value) or isinstance(value, jax.ShapeDtypeStruct):
        return {"array": count}, count + 1
    if type(value) in PLAIN:
        return {"plain": value}, count
    if isinstance(value, dict):
        keys = sorted(value)
        if not all(type(key) is str for key in keys):
            raise UnwritableError("a dictionary whose keys are not words")
        parts, count = _all([value[key] for key in keys], count)
        return {"dict": keys, "parts": parts}, count
    if type(value) in (tuple, list):
        parts, count = _all(value, count)
        return {type(value).__name__: parts}, count
    names = fields_of(type(value))
    if not all(hasattr(value, name) for name in names):
        raise UnwritableError(f"a result of class {type(value).__qualname__} that lacks fields")
    parts, count = _all([getattr(value, name) for name in names], count)
    kind = type(value)
    return {"class": [kind.__module__, kind.__qualname__], "parts": parts}, count


def _all(values: Any, count: int) -> tuple[list, int]:
    parts = []
    for value in values:
        part, count = describe(value, count)
        parts.append(part)
    return parts, count


def fields_of(kind: type) -> tuple[str, ...]:
    """Names of the fields of a class that may be part of a form."""
    if not kind.__module__.startswith("saltus.") or "<" in kind.__qualname__:
        raise UnwritableError(f"a result of class {kind.__qualname__}")
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(getattr(kind, "_fields", ()))
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    raise UnwritableError(f"a result of class {kind.__qualname__}")


def rebuild(form: Any, arrays: list) -> Any:
    """The value of this form with these arrays."""
    if form is None:
        return None
    if "array" in form:
        return arrays[form["array"]]
    if "plain" in form:
        return form["plain"]
    if "dict" in form:
        return {key: rebuild(part, arrays) for key, part in zip(form["dict"], form["parts"], strict=True)}
    if "tuple" in form:
        return tuple(rebuild(part, arrays) for part in form["tuple"])
    if "list" in form:
        return [rebuild(part, arrays) for part in form["list"]]
    if "class" in form:
        return _make(_class(*form["class"]), [rebuild(part, arrays) for part in form["parts"]])
    raise FormError("an unknown form")


def _class(module: str, name: str) -> type:
    if not module.startswith("saltus."):
        raise FormError(f"a class of {module}")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, type):
        raise FormError(f"{name} is not a class")
    return found


def _make(kind: type, values: list) -> Any:
    names = fields_of(kind)
    if len(names) != len(values):
        raise FormError(f"{kind.__qualname__} has other fields")
    if issubclass(kind, tuple):
        return kind(*values)
    made = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made
