"""Constant steps for systems that know their own step: implicit, through stick and slip, with events at its end.

Such a system has `advance(state, duration)`, the state after a step and whether the step could be solved;
`change(state)`, what the rules make of it at the end of a step (only mode and ledger may change);
`changes(before, after)`, the events between the two; `resting(state)`, whether nothing will move any more; and
`suggested_step(start)`. Its guards end the run; they are looked at at the end of every step.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus import checks
from saltus.engines.budget import MAX_STEPS, Budget
from saltus.hybrid import Outcome, State, Trajectory
from saltus.programs import program

RECORD = 1 << 21  # numbers kept per call of the compiled loop
SLACK = 1e-9  # part of a step that the last one may be longer or shorter
WIDE = 4096  # numbers of a state up to which several states are moved at once


def engine(
    rtol: float, atol: float, max_events: int, step: float | None = None, max_steps: int = MAX_STEPS
) -> TimeStepping:
    """The engine with the options of `simulate`; the tolerances do not matter to it."""
    return TimeStepping(step=step, max_events=max_events, max_steps=max_steps)


@dataclasses.dataclass(frozen=True)
class TimeStepping:
    """Runs systems that offer `advance` with constant steps.

    Args:
        step: Length of a step, > 0; what the system suggests if not given [s].
        max_events: Events after which a run is ended.
        max_steps: Steps after which a run is ended, earlier where it is seen to need more (`budget`).
    """

    step: float | None = None
    max_events: int = 10_000
    max_steps: int = MAX_STEPS

    def __post_init__(self):
        if self.step is not None:
            checks.positive("step", self.step, "It is the time from one state to the next, in seconds.")

    def run(self, system, start: State, until: float, progress=None) -> Trajectory:
        """Step after step from `start` to time `until`."""
        step = self.step or system.suggested_step(start)
        record, events, state = _Record(start), [], start
        n_done, outcome, budget = 0, None, Budget(until, self.max_steps, float(start.t))
        capacity = int(np.clip(RECORD // max(state.q.size + state.v.size + state.ledger.size, 1), 8, 512))
        while outcome is None:
            left = (until - float(start.t)) / step - n_done
            whole = min(capacity, left + SLACK) if math.isfinite(left) else capacity
            size = step if whole >= 1 else left * step
            count = max(int(whole), 1)
            went = _march(system, state, start.t + n_done * step, jnp.asarray(size), jnp.asarray(count), capacity)
            taken, state = int(went.count), went.state
            record.add(went, taken)
            events += _events(system, record, went, taken)
            n_done += taken if whole >= 1 else 1
            if progress is not None:
                progress(float(state.t), len(events))
            outcome = self._ending(system, went, until, step, start, n_done, events)
            if outcome is None and (reason := budget.judge(float(state.t), n_done)):
                advice = "Raise max_steps to go on, give a longer step, or end the run earlier."
                text = f"Stopped at t = {float(state.t):.6g} s: {reason} (steps of {step:.2g} s). {advice}"
                outcome = Outcome("too_many_steps", text)
        if outcome.name == "finished" and float(state.t) < until:
            record.hold(until)
        return record.trajectory(system, step, events, outcome)

    def _ending(self, system, went: _March, until, step, start, n_done, events) -> Outcome | None:
        t = float(went.state.t)
        if not bool(went.solved):
            text = "the motion of a step could not be solved, not even halved ten times. Give a smaller step."
            return Outcome("stalled", f"Stopped at t = {t:.6g} s: {text}")
        if not np.isfinite(t) or not np.isfinite(np.asarray(went.state.q)).all():
            return Outcome("not_finite", f"Stopped at t = {t:.6g} s: the motion is no longer a number.")
        if int(went.guard) >= 0:
            return _ended_by(system, went, events)
        if float(start.t) + n_done * step >= until - SLACK * step:
            return Outcome("finished", f"Reached t = {until:g} s.")
        if bool(went.resting):
            if math.isinf(until):
                return Outcome("at_rest", f"Nothing moves any more since t = {t:.6g} s.")
            return Outcome("finished", f"Reached t = {until:g} s; nothing moves since t = {t:.6g} s.")
        if len(events) >= self.max_events:
            return Outcome("too_many_events", f"Stopped at t = {t:.6g} s after {len(events)} events. Raise max_events.")
        return None


class Folded(eqx.Module):
    """The end of a run of which only a summary was kept.

    Args:
        state: The last state.
        summary: What the fold made of all states.
        guard: Which guard ended the run; -1 for none.
        index: For which of the things that it watches.
        solved: Whether every step could be solved.
        resting: Whether nothing moves any more.
    """

    state: State
    summary: Any
    guard: jax.Array
    index: jax.Array
    solved: jax.Array
    resting: jax.Array


def fold(system, start: State, until, step, function, summary) -> Folded:
    """Run without keeping the states: `summary = function(summary, state)` after every step.

    A pure function, for batches under `jit` and `vmap`: nothing grows with the number of steps. The last step is
    shorter where `until` is not a whole number of steps away. A run ends early at rest, at a guard, or at a step that
    cannot be solved.
    """
    guards = system.guards()

    def body(went: Folded) -> Folded:
        size = jnp.minimum(step, until - went.state.t)
        # What is left of rounding is no step.
        size = jnp.where(until - went.state.t - size < SLACK * step, until - went.state.t, size)
        moved, solved = system.advance(went.state, size)
        after = system.change(moved)
        over, index = _watch(guards, after)
        return Folded(after, function(went.summary, after), over, index, solved, system.resting(after))

    def going(went: Folded):
        return (went.state.t < until) & went.solved & ~went.resting & (went.guard < 0)

    no, yes, none = jnp.asarray(False), jnp.asarray(True), jnp.asarray(-1)
    return jax.lax.while_loop(going, body, Folded(start, function(summary, start), none, none, yes, no))


def _watch(guards, state: State) -> tuple[jax.Array, jax.Array]:
    """Number of the first guard that is not positive, and for which of its things; -1 if there is none."""
    over, index = jnp.asarray(-1), jnp.asarray(-1)
    for number, guard in enumerate(guards):
        value = jnp.where(guard.armed(state), jnp.atleast_1d(guard.function(state)), jnp.inf)
        least = jnp.argmin(value)
        out = (value[least] <= 0.0) & (over < 0)
        over, index = jnp.where(out, number, over), jnp.where(out, least, index)
    return over, index


class _March(eqx.Module):
    """What a call of the compiled loop returns: states after each step, before and after the rules."""

    state: State
    knots: State
    ledger_before: jax.Array
    count: jax.Array
    solved: jax.Array
    resting: jax.Array
    guard: jax.Array
    index: jax.Array


@program
def _march(system, state: State, origin, size, count, capacity: int) -> _March:
    """Up to `count` steps of one size; ends early at rest, at a guard, or at a step that cannot be solved."""
    guards = system.guards()

    def room(leaf):
        return jnp.zeros((capacity, *leaf.shape), leaf.dtype)

    def body(carry):
        went = carry
        moved, solved = system.advance(went.state, size)
        moved = eqx.tree_at(lambda s: s.t, moved, origin + (went.count + 1) * size)
        after = system.change(moved)
        at = went.count
        knots = jax.tree.map(lambda kept, leaf: kept.at[at].set(leaf), went.knots, after)
        over, index = _watch(guards, after)
        return _March(
            after, knots, went.ledger_before.at[at].set(moved.ledger[0]), at + 1, solved, system.resting(after), over,
            index,
        )  # fmt: skip

    def going(went):
        return (went.count < count) & went.solved & ~went.resting & (went.guard < 0)

    no, yes = jnp.asarray(False), jnp.asarray(True)
    first = _March(
        state, jax.tree.map(room, state), jnp.zeros(capacity), jnp.asarray(0), yes, no, jnp.asarray(-1), jnp.asarray(-1)
    )
    return jax.lax.while_loop(going, body, first)


class StepEvent:
    """An event at the end of a step; its states are put together when asked for."""

    def __init__(self, name: str, index: int, data: dict[str, Any], record: _Record, row: int):
        self.name, self.index, self.data = name, index, data
        self.t = float(record.t(row))
        self._record, self._row = record, row

    @functools.cached_property
    def before(self) -> State:
        """The state just before the rules were applied."""
        return self._record.before(self._row)

    @functools.cached_property
    def after(self) -> State:
        """The state just after."""
        return self._record.after(self._row)

    def __repr__(self) -> str:
        return f"Event({self.name!r}, index={self.index}, t={self.t!r})"


class _Record:
    """The states at the ends of all steps."""

    def __init__(self, start: State):
        self.parts = [jax.tree.map(lambda leaf: np.asarray(leaf)[None], start)]
        self.ledger_before = [np.asarray(start.ledger)[:1]]
        self.places = [(0, 0)]

    def add(self, went: _March, count: int) -> None:
        part = len(self.parts)
        self.parts.append(jax.tree.map(lambda leaf: np.array(np.asarray(leaf)[:count]), went.knots))
        self.ledger_before.append(np.asarray(went.ledger_before)[:count])
        self.places += [(part, k) for k in range(count)]

    def hold(self, until: float) -> None:
        """The last state again, at a later time."""
        last = self.after(len(self.places) - 1)
        held = eqx.tree_at(lambda s: s.t, last, jnp.asarray(until, float))
        self.places.append((len(self.parts), 0))
        self.parts.append(jax.tree.map(lambda leaf: np.asarray(leaf)[None], held))
        self.ledger_before.append(np.asarray(held.ledger)[:1])

    def t(self, row: int) -> float:
        part, k = self.places[row]
        return float(self.parts[part].t[k])

    def after(self, row: int) -> State:
        part, k = self.places[row]
        return jax.tree.map(lambda leaf: leaf[k], self.parts[part])

    def before(self, row: int) -> State:
        part, k = self.places[row]
        after = self.after(row)
        ledger: Any = np.array(after.ledger)  # stays on the host
        ledger[0] = self.ledger_before[part][k]
        return State(after.t, after.q, after.v, ledger, self.after(row - 1).mode)

    def trajectory(self, system, step: float, events, outcome: Outcome) -> Trajectory:
        """The whole motion; between two steps a shorter step of the same kind."""
        knots = jax.tree.map(lambda *leaves: np.concatenate(leaves), *self.parts)

        def flow(states: State, times) -> State:
            return _moved_on(system, states, np.asarray(times), step)

        return Trajectory(knots, tuple(events), outcome, flow, len(self.places) - 1)


def _events(system, record: _Record, went: _March, count: int) -> list[StepEvent]:
    """The events of the last `count` steps."""
    modes = np.asarray(went.knots.mode)[:count]
    last = record.after(len(record.places) - count - 1).mode
    changed = np.any(modes != np.concatenate([np.asarray(last)[None], modes[:-1]]), axis=tuple(range(1, modes.ndim)))
    found = []
    for k in np.flatnonzero(changed):
        row = len(record.places) - count + int(k)
        for name, index, data in system.changes(record.before(row), record.after(row)):
            found.append(StepEvent(name, index, data, record, row))
    if int(went.guard) >= 0:
        guard = system.guards()[int(went.guard)]
        found.append(StepEvent(guard.name, int(went.index), {}, record, len(record.places) - 1))
    return found


def _ended_by(system, went: _March, events) -> Outcome:
    guard = system.guards()[int(went.guard)]
    return Outcome(guard.ends, guard.message.format(t=events[-1].t, index=int(went.index)))


def _moved_on(system, states: State, times: np.ndarray, step: float) -> State:
    """Each state moved on to its time by one shorter step; a knot is itself, and so is what rests."""
    lags = times - np.asarray(states.t)
    # Times that differ by rounding from that of a knot are that of the knot.
    between = np.flatnonzero((lags > 1e-6 * step) & ~np.asarray(_rest(system, states)))
    moved = jax.tree.map(np.array, states)
    size = max(states.q.size // max(len(times), 1), 1)
    block = int(np.clip(WIDE // size, 1, 64))
    for first in range(0, len(between), 256):
        rows = between[first : first + 256]
        padded = np.resize(rows, 256 if len(between) > 256 else 1 << max(len(rows) - 1, 0).bit_length())
        part = _shorter(system, jax.tree.map(lambda leaf, p=padded: leaf[p], moved), jnp.asarray(lags[padded]), block)
        for name in ("q", "v", "ledger", "mode"):
            getattr(moved, name)[rows] = np.asarray(getattr(part, name))[: len(rows)]
    return State(jnp.asarray(times), *(jnp.asarray(getattr(moved, name)) for name in ("q", "v", "ledger", "mode")))


@program
def _rest(system, states: State):
    return jax.vmap(system.resting)(states)


@program
def _shorter(system, states: State, lags, block: int) -> State:
    def one(pair):
        return system.advance(*pair)[0]

    return jax.lax.map(one, (states, lags), batch_size=block)
