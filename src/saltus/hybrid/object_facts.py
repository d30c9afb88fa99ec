"""What has been found out about objects that never change: remembered for as long as they live, by identity."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any, Generic, TypeVar

Fact = TypeVar("Fact")


class ObjectFacts(Generic[Fact]):
    """Facts about immutable objects; to look one up takes a microsecond, where to take it apart takes fifty."""

    def __init__(self):
        self._facts: dict[int, tuple[weakref.ref, Fact]] = {}

    def get(self, thing: Any) -> Fact | None:
        """The fact about this very object; None if there is none."""
        found = self._facts.get(id(thing))
        return found[1] if found is not None and found[0]() is thing else None

    def put(self, thing: Any, fact: Fact) -> None:
        """Remember a fact about an object; not where it cannot be seen when it ends."""
        number = id(thing)
        with contextlib.suppress(TypeError):
            self._facts[number] = (weakref.ref(thing, lambda gone: self._forget(number, gone)), fact)

    def _forget(self, number: int, gone: weakref.ref) -> None:
        """An object is gone; another one may have got its number since."""
        found = self._facts.get(number)
        if found is not None and found[0] is gone:
            del self._facts[number]
