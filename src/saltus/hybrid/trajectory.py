"""The record of a motion: what can be asked for the state at any time, with the events on the way."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from saltus import checks
from saltus.hybrid.event import Event
from saltus.hybrid.outcome import Outcome
from saltus.hybrid.state import State

SIDES = ("before", "after")


class AbstractTrajectory(abc.ABC):
    """A motion that can be asked for its state at any time.

    The instant of a jump has two states: everything that evaluates takes `side`.

    Attributes:
        start: The first state.
        end: The last state.
        knots: States from the start to the end between which the motion is smooth, stacked.
        events: What happened, in order.
        outcome: Why it ended.
        steps: Steps tried.
    """

    start: State
    end: State
    knots: State
    events: tuple[Event, ...]
    outcome: Outcome
    steps: int

    @abc.abstractmethod
    def states(self, times, side: str = "after") -> State:
        """The states at these times, stacked."""

    @property
    def until(self) -> float:
        """Time of the last state [s]; quicker than the state itself where that has to be found."""
        return float(self.end.t)

    @abc.abstractmethod
    def replay(self, system, start: State, times=None) -> Any:
        """The same steps and events with other numbers (`engines.replay.Replay`); `ValueError` where that is unknown.

        Args:
            system: The system with its numbers, perhaps traced.
            start: Its start, perhaps traced.
            times: Times at which the states are wanted as well [s].
        """

    def at(self, t: float, side: str = "after") -> State:
        """The state at one time."""
        return jax.tree.map(lambda x: jax.device_put(np.asarray(x)[0]), self.states(np.asarray([t], float), side))

    def states_with_jumps(self, times: np.ndarray) -> tuple[State, np.ndarray, np.ndarray]:
        """The states at these times and on both sides of every jump, in order of time.

        A sample at the very time of a jump gives way to it.

        Returns:
            The states, their times [s], and 0 for a sample, -1 before and 1 after a jump.
        """
        jumps = _jumps(self.events)
        sides = [side for first, last in jumps for side in (first.before, last.after)]
        order = OrderWithJumps(times, np.array([float(state.t) for state in sides]))
        kept = self.states(times)

        def merge(leaf, *rows):
            return np.concatenate([np.asarray(leaf)[order.keep], *(np.asarray(row)[None] for row in rows)])[order.rows]

        return jax.tree.map(merge, kept, *sides), order.times, order.side


def _jumps(events: Sequence[Event]) -> list[tuple[Event, Event]]:
    """First and last event of each instant: events at one time are one jump."""
    jumps: list[tuple[Event, Event]] = []
    for event in events:
        if jumps and float(jumps[-1][1].after.t) == float(event.before.t):
            jumps[-1] = (jumps[-1][0], event)
        else:
            jumps.append((event, event))
    return jumps


class OrderWithJumps:
    """Times of samples and of both sides of jumps in their order.

    Args:
        times: Of the samples, rising [s].
        moments: Before and after each jump, which may take a little time, rising [s].

    Attributes:
        keep: Which samples are at no jump.
        rows: The order: first the samples kept are counted, then before and after of each jump.
        times: All times in it [s].
        side: 0 for a sample, -1 before and 1 after a jump.
    """

    def __init__(self, times: np.ndarray, moments: np.ndarray):
        self.keep = ~np.isin(times, moments)
        all_times = np.concatenate([times[self.keep], moments])
        jumps = np.tile(np.array([-1, 1], np.int8), len(moments) // 2)
        side = np.concatenate([np.zeros(self.keep.sum(), np.int8), jumps])
        self.rows = np.lexsort((side, all_times))
        self.times, self.side = all_times[self.rows], side[self.rows]


def checked_times(times, side: str, first: float, last: float) -> np.ndarray:
    """Times at which a motion from `first` to `last` is asked for, as an array."""
    checks.one_of("side", side, SIDES)
    times = np.asarray(times, float)
    if times.size and (times.min() < first or times.max() > last):
        raise ValueError(
            f"The times {times.min():g} to {times.max():g} s are not all within the run, "
            f"which covers {first:g} to {last:g} s."
        )
    return times


def no_replay(system, start: State, times=None) -> Any:
    """The replay of an engine that cannot do it."""
    raise ValueError(f"A run of {type(system).__name__} cannot be replayed.")


@dataclasses.dataclass(frozen=True)
class Trajectory(AbstractTrajectory):
    """A motion in segments of smooth flow.

    Args:
        knots: States at the accepted steps, stacked; the instant of a jump appears twice or more.
        events: What happened, in order.
        outcome: Why it ended.
        flow: `flow(states, times)`: smooth motion of stacked states to these times, each
            within the step that follows its knot.
        steps: Steps tried.
        replayer: `replayer(system, start, times)`: its replay.
    """

    knots: State
    events: tuple[Event, ...]
    outcome: Outcome
    flow: Callable[[State, jax.Array], State]
    steps: int = 0
    replayer: Callable[..., Any] = no_replay

    @property
    def start(self) -> State:
        """The first state."""
        return self._knot(0)

    @property
    def end(self) -> State:
        """The last state."""
        return self._knot(-1)

    def _knot(self, index: int) -> State:
        return jax.tree.map(lambda x: jax.device_put(x[index]), self.knots)

    def replay(self, system, start: State, times=None) -> Any:
        """The same steps and events with other numbers."""
        return self.replayer(system, start, times)

    def states(self, times, side: str = "after") -> State:
        """The states at these times, stacked."""
        t = np.asarray(self.knots.t)
        times = checked_times(times, side, t[0], t[-1])
        if side == "after":
            base = np.searchsorted(t, times, side="right") - 1
        else:
            base = np.searchsorted(t, times, side="left")
            base = np.where(t[np.minimum(base, t.size - 1)] == times, base, base - 1)
        from_knots = jax.tree.map(lambda x: jax.device_put(np.asarray(x)[base]), self.knots)
        return self.flow(from_knots, jax.device_put(times))
