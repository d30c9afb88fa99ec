"""Many runs of one system at once: the same steps, searches and jumps as a single run.

On a CPU the runs flow in small blocks: a few lanes side by side fill the vector units, and a block
stays in the cache while it goes through its steps. A run that ends, or has an event to look at, leaves
its lane to another, so that none waits for the slowest. What a run gives depends neither on its
lane nor on its neighbours.

Systems whose rate is long and whose modes have little in common (`AbstractSystem.apart`) go one by one, each from
event to event in one program, which has a part for each group of modes with nothing of the others in it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.engines import steppers
from saltus.engines.accumulation import PileUp
from saltus.engines.advance import SearchResult, judge_step
from saltus.engines.batch_lane import (
    Knots,
    Lanes,
    accept_flow,
    each,
    end_at_limit,
    fire_in_lane,
    first_carry,
    flat_of,
    flow_one,
    larger,
    locate_in_lane,
    put,
    run_lane,
    search_lane,
    take,
)
from saltus.engines.flat import FlatSystem, Watch
from saltus.engines.guard_test import GLANCES
from saltus.engines.loop import FOREVER
from saltus.engines.signs import Signs
from saltus.engines.step_control import AbstractSteps, AdaptiveSteps, ConstantSteps
from saltus.engines.steppers import ExplicitStepper, ImplicitStepper
from saltus.engines.trial import Carry, Pace, Status, Trial
from saltus.hybrid import State
from saltus.hybrid.state import same_types
from saltus.hybrid.system import checked_guards
from saltus.numerics.runge_kutta import cubic
from saltus.numerics.scalars import CannotScalariseError, warn_of_slow_path
from saltus.numerics.trees import choose
from saltus.programs import ahead, brief_program, plain_program, prepare, program

LANES = 32  # runs side by side on a CPU: enough to fill its vectors, few enough for the nearest cache
LANES_WITH_TABLES = 8  # the same for long rates that look up tables: a block costs no more than one run alone
SMALL = 80_000  # bytes of a block's stages up to which lanes go side by side; longer states go one by one
PATIENCE = 64  # steps after which a program returns, so that lanes whose runs have ended get others; on a CPU fewer
IMPATIENCE = 16  # but no fewer than these
WORTH = 1 << 16  # steps of all runs together that pay for a return
ROOM = 32  # runs that go one by one in one call, whatever their number: it is compiled once
LOOKS = 64  # lanes whose doubtful steps are searched in one call of the program
LOOKS_ON_GPU = 1 << 14
FEW = 16  # a GPU takes fewer lanes at once when only this part of them is left
MANY = 512  # numbers of a table: it is looked up; a system of more single numbers goes by itself
CALM = 16  # steps without doubt after which a lane that was searched goes on with the others


# Called with the rows of some runs and their next knots, stacked, the first of them those at which the last ones ended.
KeepKnots = Callable[[np.ndarray, Knots], None]


@dataclasses.dataclass(frozen=True)
class BatchSettings:
    """What all runs of a batch have in common.

    Args:
        stepper: The method.
        control: How long steps are.
        watch: `watch(system, state)`: what to keep the largest values of.
        max_events: Events after which a run stops with `Status.full`.
        max_steps: Steps after which it does.
    """

    stepper: ExplicitStepper | ImplicitStepper
    control: AbstractSteps
    watch: Watch
    max_events: int
    max_steps: int


def run(
    varying,
    shared,
    start: State,
    until,
    settings: BatchSettings,
    progress: Callable[[int], None] | None = None,
    goes: np.ndarray | bool = True,
    keep_knots: KeepKnots | None = None,
) -> Lanes:
    """Let runs go to their ends.

    Args:
        varying: The system's numbers that differ from run to run, stacked; None for the others.
        shared: The rest of the system (`equinox.combine` puts both together).
        start: The states at the beginning, stacked.
        until: Time at which each ends [s].
        settings: What they have in common.
        progress: Called with the number of runs that have ended since the last call.
        goes: Which of them to run; the others stay where they are.
        keep_knots: Called with the knots of some runs on their way. It changes nothing for them: the steps are the
            same. For systems that go by mode (`goes_apart`) alone.

    Returns:
        The lanes in the order given, as numpy arrays; `Status.full` where a limit of the settings was met.
    """
    checked_guards(eqx.combine(jax.tree.map(lambda x: x[0], varying), shared))
    until = np.broadcast_to(np.minimum(until, FOREVER), start.t.shape).astype(float)
    if _for_kernel(varying, shared, start, settings):
        try:
            return _by_kernel(varying, shared, start, until, settings, progress, goes)
        except CannotScalariseError as error:
            warn_of_slow_path(type(shared).__name__, error)
    lanes = _begin(varying, shared, start, until, settings)
    lanes.status[:] = np.where(goes, Status.going, Status.reached)
    _drive(lanes, shared, settings, progress, keep_knots)
    return lanes


def _begin(varying, shared, start: State, until: np.ndarray, settings: BatchSettings) -> Lanes:
    """The lanes before their first step, as arrays that can be written to."""
    lanes = _begin_program(settings.watch, jax.default_backend() == "cpu")(varying, shared, start, until)
    return jax.tree.map(np.array, lanes)


def _drive(
    lanes: Lanes,
    shared,
    settings: BatchSettings,
    progress: Callable[[int], None] | None,
    keep_knots: KeepKnots | None,
) -> None:
    """Move the lanes that go to their ends."""
    programs = _programs(
        settings.stepper,
        settings.watch,
        settings.max_events,
        settings.max_steps,
        jax.default_backend() == "cpu",
        shared.eventful,
    )
    apart = goes_apart(shared, settings)
    if keep_knots is not None and not apart:
        raise ValueError(f"Runs of {type(shared).__name__} go together: none of them can be looked at on its way.")
    if apart:
        _end_resting(lanes, shared)
    while (going := lanes.status == Status.going).any():
        rows = np.flatnonzero(going)
        if apart:
            _move_apart(programs, lanes, rows[:ROOM], shared, settings, keep_knots)
        else:
            _move_together(programs, lanes, rows, shared, settings)
        if progress is not None:
            progress(rows.size - int((lanes.status == Status.going).sum()))


def _move_apart(
    programs: _Programs, lanes: Lanes, rows: np.ndarray, shared, settings: BatchSettings, keep_knots: KeepKnots | None
) -> None:
    """Move a few lanes, each by itself, to their ends, or as far as there is room for their knots."""
    given = take(lanes, _pad(rows, ROOM), rows.size)
    moved, knots = programs.apart(given, shared, settings.control, np.asarray(keep_knots is not None))
    put(lanes, rows, moved)
    if keep_knots is not None:
        keep_knots(rows, jax.tree.map(lambda part: np.asarray(part)[: rows.size], knots))
    _end_resting(lanes, shared)


def _end_resting(lanes: Lanes, shared) -> None:
    """End the runs that are in a mode in which nothing moves."""
    rests = (lanes.status == Status.going) & ~np.isin(lanes.state.mode, shared.moving_modes)
    lanes.status[rests], lanes.state.t[rests] = Status.reached, lanes.until[rests]


def _move_together(programs: _Programs, lanes: Lanes, rows: np.ndarray, shared, settings: BatchSettings) -> None:
    """Some steps of these lanes, and the events that they come to."""
    on_cpu = jax.default_backend() == "cpu"
    size = -(-len(lanes.number) // LANES) * LANES
    looks = LOOKS if on_cpu else min(size, LOOKS_ON_GPU)
    if on_cpu and ahead.under_way():
        programs.prepare(take(lanes, _pad(rows[:1], looks), 1), shared, settings.control)
    # Those of a block wait for the last of them: the sooner others take their lanes, the better.
    patience = min(max(WORTH // rows.size, IMPATIENCE), PATIENCE) if on_cpu else PATIENCE
    _move(programs.flow, lanes, rows, size, shared, settings, np.asarray(patience))
    _move(programs.search, lanes, rows[lanes.status[rows] == Status.doubtful], looks, shared, settings)


def _move(
    part: Callable[..., Lanes], lanes: Lanes, rows: np.ndarray, most: int, shared, settings: BatchSettings, *more
) -> None:
    """Give some lanes to a program, at most so many in one call."""
    on_cpu = jax.default_backend() == "cpu"
    for some in np.split(rows, range(most, rows.size, most)):
        if some.size:
            room = most if on_cpu else _room(some.size, most)
            put(lanes, some, part(take(lanes, _pad(some, room), some.size), shared, settings.control, *more))


def _for_kernel(varying, shared, start: State, settings: BatchSettings) -> bool:
    """Whether `batch_constant` can run them: classical Runge-Kutta steps of constant length, a small smooth system."""
    if not settings.control.constant or settings.control.project or settings.stepper != steppers.stepper("rk4"):
        return False
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), (varying, start))
    some, state = one
    # The kernel's lanes each have all numbers of the system to themselves: large tables have no room there.
    return not _looks_up(shared) and _is_small(shared, state, settings.stepper) and _smooth(some, state, shared)


def goes_apart(shared, settings: BatchSettings) -> bool:
    """Whether runs go one by one, with a part of the program for each group of modes."""
    explicit = isinstance(settings.stepper, ExplicitStepper) and isinstance(settings.control, AdaptiveSteps)
    return jax.default_backend() == "cpu" and bool(shared.apart) and explicit


def _by_kernel(
    varying, shared, start: State, until, settings: BatchSettings, progress=None, goes: np.ndarray | bool = True
) -> Lanes:
    """The runs with constant steps, the whole loop over time in one program."""
    from saltus.engines.batch_constant import run_lanes

    if not isinstance(settings.control, ConstantSteps):
        raise TypeError(f"The kernel takes constant steps, not {type(settings.control).__name__}.")
    count = start.t.shape[0]
    numbers, rest = eqx.partition(shared, eqx.is_array)
    stacked = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), numbers)
    system = eqx.combine(jax.tree.map(jnp.asarray, varying), stacked, rest)
    differs = eqx.combine(jax.tree.map(lambda _: True, varying), jax.tree.map(lambda _: False, numbers))
    # A GPU is quicker if the common numbers stand in its program; on a CPU they are data, and scenarios share it.
    on_gpu = jax.default_backend() != "cpu"
    like = eqx.combine(jax.tree.map(lambda x: x[0], varying), shared) if on_gpu else None
    ends = run_lanes(
        system, jax.tree.map(jnp.asarray, start), settings.watch, until=until, step=float(settings.control.step),
        goes=goes, progress=progress, max_events=settings.max_events, max_steps=settings.max_steps, like=like,
        varying=tuple(jax.tree.leaves(differs)),
    )  # fmt: skip
    return dataclasses.replace(jax.tree.map(np.asarray, ends), varying=varying)


def _room(count: int, size: int) -> int:
    """How many lanes a GPU moves at once: all, or a share of them when few are left; it compiles for two sizes."""
    few = -(-size // FEW // LANES) * LANES
    return few if count <= few else size


def _pad(rows: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([rows, np.repeat(rows[:1], size - rows.size)])


@dataclasses.dataclass(frozen=True)
class _Programs:
    """The compiled parts of a batch: flow and search of many runs, or whole runs one by one."""

    flow: Callable[..., Lanes]
    search: Callable[..., Lanes]
    apart: Callable[..., tuple[Lanes, Knots]]
    prepare: Callable[..., None] = lambda lanes, shared, control: None  # has the search made by a second thread


@functools.lru_cache(maxsize=64)
def _begin_program(watch, one_by_one: bool) -> Callable[..., Lanes]:
    def begin(varying, shared, start, until):
        def one(values):
            varying, state = values
            state = same_types(state, state)
            none, zero = jnp.asarray(-1), jnp.asarray(0)
            system = eqx.combine(varying, shared)
            peaks = jnp.nan_to_num(watch(system, state))
            guards = sum(FlatSystem(system, state).guard_sizes())
            return state, none, zero, peaks, Signs.none(guards), PileUp.empty(guards)

        state, none, zero, peaks, signs, pile_up = each(one, (varying, start), one_by_one)
        number = jnp.arange(none.size)
        pace, t = Pace.unknown(state.t), state.t
        return Lanes(number, varying, state, until, pace, zero, t, none, zero, zero, t, peaks, signs, pile_up)

    return _keep(begin, brief_program)


@functools.lru_cache(maxsize=64)
def _programs(stepper, watch, max_events: int, max_steps: int, one_by_one: bool, eventful: bool) -> _Programs:
    """The programs for these fixed parts of the settings; kept, so that a second batch compiles nothing."""

    def flow(lanes, shared, control, patience):
        width = _width(lanes, shared, stepper, control, one_by_one)

        def some_steps(some):
            if width is None:
                block = flow_one(some, shared, control, stepper, watch, patience)
            else:
                block = _flow_together(some, shared, control, (stepper, watch), patience)
            return end_at_limit(block, max_steps)

        if width is None:
            return each(some_steps, lanes, one_by_one)
        count = lanes.number.size  # named, since an empty ledger leaves nothing to count
        blocks = jax.tree.map(lambda x: x.reshape(count // width, width, *x.shape[1:]), lanes)
        last = jax.tree.map(lambda x: jnp.moveaxis(x, 1, -1), blocks)
        moved = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 1), jax.lax.map(some_steps, last))
        return jax.tree.map(lambda x: x.reshape(count, *x.shape[2:]), moved)

    def search(lanes, shared, control):
        one = functools.partial(
            search_lane, shared=shared, control=control, stepper=stepper, watch=watch, max_events=max_events,
            one_by_one=one_by_one,
        )  # fmt: skip

        def until_calm(lane):
            def doubtful(lane):
                return lane.status == Status.doubtful

            def on(lane):
                return end_at_limit(flow_one(one(lane), shared, control, stepper, watch, CALM), max_steps)

            return jax.lax.while_loop(doubtful, on, lane)

        return each(until_calm if one_by_one else one, lanes, one_by_one)

    def apart(lanes, shared, control, keeps):
        def one(lane):
            return run_lane(lane, shared, control, stepper, watch, max_events, max_steps, keeps)

        return each(one, lanes, one_by_one)

    quick = plain_program if one_by_one else program
    if eventful or not one_by_one:
        return _Programs(_keep(flow, quick), _keep(search, quick), _keep(apart, quick))
    search_parts, make_ready = _search_in_parts(stepper, watch, max_events)
    return _Programs(_keep(flow, quick), search_parts, _keep(apart, quick), make_ready)


@functools.lru_cache(maxsize=64)
def _search_in_parts(stepper, watch, max_events: int) -> tuple:
    """The search and the jumps as two programs, and what prepares both."""

    def locate(lanes, shared, control):
        def one(lane):
            return locate_in_lane(lane, flat_of(lane, shared), control, stepper, watch)

        def nothing(lane):
            return lane, SearchResult.nothing(flat_of(lane, shared), lane.signs)

        return each(lambda lane: jax.lax.cond(lane.status == Status.doubtful, one, nothing, lane), lanes, True)

    # Jumps take a small part of the time, and are most of what there is to compile.
    located, fire = _keep(locate, plain_program), _fire_program(watch, max_events)

    def search(lanes, shared, control):
        lanes, found = located(lanes, shared, control)
        return fire(lanes, found, shared, control)

    begun: list[bool] = []

    def make_ready(lanes, shared, control):
        if begun:
            return
        begun.append(True)
        like = eqx.filter_eval_shape(
            jax.vmap(lambda lane: SearchResult.nothing(flat_of(lane, shared), lane.signs)), lanes
        )
        located.prepare(lanes, shared, control)
        fire.prepare(lanes, jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), like), shared, control)

    return search, make_ready


@functools.lru_cache(maxsize=64)
def _fire_program(watch, max_events: int) -> _LaneProgram:
    def fire(lanes, found, shared, control):
        def one(value):
            lane, event = value
            return fire_in_lane(lane, event, shared, control, watch, max_events, True)

        return each(one, (lanes, found), True)

    return _keep(fire, brief_program)


def _keep(function: Callable, compiled: Callable = program) -> _LaneProgram:
    """The program of a function of lanes, or of the systems of lanes, that leaves these systems as they are.

    They do not come out of the program: what they hold beside numbers has no name by which a later process finds it.
    """

    def bare(given, *more):
        return _with_systems(function(given, *more), None)

    bare.__name__ = function.__name__
    return _LaneProgram(compiled(bare))


class _LaneProgram:
    """A program whose result is given back the systems of its lanes."""

    def __init__(self, bare: Callable):
        self._bare = bare

    def __call__(self, given, *more) -> Any:
        return _with_systems(self._bare(given, *more), given.varying if isinstance(given, Lanes) else given)

    def prepare(self, *given) -> None:
        """Have a second thread make the program for arguments like these."""
        prepare(self._bare, *given)


def _with_systems(result, varying):
    """Lanes with these systems, or lanes and more."""
    lanes, *more = result if isinstance(result, tuple) else (result,)
    lanes = dataclasses.replace(lanes, varying=varying)
    return (lanes, *more) if more else lanes


def _width(lanes: Lanes, shared, stepper, control: AbstractSteps, one_by_one: bool) -> int | None:
    """How many lanes flow side by side; None: each by itself."""
    state = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), lanes.state)
    varying = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), lanes.varying)

    if not isinstance(stepper, ExplicitStepper) or (control.constant and not _smooth(varying, state, shared)):
        return None
    if not one_by_one:
        return lanes.number.size
    lanes_of_block = LANES_WITH_TABLES if _looks_up(shared) else LANES
    return lanes_of_block if _is_small(shared, state, stepper) else None


def _smooth(varying, state: State, shared) -> bool:
    """Whether the rate of such systems is smooth everywhere."""

    def rough(varying, state):
        return eqx.combine(varying, shared).rough(state)

    return eqx.filter_eval_shape(rough, varying, state) is None


def _is_small(shared, state: State, stepper) -> bool:
    """Whether the system is small enough for lanes side by side, and for the kernel; tables (terrain) do not count."""
    numbers = state.q.size + state.v.size + state.ledger.size
    single = sum(size for size in _sizes(shared) if size <= MANY)
    return single <= MANY and 8 * LANES * numbers * (len(stepper.b) + 1) <= SMALL


def _looks_up(shared) -> bool:
    """Whether the system looks up large tables (terrain)."""
    return any(size > MANY for size in _sizes(shared))


def _sizes(shared) -> list[int]:
    return [leaf.size for leaf in jax.tree.leaves(eqx.filter(shared, eqx.is_array))]


def _flow_together(lanes: Lanes, shared, control: AbstractSteps, fixed: tuple, patience: Array) -> Lanes:
    """A few steps of a block of lanes, side by side: here every leaf has the lanes as its last axis."""
    stepper, watch = fixed
    numbers, rest = eqx.partition(shared, eqx.is_array)

    def together(function):
        """`function(flat, *arguments)` for all lanes."""

        def one(lane, numbers):
            varying, like, arguments = lane
            return function(FlatSystem(eqx.combine(varying, numbers, rest), like), *arguments)

        vector = jax.vmap(one, in_axes=(-1, None), out_axes=-1)
        return lambda *arguments: vector((lanes.varying, lanes.state, arguments), numbers)

    first = jax.tree.map(lambda x: x[..., 0], (lanes.varying, lanes.state))
    flat = FlatSystem(eqx.combine(first[0], shared), first[1])
    owner, marks = flat.guard_numbers()[0], flat.marks()
    armed = together(lambda flat, t: flat.armed())(lanes.state.t)
    asks = flat.look_interval(flat.like.t, flat.vector(flat.like)) is not None

    def decide(trial, carry, armed, until):
        return judge_step(trial, carry, armed, marks, stepper.order, control, until, 0)

    def going_on(value):
        carry, _, count = value
        return (carry.status == Status.going).any() & (count < patience)

    def step(value):
        carry, largest, count = value
        interval = together(lambda flat, t, y: flat.look_interval(t, y))(carry.t, carry.y) if asks else None
        trial = _try_together(carry, lanes.until, together, control, stepper, watch, interval)
        after = jax.vmap(decide, in_axes=-1, out_axes=-1)(trial, carry, armed, lanes.until)
        going = carry.status == Status.going
        after = choose(going, after, carry)
        return after, larger(largest, trial.watched, after.count > carry.count), count + 1

    vector = together(lambda flat, t: flat.vector(flat.like))
    start = first_carry(lanes, vector(lanes.state.t), control)
    end, largest, _ = jax.lax.while_loop(going_on, step, (start, lanes.largest, jnp.asarray(0)))
    state = together(lambda flat, t, y: flat.state(t, y))(end.t, end.y)
    return accept_flow(lanes, dataclasses.replace(state, mode=lanes.state.mode), end, owner, largest)


def _try_together(carry: Carry, until, together, control: AbstractSteps, stepper, watch, look_interval) -> Trial:
    """One step of a block of lanes and the looks along it."""

    def looks(flat, t, y):
        return flat.look(t, y, watch)

    t_new = control.target(carry.t, control.bound(carry.pace.h, look_interval), until)
    h = t_new - carry.t
    step = stepper(together(lambda flat, t, y: flat.rate(t, y)), carry.t, carry.y, h)
    project = together(lambda flat, t, y: flat.project(t, y))
    # Barriers: for GPUs, as in `numerics/runge_kutta.py`.
    y_new = jax.lax.optimization_barrier(project(t_new, step.y) if control.project else step.y)
    times = carry.t + GLANCES[:, None] * h
    vectors = cubic(carry.y, h * step.rate_before, y_new, h * step.rate_after, GLANCES[:, None, None])
    vectors = jax.lax.optimization_barrier(vectors)
    guards, seen = jax.lax.map(lambda look: together(looks)(*look), (times, vectors))
    return Trial(t_new, y_new, step, jnp.ones(h.shape, bool), guards, seen)
