"""The motion of a crowd as it is remembered: for every member, where it was at each of its changes."""

from __future__ import annotations

import bisect
import dataclasses
import functools
from typing import Any

import jax
import numpy as np

from saltus import checks
from saltus.engines.replay import Replay
from saltus.engines.stepwise import Leg
from saltus.hybrid import Outcome, State
from saltus.hybrid.trajectory import SIDES
from saltus.programs.arrays import numbers


class Recalled:
    """An event of a crowd; its states before and after are put together when asked for."""

    def __init__(self, name: str, index: int, t: float, data: dict[str, Any], members, memory: Recollection):
        self.name, self.index, self.t, self.data = name, index, t, data
        self.members: tuple[int, ...] = tuple(members)
        self._memory = memory

    @functools.cached_property
    def before(self) -> State:
        """All members just before."""
        return self._memory.at(self.t, "before")

    @functools.cached_property
    def after(self) -> State:
        """All members just after the last event of that instant."""
        return self._memory.at(self.t, "after")

    def __repr__(self) -> str:
        return f"Event({self.name!r}, index={self.index}, t={self.t!r})"


@dataclasses.dataclass
class _Member:
    """Pieces of one member: when each began, its state there (or the leg of a band it belongs to), its mode."""

    times: list
    states: list
    modes: list


class Recollection:
    """As a `Trajectory`: can be asked for the state of all members at any time.

    Between two changes a member's motion is the system's closed-form flow, so nothing is interpolated.
    """

    def __init__(self, system, start: State):
        self.system, self.start = system, start
        q, v, mode = np.asarray(start.q), np.asarray(start.v), np.asarray(start.mode)
        first = float(start.t)
        self.pieces = [_Member([first], [(q[i], v[i])], [mode[i]]) for i in range(len(q))]
        self.ledger = [(first, np.asarray(start.ledger))]
        self.events: tuple[Recalled, ...] = ()
        self._events: list[Recalled] = []
        self.outcome: Outcome | None = None
        self.steps = 0
        self._until = first
        self._landed: dict[int, float] = {}

    @staticmethod
    def begin(system, start: State) -> Recollection:
        """A memory of nothing but the start."""
        return Recollection(system, start)

    def event(self, event: Recalled) -> None:
        """Remember an event."""
        self._events.append(event)
        self.events = tuple(self._events) if len(self._events) < 64 else self._events

    def piece(self, t: float, members, q, v, mode, ledger) -> None:
        """Remember a change of some members."""
        for k, member in enumerate(members):
            kept = self.pieces[member]
            kept.times.append(t)
            kept.states.append((np.array(q[k]), np.array(v[k])))
            kept.modes.append(np.array(mode[k]))
        self.ledger.append((t, np.array(ledger)))
        self._until = t

    def stretch(self, t: float, members, modes, leg: Leg) -> None:
        """Remember that some members set off together."""
        for k, member in enumerate(members):
            kept = self.pieces[member]
            kept.times.append(t)
            kept.states.append(leg)
            kept.modes.append(np.array(modes[k]))
        self.steps += 1

    def landed(self, t: float, leg: Leg, ledger) -> None:
        """Remember that a leg is over, perhaps before its time; the ledger now has what it has added."""
        self._landed[id(leg)] = t
        self.ledger.append((t, np.array(ledger)))

    def close(self, t: float, outcome: Outcome) -> Recollection:
        """The memory of a run that has ended."""
        self.events, self.outcome, self._until = tuple(self._events), outcome, t
        return self

    def replay(self, system, start: State, times=None) -> Replay:
        """The run taken again with other numbers; `system` offers `check_replay` and `again` for its events."""
        from saltus.engines.crowd_replay import replay

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

    def at(self, t: float, side: str = "after") -> State:
        """The state of all members at one time."""
        states = self.states(np.asarray([t], float), side)
        return jax.tree.map(lambda x: numbers(np.asarray(x)[0], None), states)

    def states(self, times, side: str = "after") -> State:
        """The states of all members at these times, stacked."""
        checks.one_of("side", side, SIDES)
        times = np.asarray(times, float)
        first = float(self.start.t)
        if times.size and (times.min() < first or times.max() > self._until):
            raise ValueError(
                f"The times {times.min():g} to {times.max():g} s are not all within the run, "
                f"which covers {first:g} to {self._until:g} s."
            )
        n = len(self.pieces)
        q = np.empty((len(times), n, *np.shape(self.start.q)[1:]))
        v = np.empty((len(times), n, *np.shape(self.start.v)[1:]))
        mode = np.empty((len(times), n), int)
        lost = self._fill(times, side, q, v, mode)
        marks = np.array([t for t, _ in self.ledger])
        place = np.searchsorted(marks, times, side="right" if side == "after" else "left") - 1
        ledger = np.stack([value for _, value in self.ledger])[np.maximum(place, 0)] + lost
        return State(*(numbers(x, None) for x in (times, q, v, ledger, mode)))

    def _fill(self, times, side, q, v, mode) -> np.ndarray:
        """Fill in the rows; returns what the legs then under way have added to the ledger."""
        from saltus.engines.event_queue import drift

        members, rows, lags, from_q, from_v = [], [], [], [], []
        legs: dict[tuple[int, int], tuple[Leg, list[int]]] = {}
        find = bisect.bisect_right if side == "after" else bisect.bisect_left
        for i, kept in enumerate(self.pieces):
            for row, t in enumerate(times):
                k = max(find(kept.times, t) - 1, 0)
                mode[row, i] = kept.modes[k]
                state = kept.states[k]
                if isinstance(state, Leg):
                    legs.setdefault((row, id(state)), (state, []))[1].append(i)
                    continue
                members.append(i)
                rows.append(row)
                lags.append(t - kept.times[k])
                from_q.append(state[0])
                from_v.append(state[1])
        if rows:
            q[rows, members], v[rows, members] = drift(self.system, members, from_q, from_v, lags)
        lost = np.zeros((len(times), *np.shape(self.start.ledger)))
        for (row, _), (leg, concerned) in legs.items():
            went_q, went_v, spent = leg.rows(times[row])
            places = [leg.band.members.index(i) for i in concerned]
            q[row, concerned], v[row, concerned] = went_q[places], went_v[places]
            if side == "before" or times[row] < self._landed.get(id(leg), np.inf):
                lost[row] += spent
        return lost
