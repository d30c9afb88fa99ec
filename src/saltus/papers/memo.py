"""Results that an object keeps for itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def memoise(method: Callable[..., Any]) -> Callable[..., Any]:
    """Compute a method once per object and arguments; what is kept goes with the object."""

    @functools.wraps(method)
    def once(self, *arguments):
        memory = self.__dict__.setdefault("_kept", {})
        key = (method.__name__, *arguments)
        if key not in memory:
            memory[key] = method(self, *arguments)
        return memory[key]

    return once
