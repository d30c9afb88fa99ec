"""The motion of a crowd as it is remembered: for every member, where it was at each of its changes."""

from __future__ import annotations

import bisect
import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from saltus.engines.band_step import Leg
from saltus.engines.drift import drift_once
from saltus.hybrid import AbstractTrajectory, Event, Outcome, State
from saltus.hybrid.parts import refill
from saltus.hybrid.trajectory import SIDES, OrderWithJumps, checked_times
from saltus.programs.arrays import numbers

if TYPE_CHECKING:
    from saltus.engines.replay import Replay

TOGETHER = 256  # events whose states are computed together
FIND = {"before": bisect.bisect_left, "after": bisect.bisect_right}  # how many pieces have begun at a time


@dataclasses.dataclass
class _Member:
    """Pieces of one member: when each began, its state there (or the leg of a band it belongs to), its mode."""

    times: list
    states: list
    modes: list


class QueueTrajectory(AbstractTrajectory):
    """The motion of all members.

    Between two changes a member's motion is the system's closed-form flow, so nothing is interpolated.
    """

    def __init__(self, system, start: State):
        self.system, self.start = system, start
        q, v, mode = np.asarray(start.q), np.asarray(start.v), np.asarray(start.mode)
        first = float(start.t)
        self.pieces = [_Member([first], [(q[i], v[i])], [mode[i]]) for i in range(len(q))]
        self.ledger = [(first, np.asarray(start.ledger))]
        self._events: list[Event] = []
        self.steps = 0
        self._until = first
        self._landed: dict[int, float] = {}
        self._sides: tuple[int, int, State] | None = None  # states beside some events: which, of how many

    @staticmethod
    def begin(system, start: State) -> QueueTrajectory:
        """A memory of nothing but the start."""
        return QueueTrajectory(system, start)

    @property
    def count(self) -> int:
        """How many events are remembered."""
        return len(self._events)

    def add_event(self, name: str, index: int, t: float, data: dict[str, Any], members: tuple[int, ...]) -> None:
        """Remember an event; its states are put together when asked for."""
        before, after = (functools.partial(self._beside, len(self._events), side) for side in SIDES)
        self._events.append(Event(name, index, t, before, after, data, members))

    def _beside(self, number: int, side: str) -> State:
        """The state before or after an event: those of its neighbours are computed with it, and kept for a while."""
        first = number // TOGETHER * TOGETHER
        if self._sides is None or self._sides[:2] != (first, len(self._events)):
            times = [event.t for event in self._events[first : first + TOGETHER] for _ in SIDES]
            self._sides = first, len(self._events), self._states(np.array(times), SIDES * (len(times) // len(SIDES)))
        row = len(SIDES) * (number - first) + SIDES.index(side)
        return jax.device_put(jax.tree.map(lambda x: np.asarray(x)[row], self._sides[2]))

    def add_change(self, t: float, members, q, v, mode, ledger) -> None:
        """Remember a change of some members."""
        for k, member in enumerate(members):
            kept = self.pieces[member]
            kept.times.append(t)
            kept.states.append((np.array(q[k]), np.array(v[k])))
            kept.modes.append(np.array(mode[k]))
        self.ledger.append((t, np.array(ledger)))
        self._until = t

    def add_leg(self, t: float, members, modes, leg: Leg) -> None:
        """Remember that some members set off together."""
        for k, member in enumerate(members):
            kept = self.pieces[member]
            kept.times.append(t)
            kept.states.append(leg)
            kept.modes.append(np.array(modes[k]))
        self.steps += 1

    def end_leg(self, t: float, leg: Leg, ledger) -> None:
        """Remember that a leg is over, perhaps before its time; the ledger now has what it has added."""
        self._landed[id(leg)] = t
        self.ledger.append((t, np.array(ledger)))

    def close(self, t: float, outcome: Outcome) -> QueueTrajectory:
        """The memory of a run that has ended."""
        self.events, self.outcome, self._until = tuple(self._events), outcome, t
        return self

    def replay(self, system, start: State, times=None) -> Replay:
        """The run taken again with other numbers; `system` offers `check_replay` and `replay_event` for its events."""
        from saltus.engines.queue_replay import replay

        return replay(self, system, start, times)

    @property
    def end(self) -> State:
        """The last state."""
        return self.at(self._until)

    @property
    def until(self) -> float:
        """Time of the last state [s]."""
        return self._until

    @property
    def knots(self) -> State:
        """The states at the start, at every event and at the end."""
        times = np.unique([float(self.start.t), *(event.t for event in self._events), self._until])
        return self.states(times)

    def states(self, times, side: str = "after") -> State:
        """The states of all members at these times, stacked."""
        times = checked_times(times, side, float(self.start.t), self._until)
        return self._states(times, (side,) * len(times))

    def states_with_jumps(self, times: np.ndarray) -> tuple[State, np.ndarray, np.ndarray]:
        """The states at these times and on both sides of every jump, all found together."""
        times = checked_times(times, "after", float(self.start.t), self._until)
        order = OrderWithJumps(times, np.repeat(np.unique([event.t for event in self._events]), len(SIDES)))
        sides = [SIDES[0] if side < 0 else SIDES[1] for side in order.side]
        return self._states(order.times, sides), order.times, order.side

    def _states(self, times: np.ndarray, sides: Sequence[str]) -> State:
        """The states at these times, each before or after what happens then."""
        n = len(self.pieces)
        q = np.empty((len(times), n, *self.start.q.shape[1:]))
        v = np.empty((len(times), n, *self.start.v.shape[1:]))
        mode = np.empty((len(times), n), int)
        lost = self._fill(times, sides, q, v, mode)
        marks = [t for t, _ in self.ledger]
        place = np.array([FIND[side](marks, t) for t, side in zip(times, sides, strict=True)], int) - 1
        ledger = np.stack([value for _, value in self.ledger])[np.maximum(place, 0)] + lost
        like, rows = self.start, [numbers(x, None) for x in (q, v, ledger, mode)]
        parts = (refill(*pair) for pair in zip((like.q, like.v, like.ledger, like.mode), rows, strict=True))
        return State(numbers(times, None), *parts)

    def _fill(self, times, sides, q, v, mode) -> np.ndarray:
        """Fill in the rows; returns what the legs then under way have added to the ledger."""
        members, rows, lags, which = [], [], [], []
        pieces: dict[tuple[int, int], int] = {}
        legs: dict[int, tuple[Leg, dict[int, list[int]]]] = {}  # who of it is asked for in which row
        find = [FIND[side] for side in sides]
        for i, kept in enumerate(self.pieces):
            for row, t in enumerate(times):
                k = max(find[row](kept.times, t) - 1, 0)
                mode[row, i] = kept.modes[k]
                state = kept.states[k]
                if isinstance(state, Leg):
                    legs.setdefault(id(state), (state, {}))[1].setdefault(row, []).append(i)
                    continue
                members.append(i)
                rows.append(row)
                lags.append(t - kept.times[k])
                which.append(pieces.setdefault((i, k), len(pieces)))
        if rows:
            states = [self.pieces[i].states[k] for i, k in pieces]
            starts = [i for i, _ in pieces], [one for one, _ in states], [two for _, two in states]
            q[rows, members], v[rows, members] = drift_once(self.system, *starts, which, lags)
        lost = np.zeros((len(times), *self.start.ledger.shape))
        for leg, asked in legs.values():
            went = leg.samples([times[row] for row in asked])
            for (row, concerned), (went_q, went_v, spent) in zip(asked.items(), went, strict=True):
                places = [leg.band.members.index(i) for i in concerned]
                q[row, concerned], v[row, concerned] = went_q[places], went_v[places]
                if sides[row] == "before" or times[row] < self._landed.get(id(leg), np.inf):
                    lost[row] += spent
        return lost
