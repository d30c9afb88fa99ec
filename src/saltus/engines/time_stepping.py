"""Constant steps for systems that know their own step: implicit, through stick and slip, with events at its end."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus import checks
from saltus.engines.budget import MAX_STEPS, Budget
from saltus.hybrid import AbstractSteppedSystem, Event, Outcome, State, Trajectory
from saltus.numerics.trees import choose
from saltus.programs import brief_program, large_program, prepare

RECORD = 1 << 21  # numbers kept per call of the compiled loop
SLACK = 1e-9  # part of a step that the last one may be longer or shorter


@dataclasses.dataclass(frozen=True)
class TimeStepping:
    """Runs systems that know their own step, with constant steps.

    Args:
        step: Length of a step, > 0; what the system suggests if not given [s].
        max_events: Events after which a run is ended.
        max_steps: Steps after which a run is ended, earlier where it is seen to need more (`budget`).
    """

    contract: ClassVar[type] = AbstractSteppedSystem

    step: float | None = None
    max_events: int = 10_000
    max_steps: int = MAX_STEPS

    @property
    def rtol(self) -> None:
        """No error is promised: steps are constant."""
        return None

    def __post_init__(self):
        if self.step is not None:
            checks.positive("step", self.step, "It is the time from one state to the next, in seconds.")

    def run(self, system: AbstractSteppedSystem, start: State, until: float, progress=None) -> Trajectory:
        """Step after step from `start` to time `until`."""
        step = self.step or system.suggested_step(start)
        record, events, state = _Record(start), [], start
        n_done, outcome, budget = 0, None, Budget(until, self.max_steps, float(start.t))
        room = _room(start)
        capacity = len(room.t)
        while outcome is None:
            left = (until - float(start.t)) / step - n_done
            whole = min(capacity, left + SLACK) if math.isfinite(left) else capacity
            size = step if whole >= 1 else left * step
            count = max(int(whole), 1)
            origin = np.asarray(float(start.t) + n_done * step)
            went = _march(system, state, room, origin, np.full(capacity, size), np.asarray(count), np.asarray(False))
            taken, state = int(went.count), went.state
            record.add(went, taken)
            events += _events(system, record, went, taken)
            n_done += taken if whole >= 1 else 1
            if progress is not None:
                progress(float(state.t), len(events))
            outcome = self._ending(went, until, step, start, n_done, events)
            if outcome is None and (reason := budget.judge(float(state.t), n_done)):
                advice = "Raise max_steps to go on, give a longer step, or end the run earlier."
                text = f"Stopped at t = {float(state.t):.6g} s: {reason} (steps of {step:.2g} s). {advice}"
                outcome = Outcome("too_many_steps", text)
        if outcome.name == "finished" and float(state.t) < until:
            record.hold(until)
        return record.trajectory(system, step, events, outcome)

    def _ending(self, went: _March, until, step, start, n_done, events) -> Outcome | None:
        """Why a run ends after these steps; None if it goes on."""
        t = float(went.state.t)
        if not bool(went.solved):
            text = "the motion of a step could not be solved, not even halved ten times. Give a smaller step."
            return Outcome("stalled", f"Stopped at t = {t:.6g} s: {text}")
        if not np.isfinite(t) or not np.isfinite(np.asarray(went.state.q)).all():
            return Outcome("not_finite", f"Stopped at t = {t:.6g} s: the motion is no longer a number.")
        if float(start.t) + n_done * step >= until - SLACK * step:
            return Outcome("finished", f"Reached t = {until:g} s.")
        if bool(went.resting):
            if math.isinf(until):
                return Outcome("at_rest", f"Nothing moves any more since t = {t:.6g} s.")
            return Outcome("finished", f"Reached t = {until:g} s; nothing moves since t = {t:.6g} s.")
        if len(events) >= self.max_events:
            return Outcome("too_many_events", f"Stopped at t = {t:.6g} s after {len(events)} events. Raise max_events.")
        return None


def prepare_run(system: AbstractSteppedSystem, like: State) -> None:
    """Have another thread make the program of the steps; `like` is the start, or any state of its form."""
    room = _room(like)
    size = np.zeros(len(room.t))
    prepare(_march, system, like, room, np.zeros(()), size, np.asarray(0), np.asarray(False))


class _March(eqx.Module):
    """What a call of the compiled loop returns: states after each step, before and after the rules."""

    state: State
    knots: State
    ledger_before: Any
    count: jax.Array
    solved: jax.Array
    resting: jax.Array


def _room(like: State) -> State:
    """Room for the states of one call of the compiled loop."""
    capacity = int(np.clip(RECORD // max(like.q.size + like.v.size + like.ledger.size, 1), 8, 512))
    return jax.device_put(jax.tree.map(lambda leaf: np.zeros((capacity, *leaf.shape), leaf.dtype), like))


@large_program
def _march(system, state: State, begins: State, origin, sizes, count, apart) -> _March:
    """Up to `count` steps; ends early at rest, or at a step that cannot be solved.

    Where they are `apart` each sets out from its own state of `begins`, nothing happens at its end, and all are taken:
    one program for a run and for the states between its steps.
    """

    def body(went):
        at = went.count

        def put(kept, leaf):
            # Not `kept.at[at].set`, which is a loop over indices in the program.
            return jax.lax.dynamic_update_index_in_dim(kept, leaf, at, 0)

        begin = choose(apart, jax.tree.map(lambda leaf: leaf[at], begins), went.state)
        moved, solved = system.advance(begin, sizes[at])
        moved = eqx.tree_at(lambda s: s.t, moved, origin + (at + 1) * sizes[at])
        after = choose(apart, moved, system.change(moved))
        knots, ledger_before = jax.tree.map(put, (went.knots, went.ledger_before), (after, moved.ledger))
        return _March(after, knots, ledger_before, at + 1, solved, system.resting(after))

    def going(went):
        return (went.count < count) & (apart | (went.solved & ~went.resting))

    no, yes = jnp.asarray(False), jnp.asarray(True)
    room = jax.tree.map(jnp.zeros_like, begins)
    return jax.lax.while_loop(going, body, _March(state, room, room.ledger, jnp.asarray(0), yes, no))


class _Record:
    """The states at the ends of all steps."""

    def __init__(self, start: State):
        self.parts = [jax.tree.map(lambda leaf: np.asarray(leaf)[None], start)]
        self.ledger_before = [self.parts[0].ledger]
        self.places = [(0, 0)]

    def add(self, went: _March, count: int) -> None:
        part = len(self.parts)
        self.parts.append(jax.tree.map(lambda leaf: np.array(np.asarray(leaf)[:count]), went.knots))
        self.ledger_before.append(jax.tree.map(lambda leaf: np.array(np.asarray(leaf)[:count]), went.ledger_before))
        self.places += [(part, k) for k in range(count)]

    def hold(self, until: float) -> None:
        """The last state again, at a later time."""
        last = self.after(len(self.places) - 1)
        held = eqx.tree_at(lambda s: s.t, last, jnp.asarray(until, float))
        self.places.append((len(self.parts), 0))
        self.parts.append(jax.tree.map(lambda leaf: np.asarray(leaf)[None], held))
        self.ledger_before.append(self.parts[-1].ledger)

    def t(self, row: int) -> float:
        part, k = self.places[row]
        return float(self.parts[part].t[k])

    def after(self, row: int) -> State:
        part, k = self.places[row]
        return jax.tree.map(lambda leaf: leaf[k], self.parts[part])

    def before(self, row: int) -> State:
        part, k = self.places[row]
        ledger = jax.tree.map(lambda leaf: leaf[k], self.ledger_before[part])
        return self.after(row).replace(ledger=ledger, mode=self.after(row - 1).mode)

    def trajectory(self, system, step: float, events, outcome: Outcome) -> Trajectory:
        """The whole motion; between two steps a shorter step of the same kind."""
        knots = jax.tree.map(lambda *leaves: np.concatenate(leaves), *self.parts)

        def flow(states: State, times) -> State:
            return _move_on(system, states, np.asarray(times), step)

        return Trajectory(knots, tuple(events), outcome, flow, len(self.places) - 1)


def _events(system, record: _Record, went: _March, count: int) -> list[Event]:
    """The events of the last `count` steps."""
    modes = np.asarray(went.knots.mode)[:count]
    last = record.after(len(record.places) - count - 1).mode
    changed = np.any(modes != np.concatenate([np.asarray(last)[None], modes[:-1]]), axis=tuple(range(1, modes.ndim)))
    found = []
    for k in np.flatnonzero(changed):
        row = len(record.places) - count + int(k)
        for name, index, data in system.changes(record.before(row), record.after(row)):
            before, after = functools.partial(record.before, row), functools.partial(record.after, row)
            found.append(Event(name, index, record.t(row), before, after, data))
    return found


def _move_on(system, states: State, times: np.ndarray, step: float) -> State:
    """Each state moved on to its time by one shorter step; a knot is itself, and so is what rests."""
    lags = times - np.asarray(states.t)
    # Times that differ by rounding from that of a knot are that of the knot.
    between = np.flatnonzero((lags > 1e-6 * step) & ~np.asarray(_rest(system, states)))
    moved = jax.tree.map(np.array, states)
    first = jax.tree.map(lambda leaf: leaf[0], moved)
    capacity = len(_room(first).t)
    for k in range(0, len(between), capacity):
        rows = between[k : k + capacity]
        padded = np.resize(rows, capacity)
        begins = jax.tree.map(lambda leaf, p=padded: leaf[p], moved)
        count = np.asarray(len(rows))
        went = _march(system, first, begins, np.zeros(()), lags[padded], count, np.asarray(True))
        for kept, leaf in zip(jax.tree.leaves(moved), jax.tree.leaves(went.knots), strict=True):
            kept[rows] = np.asarray(leaf)[: len(rows)]
    return jax.device_put(moved.replace(t=times))


@brief_program
def _rest(system, states: State):
    return jax.vmap(system.resting)(states)
