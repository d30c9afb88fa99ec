"""What a queue of events needs to know of a system of many members that move on their own."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np
from jaxtyping import Array

from saltus.hybrid.outcome import Outcome


@dataclasses.dataclass(frozen=True)
class ForeseenEvent:
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


class Band(Protocol):
    """Members that move together for a while, by ordinary differential equations of their own.

    The equations may run in another variable than time, in which they are smooth; `clock` tells the time. A band that
    is quicker to ask for several places at once also has `rates(ys)` and `several_rows(ys)`: rates and rows at each
    row of an array. `clock` and `tidy` take one place or such an array.

    Args:
        members: Its members, by their numbers in the crowd.
        start: The variables now.
        stride: A first step to try.
        longest: For how long it may be left alone at a time [s].
        names: What each guard tells: a name and a number for the plan.
        at_once: Which guards fire at the start if they are below zero there.
    """

    members: tuple[int, ...]
    start: np.ndarray
    stride: float
    longest: float
    names: list[tuple[str, int]]
    at_once: np.ndarray

    def rate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rates of the variables, and the guards: each falls through zero at its event."""
        ...

    def clock(self, y: np.ndarray) -> Any:
        """Time that has passed since the start [s]."""
        ...

    def tidy(self, y: np.ndarray) -> np.ndarray:
        """The variables with what rounding has spoiled made good."""
        ...

    def rows(self, y: np.ndarray, whole: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Configurations and velocities of the members, and what is added to the ledger; quicker if not `whole`."""
        ...

    def onward(self, y: np.ndarray) -> Band:
        """The band with these variables for its start."""
        ...

    def scales(self, y: np.ndarray) -> np.ndarray:
        """Size of each variable, in which errors are measured."""
        ...


class Leg(Protocol):
    """A band's motion for a while."""

    band: Band
    begin: float
    end: float

    def rows(self, t: float, whole: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `Band.rows`, at a time between begin and end."""
        ...


class Paths(Protocol):
    """How the members of a crowd will move if nothing happens to them."""

    def at(self, members, t: float, quick: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Configurations and velocities of some members at a time; `quick`: within the error of a step."""
        ...

    def leg(self, member: int) -> Leg | None:
        """The leg of a member that does not move on its own."""
        ...


class ReplayedEvent(Protocol):
    """What a replayed event of a crowd gives: its time, and the rows of its members and the ledger after it."""

    t: Array
    q: Array
    v: Array
    ledger: Array


class Plan(Protocol):
    """Foresees the events of a crowd and makes them happen; made by `system.plan(start, until)`."""

    def ahead(self, t: float, paths: Paths) -> tuple[list[tuple[float, Change]], bool] | None:
        """The next events with their times, found together, and whether nothing is left to happen after them.

        None where events are to be foreseen one by one. Asked where all members move on their own, at the time of the
        last event of an earlier answer if there was one.
        """
        ...

    def foresee(self, members, t: float, q: np.ndarray, v: np.ndarray, paths: Paths) -> list[ForeseenEvent]:
        """Events that concern `members`, from the states of all at time t."""
        ...

    def happen(self, event: ForeseenEvent, q: np.ndarray, v: np.ndarray, mode: np.ndarray) -> Change:
        """What an event does, from the states of all at its time."""
        ...

    def bands(self, members, t: float, q: np.ndarray, v: np.ndarray) -> list[Band]:
        """The bands of members in contact to which some of these belong."""
        ...

    def happen_within(self, band: Band, name: str, index: int, t: float, q, v, mode) -> Change:
        """What an event within a band does."""
        ...

    def judge(self, t: float, q: np.ndarray, v: np.ndarray) -> Outcome | None:
        """What is wrong with the last state, if anything is."""
        ...
