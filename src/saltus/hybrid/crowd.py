"""What a queue of events needs to know of a system of many members that move on their own."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np
from jaxtyping import Array

from saltus.hybrid.outcome import Outcome
from saltus.hybrid.state import State
from saltus.hybrid.system import AbstractSystem


@dataclasses.dataclass(frozen=True)
class Upcoming:
    """Something that will happen if nothing else happens before to those it concerns.

    Args:
        t: When [s].
        kind: A word for the plan that foresaw it.
        members: Whom it concerns; it is void once one of them has changed.
        detail: What else the plan needs to make it happen.
    """

    t: float
    kind: str
    members: tuple[int, ...]
    detail: Any = None


@dataclasses.dataclass(frozen=True)
class Change:
    """What an event did.

    Args:
        name: Name of the event, or None if nothing happened that is worth a record.
        index: Which of the things of that name.
        members: Members whose motion is to be foreseen anew.
        q: Configurations of `members` after.
        v: Velocities of `members` after.
        mode: Modes of `members` after.
        ledger: What is added to the ledger.
        data: What the event tells.
        outcome: Why the run ends here, if it does.
    """

    name: str | None
    index: int
    members: tuple[int, ...]
    q: np.ndarray
    v: np.ndarray
    mode: np.ndarray
    ledger: np.ndarray
    data: dict[str, Any]
    outcome: Outcome | None = None


@dataclasses.dataclass(frozen=True)
class Band:
    """Members that move together for a while, as a small system of its own.

    Args:
        system: The small system, with smooth flow and guards; `look(state)` gives the rates, all guards, and the
            configurations and velocities of its members as the crowd has them.
        start: Its state now.
        members: Its members, by their numbers in the crowd.
        bound: How many of the first of them have to be followed; the others only stand by.
        contacts: For each guard what its indices mean, for the plan.
        at_once: Guards (name, index) that fire at the start if they are below zero there.
        until: For how long it may be left alone [s].
    """

    system: AbstractSystem
    start: State
    members: tuple[int, ...]
    bound: int
    contacts: dict[str, list]
    at_once: frozenset[tuple[str, int]]
    until: float


class Again(Protocol):
    """What a replayed event of a crowd gives: its time, and the rows of its members and the ledger after it."""

    t: Array
    q: Array
    v: Array
    ledger: Array


class Plan(Protocol):
    """Foresees the events of a crowd and makes them happen; made by `system.plan(start, until)`."""

    def foresee(self, members, t: float, q: np.ndarray, v: np.ndarray, mode: np.ndarray) -> list[Upcoming]:
        """Events that concern `members`, from the states of all at time t."""
        ...

    def happen(self, event: Upcoming, q: np.ndarray, v: np.ndarray, mode: np.ndarray) -> Change:
        """What an event does, from the states of all at its time."""
        ...

    def band(self, t: float, q: np.ndarray, v: np.ndarray, mode: np.ndarray, until: float) -> Band | None:
        """Members that do not move on their own now."""
        ...

    def banded(self, band: Band, name: str, index: int, t: float, q, v, mode) -> Change:
        """What an event within a band does."""
        ...
