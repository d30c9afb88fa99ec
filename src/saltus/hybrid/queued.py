"""What an engine needs to know of a system of many members with foreseen events."""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
from jaxtyping import Array

from saltus.hybrid.event import Event
from saltus.hybrid.members import Plan, ReplayedEvent
from saltus.hybrid.state import State
from saltus.hybrid.system import HybridSystem


class AbstractQueuedSystem(HybridSystem):
    """A system of many members that move on their own, in closed form, between events that can be foreseen.

    Configurations, velocities and modes of a state have the members as their first axis.
    """

    @abc.abstractmethod
    def flow(self, index: Array, q: Array, v: Array, duration: Array, compact: bool = False) -> tuple[Array, Array]:
        """Motion of one member on its own; traced by JAX. `compact`: quick to compile."""

    def flow_many(
        self, members: np.ndarray, q: np.ndarray, v: np.ndarray, which: np.ndarray, durations: np.ndarray
    ) -> Any:
        """Members after motion on their own for many times, as `flow` has it, in NumPy; None if that is not known.

        Args:
            members: Some members.
            q: Their configurations.
            v: Their velocities.
            which: Which of these is asked for; one row of the answer for each entry.
            durations: After how long, >= 0 [s].
        """
        return None

    @abc.abstractmethod
    def only(self, members: Array) -> Self:
        """The same system with these members alone, counted from 0 in this order; traced by JAX."""

    @abc.abstractmethod
    def plan(self, start: State, until: float) -> Plan:
        """What foresees the events of a run from `start` and makes them happen."""

    @abc.abstractmethod
    def check_replay(self, event: Event) -> None:
        """Refuse, by `ValueError`, an event that `replay_event` cannot take again."""

    @abc.abstractmethod
    def replay_event(self, event: Event, t: Array, since: Array, q: Array, v: Array) -> ReplayedEvent:
        """An event of an earlier run taken again with other numbers, for the rows of those it concerns.

        Args:
            event: That event.
            t: Its time in the earlier run [s].
            since: When each of its members last changed [s].
            q: Configurations of these members then.
            v: Velocities of these members then.
        """
