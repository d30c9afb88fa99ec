"""Alternate smooth flow and jumps until the end: the Python side of every engine."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus.engines.accumulation import PileUp
from saltus.engines.advance import Control, Flow, Searched, Status, after_jump, flow, search, still_due, taken
from saltus.engines.budget import Budget, crawling
from saltus.engines.flat import FlatSystem
from saltus.engines.replay import Replay, replay
from saltus.engines.steppers import ExplicitStepper, ImplicitStepper
from saltus.hybrid import AbstractSystem, Event, Guard, Outcome, State
from saltus.hybrid.system import checked_guards, jump_of, settle_of
from saltus.hybrid.trajectory import Trajectory

Progress = Callable[[float, int], None]

FOREVER = 1e12  # [s]; what `until = inf` means: a run without an end must be ended by a guard
BLOCKS = 4  # blocks of states that are moved on by one call, where one block is not enough
SEARCH = 50  # steps that the search of a doubtful one is worth, by its time
RECENT = 100  # steps that tell what changes most where a run does not get on
RECORD = 1 << 21  # numbers kept per advance: the record of a large system is shorter


@dataclasses.dataclass
class _Record:
    """The knots of a run as they come in."""

    times: list
    vectors: list
    modes: list
    steps: int = 0
    effort: int = 0
    count: int = 0
    jumps: list[int] = dataclasses.field(default_factory=list)

    def add(self, times, vectors, mode):
        times, vectors = np.atleast_1d(np.asarray(times)), np.asarray(vectors)
        self.times.append(times)
        self.count += times.size
        self.vectors.append(vectors.reshape(times.size, vectors.shape[-1]))
        self.modes.append(np.broadcast_to(np.asarray(mode), (times.size, *np.shape(mode))))

    def last(self, like: State) -> tuple[np.ndarray, np.ndarray, int]:
        """Times and vectors of the last steps, and how many positions the vectors begin with."""
        times, vectors = np.concatenate(self.times[-4:]), np.concatenate(self.vectors[-4:])
        return times[-RECENT:], vectors[-RECENT:, : like.q.size + like.v.size], like.q.size

    def cut(self):
        """Leave out what follows the last jump, or the first step if there was none."""
        last = (self.jumps[-1] if self.jumps else 1) + 1
        self.times, self.vectors, self.modes = (
            [np.concatenate(parts)[:last]] for parts in (self.times, self.vectors, self.modes)
        )


def run(
    system: AbstractSystem,
    start: State,
    until: float,
    stepper: ExplicitStepper | ImplicitStepper,
    control: Control,
    max_events: int,
    max_steps: int,
    progress: Progress | None = None,
) -> Trajectory:
    """Flow, jump, flow on, from `start` to time `until`."""
    checked_guards(system)
    start = same_types(start, start)
    end_time = min(until, FOREVER)
    capacity = int(np.clip(RECORD // max(_vector(start).size, 1), 16, 512))
    record = _Record([], [], [])
    record.add(start.t, _vector(start), start.mode)
    events: list[Event] = []
    pile_up, budget = PileUp(), Budget(until, max_steps, float(start.t))
    state, h = start, jnp.asarray(0.0, float)
    t_segment = float(start.t)
    if not np.isfinite(_vector(start)).all():
        undefined = Outcome("not_finite", _undefined(t_segment, "the start is"))
        return _trajectory(system, start, record, events, undefined, stepper, control)
    while True:
        went, found = _advance(system, state, h, jnp.asarray(end_time, float), stepper, control, capacity, record)
        state, h = found.state if found else went.state, went.h
        if progress is not None:
            progress(float(state.t), len(events))
        if found is not None and bool(found.event):
            outcome, state = _fire(system, found, events, pile_up, record)
            duration = float(state.t) - t_segment
            t_segment = float(state.t)
            h = jnp.asarray(after_jump(control, h, duration), float)
        else:
            outcome = _ending(system, went, until, state)
        if outcome is None and len(events) >= max_events:
            outcome = Outcome("too_many_events", _too_many(events, max_events))
        if outcome is None and (reason := budget.judge(float(state.t), record.effort)):
            outcome = crawling(
                reason, float(state.t), _modes(system, state), events[-1].name if events else None, record.last(start)
            )
        if outcome is not None:
            if outcome.name == "at_rest":
                record.cut()
            return _trajectory(system, start, record, events, outcome, stepper, control)


def _advance(system, state, h, until, stepper, control, capacity, record) -> tuple[Flow, Searched | None]:
    """Flow on to the end of a doubtful step, to its event, or to another end; the steps are recorded."""
    went = _flow(system, state, h, until, stepper, control, capacity)
    count = int(went.count)
    record.add(np.asarray(went.times)[:count], np.asarray(went.vectors)[:count], state.mode)
    record.steps += int(went.steps)
    record.effort += int(went.steps)
    if int(went.status) != Status.doubtful:
        return went, None
    record.effort += SEARCH
    found = _search(system, went.state, went.t_next, stepper, control)
    record.add(found.state.t, _vector(found.state), found.state.mode)
    return went, found


_flow = eqx.filter_jit(flow)
_search = eqx.filter_jit(search)
_still_due = eqx.filter_jit(still_due)


def _fire(system, found: Searched, events, pile_up: PileUp, record: _Record):
    """Apply the jumps that are due; the outcome if one of them ends the run, and the state after."""
    state = found.state
    guard, due = int(found.guard), np.array(found.due)
    rules, owner, element = system.guards(), np.asarray(found.owner), np.asarray(found.element)
    while True:
        due[guard] = False
        number, index = int(owner[guard]), int(element[guard])
        rule = rules[number]
        before = state
        limit = pile_up.limit(rule.name, index, float(before.t))
        if limit is None:
            after = _jump(system, before, number, jnp.asarray(index, int))
            name = rule.name
        else:
            at_limit = eqx.tree_at(lambda s: s.t, before, jnp.asarray(limit, float))
            after, name = _settle(system, at_limit, number, jnp.asarray(index, int)), f"{rule.name}_settled"
            if after is None:
                return Outcome("accumulation", _piling_up(rule.name, limit, before)), before
        if not np.isfinite(_vector(after)).all():
            return Outcome(
                "not_finite", _undefined(float(before.t), f"the state after the jump of guard {name!r} is")
            ), before
        data = system.event_data(name, index, before, after)
        moment = before.t if limit is None else after.t
        limit_before = _approach(system, before, rule.name, index)
        events.append(Event(name, index, float(data.pop("t", moment)), limit_before, after, data))
        record.jumps.append(record.count)
        record.add(after.t, _vector(after), after.mode)
        state = after
        if rule.ends is not None:
            return _ended_by(rule, index, float(before.t)), state
        if not due.any():
            return None, state
        still = np.array(_still_due(system, state, jax.device_put(due)))
        if not still.any():
            return None, state
        due, guard = still, int(np.argmax(still))


def _ended_by(rule: Guard, index: int, t: float) -> Outcome:
    """The outcome of a guard that ends the run."""
    return Outcome(rule.ends, rule.message.format(t=t, index=index) or f"{rule.name} at t = {t:g} s.")


def _vector(state: State) -> np.ndarray:
    """The flowing parts of a state in one vector."""
    return np.concatenate([np.ravel(np.asarray(part)) for part in (state.q, state.v, state.ledger)])


@eqx.filter_jit
def _jump(system: AbstractSystem, state: State, number: int, index) -> State:
    return same_types(state, jump_of(system, system.guards()[number])(state, index))


def _approach(system: AbstractSystem, state: State, name: str, index: int) -> State:
    if type(system).approach is AbstractSystem.approach:
        return state
    return _limit_of_approach(system, state, name, jnp.asarray(index, int))


@eqx.filter_jit
def _limit_of_approach(system: AbstractSystem, state: State, name: str, index) -> State:
    return same_types(state, system.approach(state, name, index))


@eqx.filter_jit
def _settle(system: AbstractSystem, state: State, number: int, index) -> State | None:
    after = settle_of(system, system.guards()[number])(state, index)
    return None if after is None else same_types(state, after)


def same_types(before: State, after: State) -> State:
    """`after` with the types of `before`, none of them weak, so that plain numbers cause no compilation."""

    def typed(x, y):
        return jnp.broadcast_to(jax.lax.convert_element_type(y, x.dtype), x.shape)

    return jax.tree.map(typed, before, after)


def _ending(system, went: Flow, until: float, state: State) -> Outcome | None:
    """The outcome of a segment that ended without an event; None if it goes on."""
    t, status = float(state.t), Status(int(went.status))
    if status is Status.over:
        number, element = (int(x[int(went.over)]) for x in FlatSystem(system, state).guard_numbers())
        return _ended_by(system.guards()[number], element, t)
    if status is Status.reached or (status is Status.doubtful and t >= min(until, FOREVER)):
        if math.isinf(until) and not np.any(state.v):
            return Outcome("at_rest", "Nothing moves any more and nothing will happen.")
        if math.isinf(until):
            return Outcome("finished", f"Still moving at t = {t:g} s, and nothing will happen.")
        return Outcome("finished", f"Reached t = {t:g} s.")
    if status is Status.stalled and not float(went.h) > 0.0:
        return Outcome("not_finite", _undefined(t, "the acceleration is"))
    if status is Status.stalled:
        return Outcome(
            "stalled",
            f"Stopped at t = {t:.6g} s: the step fell to rounding level, so the motion cannot be continued "
            "smoothly. Look at the last states: a body may have met the border of its surface.",
        )
    if status is Status.not_finite:
        return Outcome(
            "not_finite",
            f"Stopped at t = {t:.6g} s: the next constant step leads where the motion is not defined. "
            "Use a smaller step or an adaptive method.",
        )
    return None


def _modes(system: AbstractSystem, state: State) -> str:
    """The modes of a state in words."""
    codes = np.unique(
        np.asarray(eqx.filter_jit(lambda system, state: system.observe(state).get("mode", 0))(system, state))
    )
    return "mode " + ", ".join(system.mode_names[int(code)] for code in codes if 0 <= code < len(system.mode_names))


def _undefined(t: float, what: str) -> str:
    return (
        f"Stopped at t = {t:.6g} s: {what} not defined, or too large for a number. "
        "Look for numbers that differ by many powers of ten."
    )


def _too_many(events: list[Event], max_events: int) -> str:
    last, before = events[-1], events[-2] if len(events) > 1 else events[-1]
    return (
        f"Stopped at t = {last.t:.6g} s after {max_events} events, the last on guard {last.name!r}, "
        f"{last.t - before.t:.2g} s after the one before. Raise max_events to go on."
    )


def _piling_up(name: str, limit: float, state: State) -> str:
    return (
        f"Stopped at t = {float(state.t):.9g} s: events of guard {name!r} pile up at t = {limit:.12g} s, "
        "and the system has no mode for what follows."
    )


def _trajectory(system, start, record: _Record, events, outcome, stepper, control) -> Trajectory:
    vectors = np.concatenate(record.vectors)
    nq, nv = start.q.size, start.v.size
    count = len(vectors)
    knots = State(
        t=np.concatenate(record.times),
        q=vectors[:, :nq].reshape(count, *start.q.shape),
        v=vectors[:, nq : nq + nv].reshape(count, *start.v.shape),
        ledger=vectors[:, nq + nv :],
        mode=np.concatenate(record.modes),
    )

    def flow(states: State, times) -> State:
        return _moved_on(system, stepper, control, states, np.asarray(times))

    def replayed(system: AbstractSystem, start: State, times=None) -> Replay:
        return replay(system, start, knots.t, tuple(events), record.jumps, stepper, control, times)

    return Trajectory(knots, tuple(events), outcome, flow, record.steps, replayed)


def _moved_on(system, stepper, control, states: State, times) -> State:
    """Each state moved on to its time by one step, in blocks of two sizes so that little is compiled."""
    n = len(times)
    size = max(states.q.size // max(n, 1), 1)
    block = int(np.clip(65536 // size, 1, 256))
    n_blocks = 1 if n <= block else BLOCKS
    portion = n_blocks * block
    n_portions = -(-n // portion)

    def portions(x):
        x = np.asarray(x)
        filled = np.concatenate([x, np.broadcast_to(x[-1:], (-n % portion, *x.shape[1:]))])
        return filled.reshape(n_portions, n_blocks, block, *x.shape[1:])

    if n == 0:
        return states
    portioned = jax.tree.map(portions, (states, times))
    moved = [
        _move_blocks(system, stepper, control, *jax.tree.map(lambda x, k=k: x[k], portioned)) for k in range(n_portions)
    ]

    def joined(*parts):
        # By NumPy: JAX would compile for every number of states.
        return jax.device_put(np.concatenate([np.asarray(x).reshape(portion, *x.shape[2:]) for x in parts])[:n])

    return jax.tree.map(joined, *moved)


@eqx.filter_jit
def _move_blocks(system, stepper, control, states: State, times) -> State:
    def one(state, t):
        flat = FlatSystem(system, state)
        y0 = flat.vector(state)
        y, _ = taken(flat, stepper, control, state.t, y0, t - state.t)
        # A knot is itself: states at rest, where the rate may be undefined, stay as they are.
        return flat.state(t, jnp.where(t == state.t, y0, y))

    return jax.lax.map(lambda block: jax.vmap(one)(*block), (states, times))
