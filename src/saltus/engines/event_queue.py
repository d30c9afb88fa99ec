"""Many members that move on their own between events: each event is foreseen, queued, and voided by a change.

A member keeps the state and the time of its last change; it is moved, in closed form, only when it takes part in
something. Members that push on each other for a while are run as a small system of their own by the adaptive engine.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus.engines.recollection import Recalled, Recollection
from saltus.engines.stepwise import Walk
from saltus.hybrid import Outcome, State
from saltus.hybrid.crowd import Band, Change, Upcoming

STEP_OF_PROGRESS = 25  # events between two reports
SIZES = (32, 256, 2048)  # of the batches in which members are moved


def engine(rtol: float, atol: float, max_events: int) -> EventQueue:
    """The engine with the options of `simulate`; tolerances matter for members in contact only."""
    return EventQueue(rtol=min(rtol, 1e-11), atol=min(atol, 1e-12), max_events=max_events)


@dataclasses.dataclass(frozen=True)
class EventQueue:
    """Runs systems that offer a `plan` (`hybrid.crowd`)."""

    rtol: float = 1e-11
    atol: float = 1e-12
    max_events: int = 10_000

    def run(self, system, start: State, until: float, progress=None) -> Recollection:
        """Event after event from `start` to time `until`."""
        if math.isinf(until):
            raise ValueError("This system has no end of its own. Give `until` as a time in seconds.")
        crowd = _Crowd(system, start, until, self)
        while crowd.outcome is None:
            crowd.next()
            if progress is not None and len(crowd.memory.events) % STEP_OF_PROGRESS == 0:
                progress(crowd.t, len(crowd.memory.events))
        return crowd.memory.close(crowd.t, crowd.outcome)


class _Crowd:
    """The members as they are, what is foreseen, and what is remembered."""

    def __init__(self, system, start: State, until: float, settings: EventQueue):
        self.system, self.until, self.settings = system, until, settings
        self.t = float(start.t)
        self.q, self.v = np.array(start.q), np.array(start.v)
        self.mode, self.ledger = np.array(start.mode), np.array(start.ledger)
        self.clock = np.full(len(self.q), self.t)
        self.changes = np.zeros(len(self.q), int)
        self.order = itertools.count()
        self.queue: list[tuple[float, int, Upcoming, tuple[int, ...]]] = []
        self.outcome: Outcome | None = None
        self.plan = system.plan(start, until)
        self.memory = Recollection.begin(system, start)
        self._foresee(range(len(self.q)))

    def _foresee(self, members) -> None:
        q, v = self._all_at(self.t)
        for event in self.plan.foresee(list(members), self.t, q, v, self.mode):
            if event.t <= self.until:
                marks = tuple(self.changes[member] for member in event.members)
                heapq.heappush(self.queue, (event.t, next(self.order), event, marks))

    def _all_at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Every member at time t; nobody's clock is moved."""
        return drift(self.system, np.arange(len(self.q)), self.q, self.v, t - self.clock)

    def _peek(self) -> Upcoming | None:
        """The next event that has not been voided."""
        while self.queue:
            _, _, event, marks = self.queue[0]
            if all(self.changes[m] == mark for m, mark in zip(event.members, marks, strict=True)):
                return event
            heapq.heappop(self.queue)
        return None

    def next(self) -> None:
        """One event, or one stretch of members that move together."""
        event = self._peek()
        ahead = self.until if event is None else event.t
        if self.mode.any() and ahead > self.t:
            q, v = self._all_at(self.t)
            band = self.plan.band(self.t, q, v, self.mode, ahead)
            if band is not None:
                self._together(band)
                return
        if event is None:
            self.t = self.until
            self.outcome = Outcome("finished", f"Reached t = {self.until:g} s.")
            return
        heapq.heappop(self.queue)
        self.t = event.t
        q, v = self._all_at(self.t)
        self._apply(self.plan.happen(event, q, v, self.mode))

    def _together(self, band: Band) -> None:
        walk = Walk(band, self.settings.rtol, self.settings.atol).go()
        bound = list(band.members[: band.bound])
        last = walk.times[-1]
        if last > self.t:
            self.memory.stretch(self.t, bound, self.mode[bound], walk)
            self.t = last
            q, v = (part[0] for part in walk.rows([last], "before"))
            self.q[bound], self.v[bound], self.clock[bound] = q[: band.bound], v[: band.bound], last
            self.changes[bound] += 1
        if walk.event is not None:
            now_q, now_v = self._all_at(self.t)
            self._apply(self.plan.banded(band, *walk.event, self.t, now_q, now_v, self.mode))
        self.outcome = self.outcome or walk.outcome

    def _apply(self, change: Change) -> None:
        members = list(change.members)
        if change.name is not None:
            self.ledger = self.ledger + change.ledger
            self.memory.event(Recalled(change.name, change.index, self.t, change.data, change.members, self.memory))
        if members and change.name is not None:
            self.q[members], self.v[members] = change.q, change.v
            self.mode[members] = change.mode
            self.clock[members] = self.t
            self.changes[members] += 1
            self.memory.piece(self.t, members, change.q, change.v, change.mode, self.ledger)
        if change.outcome is not None:
            self.outcome = change.outcome
        elif len(self.memory.events) >= self.settings.max_events:
            count = self.settings.max_events
            text = f"Stopped at t = {self.t:.6g} s after {count} events. Raise max_events to go on."
            self.outcome = Outcome("too_many_events", text)
        elif members:
            self._foresee(members)


def drift(system, members, q, v, durations) -> tuple[np.ndarray, np.ndarray]:
    """Members moved on their own, each for its time; padded, so that few sizes are compiled."""
    count = len(members)
    size = next((size for size in SIZES if size >= count), SIZES[-1])
    found = []
    for begin in range(0, count, size):
        rows = np.minimum(begin + np.arange(size), count - 1)
        lags = np.where(begin + np.arange(size) < count, np.asarray(durations)[rows], 0.0)
        found.append(_drift(system, np.asarray(members)[rows], np.asarray(q)[rows], np.asarray(v)[rows], lags))
    return tuple(np.concatenate([np.asarray(part) for part in parts])[:count] for parts in zip(*found, strict=True))


@eqx.filter_jit
def _drift(system, members, q, v, durations):
    q, v = jnp.asarray(q), jnp.asarray(v)
    return jax.vmap(system.flow)(jnp.asarray(members), q, v, jnp.asarray(durations))
