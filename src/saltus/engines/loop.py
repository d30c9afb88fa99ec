"""Alternate smooth flow and jumps until the end: the Python side of every engine."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saltus.engines.accumulation import PileUp
from saltus.engines.advance import FEW_NUMBERS, Flow, SearchResult, flow, search
from saltus.engines.budget import Budget, crawl_outcome
from saltus.engines.fire import (
    apply_jump,
    apply_settle,
    at_time,
    begin_jump,
    begins_like,
    finish_jump,
    jumps_like,
    still_due,
    turn,
)
from saltus.engines.flat import FlatSystem, guard_sizes
from saltus.engines.replay import Replay, labels, replay
from saltus.engines.signs import SUNK, Signs
from saltus.engines.step_control import AbstractSteps
from saltus.engines.steppers import ExplicitStepper, ImplicitStepper
from saltus.engines.trial import Pace, Status
from saltus.hybrid import AbstractSystem, Event, Guard, Outcome, State
from saltus.hybrid.guard import StagedJump
from saltus.hybrid.parts import as_numpy, refill
from saltus.hybrid.state import pack_known, same_types, unpack
from saltus.hybrid.trajectory import Trajectory
from saltus.programs import ahead, brief_program, large_program, prepare, program

Progress = Callable[[float, int], None]

FOREVER = 1e12  # [s]; what `until = inf` means: a run without an end must be ended by a guard
BLOCKS = 4  # blocks of states that are moved on by one call, where one block is not enough
# After so many a run gets the program that takes seconds more to compile and is quicker by about a millisecond.
FEW_SEARCHES = 1024
FEW_STATES = 4096  # up to which they are moved on by a program that is quick to compile
SEARCH = 50  # steps that the search of a doubtful one is worth, by its time
RECENT = 100  # steps that tell what changes most where a run does not get on
RECORD = 1 << 21  # numbers kept per advance: the record of a large system is shorter


@dataclasses.dataclass
class _Record:
    """The knots of a run as they come in; for each event the knot after it and the number of its guard.

    `meanwhile` are the states from which the motion goes on while jumps take time (`Guard.meanwhile`), each with the
    knot that it comes before.
    """

    times: list
    vectors: list
    modes: list
    steps: int = 0
    effort: int = 0
    searches: int = 0
    count: int = 0
    jumps: list[int] = dataclasses.field(default_factory=list)
    guards: list[int] = dataclasses.field(default_factory=list)
    meanwhile: list[tuple[int, State]] = dataclasses.field(default_factory=list)

    def add(self, times, vectors, mode):
        times, mode = np.asarray(times).ravel(), as_numpy(mode)
        self.times.append(times)
        self.count += times.size
        self.vectors.append(vectors.reshape(times.size, vectors.shape[-1]))
        self.modes.append(mode[None].repeat(times.size, axis=0))

    def last(self, like: State) -> tuple[np.ndarray, np.ndarray, int]:
        """Times and vectors of the last steps, and how many positions the vectors begin with."""
        times, vectors = np.concatenate(self.times[-4:]), np.concatenate(self.vectors[-4:])
        return times[-RECENT:], vectors[-RECENT:, : like.q.size + like.v.size], like.q.size

    def add_jump(self, guard: int, after: State, vector: np.ndarray):
        """Add the state after an event of guard number `guard`, whose flowing parts are `vector`."""
        self.jumps.append(self.count)
        self.guards.append(guard)
        self.add(after.t, vector, after.mode)

    def cut(self):
        """Leave out what follows the last jump, or the first step if there was none."""
        last = (self.jumps[-1] if self.jumps else 1) + 1
        self.times, self.vectors, self.modes = (
            [np.concatenate(parts)[:last]] for parts in (self.times, self.vectors, self.modes)
        )


@dataclasses.dataclass
class _Memory:
    """What a run knows of its guards: their signs, the times of their events, and the states about the last ones."""

    signs: Signs
    count: int
    pile_up: PileUp | None = None  # before the first event
    rules: tuple[Guard, ...] = ()  # the guards; before the first event none
    last: dict[int, tuple[State, State]] = dataclasses.field(default_factory=dict)
    prepared: bool = False  # whether the question which of several guards are still due is made ready

    @staticmethod
    def empty(count: int) -> _Memory:
        return _Memory(_no_signs(count), count)


@functools.cache
def _no_signs(count: int) -> Signs:
    """Nothing is known of so many guards; as numpy arrays, which a program takes as they are."""
    return Signs.known(np.zeros(count), np.zeros(count, bool))


@functools.cache
def _no_pace() -> Pace:
    """Nothing is known of the length of steps; likewise."""
    return Pace.unknown(np.zeros(()))


@functools.cache
def _no_events(count: int) -> PileUp:
    """No event of so many guards has been; likewise."""
    return jax.tree.map(np.asarray, PileUp.empty(count))


@dataclasses.dataclass(frozen=True)
class _EventFacts:
    """What an event is made of once the run has come to its end: nothing waits for what is told of it."""

    name: str
    index: int
    t: float
    before: State
    after: State
    rule: Guard
    number: int

    def event(self, system: AbstractSystem) -> Event:
        """The event, with what the guard tells of it, or else the system."""
        rule, about = self.rule, (self.index, self.before, self.after)
        # Asked of the class, as in `_fire`.
        data = type(system).event_data(system, self.name, *about) if rule.data is None else rule.data(*about)
        before = self.before
        if rule.approach is not None:
            before = _limit_of_approach(system, before, self.number, np.asarray(self.index))
        return Event(self.name, self.index, float(data.pop("t", self.t)), before, self.after, data)


@dataclasses.dataclass
class _SearchArrays:
    """What was found in a doubtful step (`SearchResult`), as arrays that Python looks at and changes; `armed` in it."""

    armed: np.ndarray
    state: State
    event: bool
    due: np.ndarray
    unsure: np.ndarray
    sunk: np.ndarray
    signs: Signs
    owner: np.ndarray
    element: np.ndarray

    @staticmethod
    def of(told: SearchResult, armed) -> _SearchArrays:
        due, sunk = np.array(told.due), np.array(told.sunk)
        armed, unsure, *plain = (np.asarray(x) for x in (armed, told.unsure, told.owner, told.element))
        return _SearchArrays(armed, told.state, bool(as_numpy(told.event)), due, unsure, sunk, told.signs, *plain)


def run(
    system: AbstractSystem,
    start: State,
    until: float,
    stepper: ExplicitStepper | ImplicitStepper,
    control: AbstractSteps,
    max_events: int,
    max_steps: int,
    progress: Progress | None = None,
) -> Trajectory:
    """Flow, jump, flow on, from `start` to time `until`."""
    start = _with_types(start)
    end_time = min(until, FOREVER)
    vector = pack_known(start)
    capacity = _capacity(vector.size)
    record = _Record([], [], [])
    record.add(start.t, vector, start.mode)
    events: list[_EventFacts] = []
    memory = _Memory.empty(sum(guard_sizes(system, start)))
    state, pace, t_segment = start, _no_pace(), float(as_numpy(start.t))
    budget = Budget(until, max_steps, t_segment)
    if not np.isfinite(vector).all():
        undefined = Outcome("not_finite", _undefined_text(t_segment, "the start is"))
        return _trajectory(system, start, record, events, undefined, stepper, control)
    while True:
        went, found = _advance(
            system, state, pace, np.asarray(end_time), memory, stepper, control, capacity, record
        )  # fmt: skip
        state, pace = found.state if found else went.state, went.pace
        t = float(as_numpy(state.t))
        if progress is not None:
            progress(t, len(events))
        if found is not None and (found.event or found.sunk.any()):
            count = len(events)
            outcome, state = _fire(system, found, events, memory, record)
            t = float(as_numpy(state.t))
            if len(events) > count:
                pace = type(control).after_jump(control, pace, t - t_segment)
                t_segment = t
        else:
            outcome = _ending(system, went, until, state, t, memory)
        if outcome is None and len(events) >= max_events:
            outcome = Outcome("too_many_events", _too_many(events, max_events))
        if outcome is None and (reason := budget.judge(t, record.effort)):
            outcome = crawl_outcome(
                reason, t, _modes(system, state), events[-1].name if events else None, record.last(start)
            )
        if outcome is not None:
            if outcome.name == "at_rest":
                record.cut()
            return _trajectory(system, start, record, events, outcome, stepper, control)


def _capacity(numbers: int) -> int:
    """How many steps are recorded by one flow of states of so many numbers."""
    return min(max(RECORD // max(numbers, 1), 16), 512)


def prepare_run(system, stepper, control, like: State) -> None:
    """Have other threads make the programs of a run, in the order in which it comes to them, sampling last.

    `like` is the start, or any state of its form: they can be made while the start is still computed.
    """
    count, numbers = sum(guard_sizes(system, like)), _numbers(like)
    flows = system, like, _no_pace(), np.zeros(()), _no_signs(count), stepper, control
    searches = system, like, np.zeros(()), _no_signs(count), stepper, control
    wanted = [(_flow, *flows, _capacity(numbers)), *([(_search_program(system, 0), *searches)] if count else [])]
    # What takes longest first: an optimised search takes longer than the flow.
    for one in reversed(wanted) if system.eventful else wanted:
        prepare(*one)
    _prepare_likely(system, like)
    samples = ahead.samples()
    if samples is not None:
        block, n_blocks = _blocks(samples, like.q.size)

        def rows(x):
            return np.zeros((n_blocks, block, *np.shape(x)), x.dtype)

        move = _move_program(samples, numbers)
        prepare(move, system, stepper, control, *jax.tree.map(rows, (like, np.zeros(()))), rank=ahead.Rank.at_end)


def _advance(system, state, pace, until, memory: _Memory, stepper, control, capacity, record):
    """Flow on to the end of a doubtful step, to its event, or to another end; the steps are recorded.

    Returns:
        Where the flow went, and what was found in the doubtful step; None if there was none.
    """
    went = _flow(system, state, pace, until, memory.signs, stepper, control, capacity)
    count, steps, status = (int(as_numpy(x)) for x in (went.count, went.steps, went.status))
    memory.signs = went.signs
    record.add(np.asarray(went.times)[:count], np.asarray(went.vectors)[:count], state.mode)
    record.steps += steps
    record.effort += steps
    if status != Status.doubtful:
        return went, None
    record.effort += SEARCH
    look = _search_program(system, record.searches)
    record.searches += 1
    found = _SearchArrays.of(look(system, went.state, went.t_next, memory.signs, stepper, control), went.armed)
    _leave_out_passages(system, went.state, found, memory)
    memory.signs = found.signs
    if not found.sunk.any():
        record.add(found.state.t, pack_known(found.state), found.state.mode)
    return went, found


_flow = large_program(flow)
_search = large_program(search)
_search_briefly = brief_program(search)
_still_due = brief_program(still_due)
_turn = brief_program(turn)
_jump = brief_program(apply_jump)
_begin_jump, _finish_jump = brief_program(begin_jump), brief_program(finish_jump)
_settle = brief_program(apply_settle)


def _search_program(system: AbstractSystem, done: int) -> Callable[..., SearchResult]:
    """The program of the next search, after so many: most runs have too few to be worth an optimised one."""
    return _search if system.eventful or done >= FEW_SEARCHES else _search_briefly


def _leave_out_passages(system, start: State, found: _SearchArrays, memory: _Memory) -> None:
    """Take away the guards that go on falling after an event which is but a mark they pass.

    If others sink, the state is that at the start of the step: theirs is the next event.
    """
    if not found.sunk.any():
        return
    fired = np.array(found.signs.fired)
    for which in np.flatnonzero(found.sunk).tolist():
        passed = bool(_turn(system, *memory.last[which], as_numpy(which)).passes)
        found.sunk[which], fired[which] = not passed, not passed
    found.signs = Signs.known(as_numpy(found.signs.last), fired)
    if found.sunk.any():
        found.state = start


def _fire(system, found: _SearchArrays, events, memory: _Memory, record: _Record):
    """Apply the jumps that are due; the outcome if one of them ends the run, and the state after."""
    state, sinks = found.state, bool(found.sunk.any())
    memory.rules = rules = memory.rules or type(system).guards(system)
    due: Any = found.sunk if sinks else found.due
    fired = np.array(memory.signs.fired)
    which, went = int(np.argmax(due)), np.zeros_like(due)
    while True:
        due[which], fired[which], went[which] = False, True, True
        number, index = int(found.owner[which]), int(found.element[which])
        rule, before = rules[number], state
        pile_up = memory.pile_up or _no_events(memory.count)
        # Asked of the class: equinox builds a module for every method that is asked of an instance.
        memory.pile_up, limit = PileUp.with_event(pile_up, as_numpy(which), as_numpy(before.t), sinks)
        piles = not math.isnan(limit)
        if piles:
            if rule.settle is None:
                return Outcome("accumulation", _piling_up(rule, index, float(limit), before, sinks)), before
            after = _after_settling(system, rules, at_time(before, limit), number, np.asarray(index))
            moment = after.t
        else:
            if not events:
                _prepare_stages(system, rules, before, rule.jump, ahead.Rank.perhaps)
            if due.any() and not sinks:
                _prepare_still_due(system, state, due, memory)
            after, moment = _after_jump(system, rules, before, number, np.asarray(index))
        vector = pack_known(after)
        if not np.isfinite(vector).all():
            return Outcome("not_finite", _undefined_text(float(before.t), f"the state after {rule.name!r} is")), before
        seems = found.unsure[which] and not piles and bool(_turn(system, before, after, as_numpy(which)).rises)
        if not seems:
            name = f"{rule.name}_settled" if piles else rule.name
            events.append(_EventFacts(name, index, float(as_numpy(moment)), before, after, rule, number))
            if number not in record.guards:  # what its events tell is made ready while the run goes on
                ahead.submit(functools.partial(events[-1].event, system))
            if rule.meanwhile is not None and not piles:
                record.meanwhile.append((record.count, _go_on_meanwhile(system, before, number, np.asarray(index))))
            record.add_jump(number, after, vector)
            state, memory.last[which] = after, (before, after)
            if rule.ends is not None:
                return _outcome_of(rule, index, float(before.t)), state
        if due.any() and not sinks:
            due = np.array(_still_due(system, state, due))
        if not due.any():
            signs = Signs.known(np.where(went, 0.0, as_numpy(memory.signs.last)), fired)
            memory.signs = Signs.after_moment(signs, as_numpy(state.t) > as_numpy(found.state.t), found.armed)
            return None, state
        which = int(np.argmax(due))


def _after_jump(system, rules: tuple[Guard, ...], before: State, number: int, index) -> tuple[State, Any]:
    """The state after the jump of a guard, and the time at which its event is: that after the first of two stages."""
    staged = _after_stages(system, rules, before, rules[number].jump, index)
    return (_jump(system, before, jumps_like(rules, number), index), before.t) if staged is None else staged


def _after_settling(system, rules: tuple[Guard, ...], before: State, number: int, index) -> State:
    """The state that follows where events of a guard pile up."""
    staged = _after_stages(system, rules, before, rules[number].settle, index)
    return _settle(system, before, number, index) if staged is None else staged[0]


def _after_stages(system, rules: tuple[Guard, ...], before: State, rule: Any, index) -> tuple[State, Any] | None:
    """The state after a jump in stages, and the time after the first; None for others.

    No more is compiled than the run comes to.
    """
    first = begins_like(rules, rule)
    if first is None:
        return None
    after, more, known = _begin_jump(system, before, first, np.asarray(rule.variant), index)
    if not bool(more):
        return after, after.t
    return _finish_jump(system, after, known, _second_stage(rules)), after.t


def _second_stage(rules: tuple[Guard, ...]) -> int:
    """The first guard with a staged jump: all have the same second stage, and its program the name of that one."""
    return next(n for n, guard in enumerate(rules) if isinstance(guard.jump, StagedJump))


def _prepare_likely(system: AbstractSystem, like: State) -> None:
    """Have the jumps made ready to which nearly every run from such a state comes."""
    rules = type(system).guards(system)
    known = jax.tree.map(np.asarray, like)  # asked by NumPy, which compiles nothing
    for number, rule in enumerate(rules):
        if not rule.likely(known):
            continue
        first = begins_like(rules, rule.jump)
        if first is None:
            prepare(_jump, system, like, jumps_like(rules, number), np.asarray(0))
        else:
            prepare(_begin_jump, system, like, first, np.asarray(0), np.asarray(0))
            _prepare_stages(system, rules, like, rule.jump, ahead.Rank.soon)
        if system.eventful and rule.settle is not None:  # bounces that pile up are asked whether they are real
            prepare(_turn, system, like, like, np.asarray(0))


def _prepare_stages(system, rules: tuple[Guard, ...], state: State, rule: Any, rank: ahead.Rank) -> None:
    """Have the second stage of a jump made ready while the first is, and then perhaps the first stages of others."""
    if not isinstance(rule, StagedJump):
        return
    if rule.known is not None:
        prepare(_finish_jump, system, state, rule.known(), _second_stage(rules), rank=rank)
    own = begins_like(rules, rule)
    assert own is not None
    for number, guard in reversed(list(enumerate(rules))):  # those that follow, and then, perhaps, those before
        if number != own and begins_like(rules, guard.jump) == number:
            when = rank if number > own and rule.known is not None else ahead.Rank.perhaps
            prepare(_begin_jump, system, state, number, np.asarray(0), np.asarray(0), rank=when)


def _outcome_of(rule: Guard, index: int, t: float) -> Outcome:
    """The outcome of a guard that ends the run."""
    return Outcome(rule.ends or "finished", rule.message.format(t=t, index=index) or f"{rule.name} at t = {t:g} s.")


def _with_types(start: State) -> State:
    """A start of arrays whose types no number of Python has left open."""
    leaves = jax.tree.leaves(start)
    known = all(isinstance(leaf, jax.Array) and not leaf.weak_type for leaf in leaves)
    return start if known else same_types(start, start)


def _numbers(states: State) -> int:
    """How many numbers flow in these states."""
    return states.q.size + states.v.size + states.ledger.size


def _prepare_still_due(system: AbstractSystem, state: State, due: np.ndarray, memory: _Memory) -> None:
    """Have the question what is still due made ready while the jump is, once."""
    if not memory.prepared:
        memory.prepared = True
        prepare(_still_due, system, state, due)


@brief_program
def _go_on_meanwhile(system: AbstractSystem, state: State, number: int, index) -> State:
    meanwhile = system.guards()[number].meanwhile
    assert meanwhile is not None
    return same_types(state, meanwhile(state, index))


@brief_program
def _limit_of_approach(system: AbstractSystem, state: State, number: int, index) -> State:
    approach = system.guards()[number].approach
    assert approach is not None
    return same_types(state, approach(state, index))


def _ending(system, went: Flow, until: float, state: State, t: float, memory) -> Outcome | None:
    """The outcome of a segment that ended without an event, at time t; None if it goes on."""
    status = Status(int(as_numpy(went.status)))
    if status is Status.over:
        number, element = (int(x[int(went.over)]) for x in FlatSystem(system, state).guard_numbers())
        return _outcome_of(system.guards()[number], element, t)
    if status is Status.reached or (status is Status.doubtful and t >= min(until, FOREVER)):
        if math.isinf(until) and not np.any(np.asarray(state.v)):
            return Outcome("at_rest", "Nothing moves any more and nothing will happen.")
        if math.isinf(until):
            return Outcome("finished", f"Still moving at t = {t:g} s, and nothing will happen.")
        return Outcome("finished", f"Reached t = {t:g} s.{_never_fired(system, went, state, memory)}")
    if status is Status.stalled and not float(went.pace.h) > 0.0:
        return Outcome("not_finite", _undefined_text(t, "the acceleration is"))
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


def _never_fired(system, went: Flow, state: State, memory: _Memory) -> str:
    """A sentence for guards that are below zero at the end and have never fired: they were so from the start."""
    quiet = np.asarray(went.armed) & (np.asarray(memory.signs.last) <= 0.0)
    if memory.last:
        quiet[list(memory.last)] = False
    if not quiet.any():
        return ""
    flat = FlatSystem(system, state)
    quiet &= np.asarray(flat.guards(state.t, flat.vector(state))) < -SUNK
    names = {system.guards()[number].name for number in np.asarray(flat.guard_numbers()[0])[quiet]}
    return "".join(
        f" Guard {name!r} is below zero and has never fired, since a guard fires only after it has been positive."
        for name in sorted(names)
    )


def _modes(system: AbstractSystem, state: State) -> str:
    """The modes of a state in words."""
    codes = np.unique(np.asarray(_observe_modes(system, state)))
    return "mode " + ", ".join(system.mode_names[int(code)] for code in codes if 0 <= code < len(system.mode_names))


@brief_program
def _observe_modes(system: AbstractSystem, state: State):
    return system.observe(state).get("mode", 0)


def _undefined_text(t: float, what: str) -> str:
    return (
        f"Stopped at t = {t:.6g} s: {what} not defined, or too large for a number. "
        "Look for numbers that differ by many powers of ten."
    )


def _too_many(events: list[_EventFacts], max_events: int) -> str:
    last, before = events[-1], events[-2] if len(events) > 1 else events[-1]
    return (
        f"Stopped at t = {last.t:.6g} s after {max_events} events, the last on guard {last.name!r}, "
        f"{last.t - before.t:.2g} s after the one before. Raise max_events to go on."
    )


def _piling_up(rule: Guard, index: int, limit: float, state: State, sinks: bool) -> str:
    told = f"Stopped at t = {float(state.t):.9g} s: "
    told += f"events of guard {rule.name!r} (index {index}) pile up at t = {limit:.12g} s"
    if sinks:
        told += ": after its last jump it does not rise above zero again but would be passed"
    return f"{told}, and the system has no mode for what follows. Tell with `settle` how it goes on."


def _trajectory(
    system, start, record: _Record, facts: list[_EventFacts], outcome, stepper, control
) -> Trajectory:  # fmt: skip
    """The trajectory of a run: states at the ends of its steps, and how to move on from them or take them again."""
    events = tuple(one.event(system) for one in facts)
    times = np.concatenate(record.times)
    knots = _knots(start, times, np.concatenate(record.vectors), np.concatenate(record.modes), record.meanwhile)

    def flow(states: State, times) -> State:
        return _move_on(system, stepper, control, states, np.asarray(times))

    def replay_with(other: AbstractSystem, start: State, wanted=None) -> Replay:
        known = labels(system)
        fired = [known[number] for number in record.guards]
        return replay(other, start, times, events, record.jumps, fired, stepper, control, wanted)

    return Trajectory(knots, events, outcome, flow, record.steps, replay_with)


def _knots(start: State, times, vectors, modes, meanwhile: list[tuple[int, State]]) -> State:
    """The states between which the motion is smooth, stacked; they stay on the host, as NumPy arrays."""
    if meanwhile:
        places, states = zip(*meanwhile, strict=True)
        more = [(as_numpy(state.t), pack_known(state), as_numpy(state.mode)) for state in states]
        added = (np.stack(parts) for parts in zip(*more, strict=True))
        times, vectors, modes = (
            np.insert(known, places, part, axis=0) for known, part in zip((times, vectors, modes), added, strict=True)
        )
    return unpack(start, times, vectors, refill(start.mode, modes))


def _move_on(system, stepper, control, states: State, times) -> State:
    """Each state moved on to its time by one step, in blocks of two sizes so that little is compiled."""
    n = len(times)
    block, n_blocks = _blocks(n, states.q.size // max(n, 1))
    portion = n_blocks * block
    n_portions = -(-n // portion)

    def portions(x):
        x = np.asarray(x)
        filled = np.concatenate([x, np.broadcast_to(x[-1:], (-n % portion, *x.shape[1:]))])
        return filled.reshape(n_portions, n_blocks, block, *x.shape[1:])

    if n == 0:
        return states
    portioned, move = jax.tree.map(portions, (states, times)), _move_program(n, _numbers(states) // n)
    moved = [move(system, stepper, control, *jax.tree.map(lambda x, k=k: x[k], portioned)) for k in range(n_portions)]

    def join(*parts):
        # By NumPy: JAX would compile for every number of states.
        return jax.device_put(np.concatenate([np.asarray(x).reshape(portion, *x.shape[2:]) for x in parts])[:n])

    return jax.tree.map(join, *moved)


def _blocks(count: int, size: int) -> tuple[int, int]:
    """How many states of this size make a block, and how many blocks are moved on by one call."""
    block = int(np.clip(65536 // max(size, 1), 1, 256))
    return block, 1 if count <= block else BLOCKS


def _move_blocks(system, stepper, control, states: State, times) -> State:
    """Each state moved on to its time, those of a block side by side."""
    one = functools.partial(_move_one, system, stepper, control)
    return jax.lax.map(lambda block: jax.vmap(one)(*block), (states, times))


def _move_each(system, stepper, control, states: State, times) -> State:
    """Each state moved on to its time, one after the other.

    For few numbers this is a third of the code, and takes no longer without optimisation.
    """

    def block(some):
        return jax.lax.map(lambda one: _move_one(system, stepper, control, *one), some)

    return jax.lax.map(block, (states, times))


def _move_one(system, stepper, control, state: State, t) -> State:
    flat = FlatSystem(system, state)
    y0 = flat.vector(state)
    y, _ = control.take(flat, stepper, state.t, y0, t - state.t)
    # A knot is itself: states at rest, where the rate may be undefined, stay as they are.
    return flat.state(t, jnp.where(t == state.t, y0, y))


_move_few, _move_few_each, _move_many = brief_program(_move_blocks), brief_program(_move_each), program(_move_blocks)


def _move_program(count: int, numbers: int) -> Callable[..., State]:
    """The program that moves on so many states of so many numbers each."""
    if count > FEW_STATES:
        return _move_many
    return _move_few_each if numbers <= FEW_NUMBERS else _move_few
