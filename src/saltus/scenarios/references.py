"""Which publications stand behind a system: read from the docstrings of everything it is made of."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any


@dataclasses.dataclass(frozen=True)
class Reference:
    """Publications behind a law or system.

    Args:
        part: Name of the class.
        about: The first line of its docstring.
        sources: The publications.
    """

    part: str
    about: str
    sources: tuple[str, ...]


def references(system: Any) -> list[Reference]:
    """The sources of a system and of all that it is made of, each class once."""
    found = {}
    for part in _parts(system):
        name, text = type(part).__name__, inspect.getdoc(type(part)) or ""
        sources = _sources(text)
        if sources and name not in found:
            found[name] = Reference(name, text.splitlines()[0].rstrip("."), sources)
    return list(found.values())


def _parts(value: Any) -> Iterator[Any]:
    """A module and the modules within it."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in dataclasses.fields(value):
            yield from _parts(getattr(value, field.name, None))


def _sources(docstring: str) -> tuple[str, ...]:
    """The entries of the section "References:", which semicolons part."""
    lines, inside, gathered = docstring.splitlines(), False, []
    for line in lines:
        if line.strip() == "References:":
            inside = True
        elif inside and line.strip() and not line.startswith(" "):
            break
        elif inside:
            gathered.append(line.strip())
    entries = " ".join(word for word in gathered if word).split(";")
    return tuple(entry.strip().rstrip(".") for entry in entries if entry.strip())
