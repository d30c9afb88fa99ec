"""A benchmark problem that any engine can be given: rates, guards and jumps as formulas, without an engine's words.

Formulas are written for an array module `xp` (numpy or jax.numpy) and give lists of numbers; nothing here imports JAX.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Numbers = Mapping[str, float]
Formula = Callable[[Any, Any, Any, Numbers], Any]  # of xp, t, y, p


@dataclasses.dataclass(frozen=True)
class Rule:
    """What is watched, and what happens.

    Args:
        name: Name of the event.
        function: Falls through zero at the event.
        jump: The state after it; unchanged if None.
        armed: Modes in which it is watched; all if None.
        to: Mode after the event: its name, or a formula that gives its number; unchanged if None.
        ends: Whether the run ends here.
        rest: Mode that follows where its events pile up; the state there is the last one before.
    """

    name: str
    function: Formula
    jump: Formula | None = None
    armed: tuple[str, ...] | None = None
    to: str | Formula | None = None
    ends: bool = False
    rest: str | None = None


@dataclasses.dataclass(frozen=True)
class Problem:
    """A hybrid system with its start and its end.

    Args:
        rates: Time derivatives by the names of the modes; the first is the mode at the start.
        rules: What is watched.
        start: `start(p)`: the state at the beginning.
        measure: `measure(record, p)`: the quantities that are compared, by name.
        until: `until(p)`: time of the end [s].
        begins: `begins(p)`: time of the start [s].
    """

    rates: Mapping[str, Formula]
    rules: tuple[Rule, ...]
    start: Callable[[Numbers], list[float]]
    measure: Callable[[Record, Numbers], dict[str, float]]
    until: Callable[[Numbers], float]
    begins: Callable[[Numbers], float] = lambda p: 0.0


@dataclasses.dataclass(frozen=True)
class ProblemEvent:
    """An event: its name, its time [s], and the states before and after."""

    name: str
    t: float
    before: np.ndarray
    after: np.ndarray


@dataclasses.dataclass(frozen=True)
class Record:
    """What an engine made of a problem.

    Args:
        events: What happened, in order.
        t: Time at the end [s].
        y: State at the end.
        settled: When events that pile up end [s]; None if the engine does not tell.
    """

    events: tuple[ProblemEvent, ...]
    t: float
    y: np.ndarray
    settled: float | None = None

    def time(self, number: int, name: str | None = None) -> float:
        """Time of the event of this number, from 1 on; NaN if there was none [s]."""
        found = [event.t for event in self.events if name is None or event.name == name]
        return found[number - 1] if number <= len(found) else float("nan")

    def event(self, number: int) -> ProblemEvent:
        """The event of this number, from 1 on; one that is not a number if there was none."""
        if number <= len(self.events):
            return self.events[number - 1]
        none = np.full_like(self.y, np.nan)
        return ProblemEvent("", float("nan"), none, none)


def impacts(*numbers: int) -> Callable[[Record, Numbers], dict[str, float]]:
    """Measures the times of these events."""
    return lambda record, p: {f"event {n}": record.time(n) for n in numbers}
