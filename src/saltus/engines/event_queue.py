"""Many members that move on their own between events: each event is foreseen, queued, and voided by a change.

A member keeps the state and the time of its last change; it is moved, in closed form, only when it takes part in
something. Members that push on each other for a while are run as a small system of their own, one step (`Leg`) at a
time: the end of a step is an event like any other, and what happens on the way is foreseen as in free motion.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math
from typing import ClassVar

import numpy as np

from saltus.engines.band_step import Leg
from saltus.engines.drift import drift, drift_once
from saltus.engines.queue_trajectory import QueueTrajectory
from saltus.hybrid import AbstractQueuedSystem, Outcome, State
from saltus.hybrid.members import Change, ForeseenEvent

STEP_OF_PROGRESS = 25  # events between two reports
AT_ONCE = 1000  # events at one instant, for each member, after which they are taken to pile up
MAX_STEPS = 100_000  # legs of all bands together
FINEST = 1e-11  # relative error of a step of members in contact, at most


@dataclasses.dataclass(frozen=True)
class EventQueue:
    """Runs systems of many members with foreseen events.

    Args:
        rtol: Error allowed per step of members in contact, relative, > 0; `FINEST` if that is smaller.
        max_events: Events after which a run is ended.
    """

    contract: ClassVar[type] = AbstractQueuedSystem

    rtol: float = 1e-10
    max_events: int = 10_000

    @property
    def finest(self) -> float:
        """Relative error allowed per step of members in contact."""
        return min(self.rtol, FINEST)

    def run(self, system: AbstractQueuedSystem, start: State, until: float, progress=None) -> QueueTrajectory:
        """Event after event from `start` to time `until`."""
        if math.isinf(until):
            raise ValueError("This system has no end of its own. Give `until` as a time in seconds.")
        crowd = _Crowd(system, start, until, self)
        while crowd.outcome is None:
            crowd.next()
            if progress is not None and crowd.memory.count % STEP_OF_PROGRESS == 0:
                progress(crowd.t, crowd.memory.count)
        return crowd.memory.close(crowd.t, crowd.judge(crowd.outcome))


class _Crowd:
    """The members as they are, what is foreseen, and what is remembered; the `Paths` of its plan."""

    def __init__(self, system, start: State, until: float, settings: EventQueue):
        self.system, self.until, self.settings = system, until, settings
        self.t = float(start.t)
        self.q, self.v = np.array(start.q), np.array(start.v)
        self.mode, self.ledger = np.array(start.mode), np.array(start.ledger)
        self.clock = np.full(len(self.q), self.t)
        self.changes = np.zeros(len(self.q), int)
        self.legs: dict[int, Leg] = {}
        self.order = itertools.count()
        self.queue: list[tuple[float, int, ForeseenEvent, tuple[int, ...]]] = []
        self.outcome: Outcome | None = None
        self.at_once = 0
        self.plan = system.plan(start, until)
        self.memory = QueueTrajectory.begin(system, start)
        self.foreseen = False  # whether the queue knows what comes

    # ---- where the members are ----------------------------------------------------------------

    def leg(self, member: int) -> Leg | None:
        """The leg of a member that does not move on its own."""
        return self.legs.get(member)

    def _legs_of(self, members) -> list[Leg]:
        """The legs under way of some members, each once."""
        return list({id(leg): leg for leg in (self.legs.get(int(member)) for member in members) if leg}.values())

    def at(self, members, t: float, quick: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Some members at time t; nobody's clock is moved."""
        members = np.asarray(members, int)
        lags = [0.0 if int(member) in self.legs else t - self.clock[member] for member in members]
        q, v = drift(self.system, members, self.q[members], self.v[members], lags)
        for leg in self._legs_of(members):
            leg_q, leg_v = leg.sketch(t) if quick else leg.rows(t, whole=False)[:2]
            for k in np.flatnonzero(np.isin(members, leg.band.members)):
                place = leg.band.members.index(int(members[k]))
                q[k], v[k] = leg_q[place], leg_v[place]
        return q, v

    def _all_at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        return self.at(np.arange(len(self.q)), t)

    # ---- what is to come ----------------------------------------------------------------------

    def _foresee(self, members) -> None:
        q, v = self._all_at(self.t)
        for event in self.plan.foresee(list(members), self.t, q, v, self):
            self._push(event)

    def _push(self, event: ForeseenEvent) -> None:
        if event.t <= self.until:
            marks = tuple(self.changes[member] for member in event.members)
            heapq.heappush(self.queue, (event.t, next(self.order), event, marks))

    def _pop(self) -> ForeseenEvent | None:
        """The next event that has not been voided."""
        while self.queue:
            _, _, event, marks = heapq.heappop(self.queue)
            if all(self.changes[m] == mark for m, mark in zip(event.members, marks, strict=True)):
                return event
        return None

    def next(self) -> None:
        """One event, or many that the plan has found together."""
        if not self.legs and self._rush():
            return
        if not self.foreseen:
            self.foreseen = True
            self._foresee(range(len(self.q)))
        event = self._pop()
        if event is None:
            self._finish()
            return
        # A time is right to rounding, which must not turn time back.
        self._count(event.t)
        self.t = max(self.t, event.t)
        if event.kind == "leg":
            self._end_of_leg(event.detail)
            return
        q, v = self._all_at(self.t)
        self._apply(self.plan.happen(event, q, v, self.mode), q, v)

    def _rush(self) -> bool:
        """Take over what the plan has found ahead of the queue; False if it has nothing."""
        found = self.plan.ahead(self.t, self)
        if found is None:
            return False
        changes, ended = found
        if changes or ended:
            self.queue, self.foreseen = [], False
            self.changes += 1
        for t, change in changes:
            self.t = t
            self._record(change)
            if self.outcome is not None:
                return True
        if ended:
            self._finish()
        return bool(changes or ended)

    def _finish(self) -> None:
        self.t = self.until
        self.outcome = Outcome("finished", f"Reached t = {self.until:g} s.")

    def judge(self, outcome: Outcome) -> Outcome:
        """How the run has ended, however it has: a last state that cannot be says more than the reason to end."""
        wrong = self.plan.judge(self.t, *self._ends())
        return outcome if wrong is None else wrong

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """All members now, for the last time."""
        if self.legs:
            return self._all_at(self.t)
        everyone = np.arange(len(self.q))
        return drift_once(self.system, everyone, self.q, self.v, everyone, self.t - self.clock)

    def _count(self, t: float) -> None:
        """Events that pile up end the run; time that stands still is the last sign of it."""
        self.at_once = self.at_once + 1 if t <= self.t else 0
        if self.at_once > AT_ONCE * len(self.q):
            text = f"At t = {self.t:.9g} s events pile up without end: {self.at_once} of them at this instant."
            self.outcome = Outcome("accumulation", text)

    # ---- members that move together -----------------------------------------------------------

    def _end_of_leg(self, leg: Leg) -> None:
        """A step of members in contact is over: the next one begins, or the event at its end happens."""
        members = self._end_leg(leg, self.t)
        if leg.event is None:
            if self.t < self.until:
                self._set_off(leg.onward(self.settings.finest, self.until))
            if self.t < self.until and self.outcome is None:
                self._foresee(members)
            return
        q, v = self._all_at(self.t)
        self._apply(self.plan.happen_within(leg.band, *leg.event, self.t, q, v, self.mode), q, v)

    def _end_leg(self, leg: Leg, t: float) -> list[int]:
        """The members of a leg put where it has brought them; it is over."""
        members = list(leg.band.members)
        q, v, lost = leg.rows(t)
        self.q[members], self.v[members], self.clock[members] = q, v, t
        self.ledger = self.ledger + lost
        self.changes[members] += 1
        for member in members:
            del self.legs[member]
        self.memory.end_leg(t, leg, self.ledger)
        return members

    def _set_off(self, leg: Leg) -> None:
        """Members begin a step together; its end is an event of the queue."""
        members = list(leg.band.members)
        self.memory.add_leg(leg.begin, members, self.mode[members], leg)
        self.legs.update(dict.fromkeys(members, leg))
        self._push(ForeseenEvent(leg.end, "leg", tuple(members), leg))
        if self.memory.steps > MAX_STEPS:
            leg.outcome = Outcome("too_many_steps", f"The contacts at t = {self.t:.9g} s take too many steps.")
        self.outcome = self.outcome or leg.outcome

    def _apply(self, change: Change, q: np.ndarray, v: np.ndarray) -> None:
        """What an event did is recorded, and the motion of those it concerns is foreseen anew."""
        members = list(change.members)
        if change.name is None:
            self._foresee(members)
            return
        landed = [self._end_leg(leg, self.t) for leg in self._legs_of(members)]
        concerned = sorted({*members, *itertools.chain(*landed)})
        self._record(change)
        if self.outcome is None and self.t < self.until:
            self._regroup(concerned)

    def _record(self, change: Change) -> None:
        """Remember an event, and put its members where it leaves them."""
        members = list(change.members)
        self.ledger = self.ledger + change.ledger
        if change.name is not None:
            self.memory.add_event(change.name, change.index, self.t, change.data, tuple(change.members))
        self.q[members], self.v[members], self.mode[members] = change.q, change.v, change.mode
        self.clock[members] = self.t
        self.changes[members] += 1
        self.memory.add_change(self.t, members, change.q, change.v, change.mode, self.ledger)
        if change.outcome is not None:
            self.outcome = change.outcome
        elif self.memory.count >= self.settings.max_events:
            count = self.settings.max_events
            text = f"Stopped at t = {self.t:.6g} s after {count} events. Raise max_events to go on."
            self.outcome = Outcome("too_many_events", text)

    def _regroup(self, members: list[int]) -> None:
        """Let those that hang together set off together, and foresee what comes."""
        q, v = self._all_at(self.t)
        for band in self.plan.bands(members, self.t, q, v):
            for other in self._legs_of(band.members):
                members = sorted({*members, *self._end_leg(other, self.t)})
            members = sorted({*members, *band.members})
            self._set_off(Leg(band, self.t, self.until, self.settings.finest))
        if self.outcome is None:
            self._foresee(members)
