"""One run among many: what is kept of it, a few steps of it by itself, and the search and the jumps in one of them.

Used by all that drive many runs at once (`batch`, `batch_constant`), inside their programs.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saltus.engines.accumulation import PileUp
from saltus.engines.advance import SearchResult, judge_step, nothing_seen, search_flat, try_step
from saltus.engines.fire import fire
from saltus.engines.flat import FlatSystem
from saltus.engines.guard_test import GLANCES
from saltus.engines.signs import Signs
from saltus.engines.step_control import AbstractSteps
from saltus.engines.trial import Carry, Pace, Status
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.state import pack
from saltus.numerics.loops import in_pieces
from saltus.numerics.peaks import highest
from saltus.numerics.runge_kutta import cubic
from saltus.numerics.trees import choose

STRETCH = 64  # steps of a run that goes by itself after which its knots are put down
KNOTS = 1024  # of one run that are kept in one call of a program


class Lanes(eqx.Module):
    """Runs on their way; every leaf has the lanes as its first axis.

    Args:
        number: Which run it is; -1 for an idle lane.
        varying: The numbers of the system that differ from run to run.
        state: Where it is.
        until: Time of its end [s].
        pace: How long its steps are now.
        status: `Status` of its flow.
        t_next: End of the step to look into, if the status says so [s].
        ended_by: Number of the guard that ended it, or -1.
        events: How many events it had.
        steps: How many steps it took.
        t_event: Time of the last event [s].
        largest: Largest values so far of what is watched.
        signs: What is known of the guards.
        pile_up: What is remembered of the times of events.
    """

    number: Int[Array, " n"]
    varying: AbstractSystem
    state: State
    until: Float[Array, " n"]
    pace: Pace
    status: Int[Array, " n"]
    t_next: Float[Array, " n"]
    ended_by: Int[Array, " n"]
    events: Int[Array, " n"]
    steps: Int[Array, " n"]
    t_event: Float[Array, " n"]
    largest: Float[Array, "n k"]
    signs: Signs
    pile_up: PileUp


class Knots(eqx.Module):
    """States of a run at its steps, and before and after its jumps, one after the other, as far as there is room.

    Args:
        t: Times [s].
        y: What flows, as `hybrid.state.pack` puts it into one vector.
        mode: Modes.
        count: How many there are; rows beyond that mean nothing.
    """

    t: Float[Array, " k"]
    y: Float[Array, "k n"]
    mode: Int[Array, " k"]
    count: Int[Array, ""]

    @staticmethod
    def none(like: State) -> Knots:
        """None yet, of a run with states like this."""
        y = pack(like)
        return Knots(jnp.zeros(KNOTS), jnp.zeros((KNOTS, y.size)), jnp.zeros(KNOTS, like.mode.dtype), jnp.asarray(0))

    def with_rows(self, t: Array, y: Array, mode: Array, count: Array | int) -> Knots:
        """With the first `count` of these rows behind the others; there must be room for all that are given."""

        def behind(old: Array, new: Array) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(old, new, self.count, 0)

        modes = jnp.broadcast_to(mode, t.shape)
        return Knots(behind(self.t, t), behind(self.y, y), behind(self.mode, modes), self.count + count)

    def with_state(self, state: State) -> Knots:
        """With one state more."""
        return self.with_rows(state.t[None], pack(state)[None], state.mode, 1)

    def has_room(self) -> Array:
        """Whether there is room for one stretch of a flow and the event at its end."""
        return self.count + STRETCH + 3 <= KNOTS


def each(function: Callable, values, one_by_one: bool):
    """The function on each row of a tree: one after the other on a CPU, where a row's last bits must not hang on its
    place in a vector, and where a branch not taken costs nothing; else side by side.
    """
    return jax.lax.map(function, values) if one_by_one else jax.vmap(function)(values)


def take(lanes: Lanes, rows: np.ndarray, used: int) -> Lanes:
    """These lanes; those after the first `used` are idle."""
    taken = jax.tree.map(lambda x: x[rows], lanes)
    idle = np.arange(rows.size) >= used
    return dataclasses.replace(
        taken, number=np.where(idle, -1, taken.number), status=np.where(idle, Status.reached, taken.status)
    )


def put(lanes: Lanes, rows: np.ndarray, moved: Lanes) -> None:
    """Write the first of the lanes that moved back to their rows."""
    for into, new in zip(jax.tree.leaves(lanes), jax.tree.leaves(moved), strict=True):
        into[rows] = np.asarray(new)[: rows.size]


def first_carry(lanes: Lanes, y, control: AbstractSteps) -> Carry:
    zero = jnp.zeros_like(lanes.status)
    return Carry(
        t=lanes.state.t, y=y, pace=control.begin(lanes.pace), status=lanes.status,
        t_next=lanes.t_next, over=zero, signs=lanes.signs, times=jnp.zeros((0, *zero.shape)),
        vectors=jnp.zeros((0, *zero.shape)), count=zero, steps=zero,
    )  # fmt: skip


def flow_one(
    lane: Lanes, shared, control: AbstractSteps, stepper, watch, patience: int, unrisen: bool = False,
    mode: int | None = None,
) -> Lanes:  # fmt: skip
    """A few steps of one lane by itself; with `unrisen` only until guards that have fired rise, but one in any case.

    With `mode` the program knows that the lane is in that mode, and holds nothing of the others.
    """
    return _flow(lane, shared, control, stepper, watch, patience, unrisen, mode)[0]


def _flow(
    lane: Lanes, shared, control: AbstractSteps, stepper, watch, patience, unrisen: bool, mode: int | None,
    capacity: int = 0,
) -> tuple[Lanes, Carry]:  # fmt: skip
    """The lane after some steps, and these steps, if there is room for them (`capacity`)."""
    flat = flat_of(lane, shared, mode)
    armed, marks = flat.armed(), flat.marks()

    def going_on(carry):
        now = carry[0]
        going = (now.status == Status.going) & (now.steps < patience)
        return going & ((now.steps == 0) | (now.signs.fired & armed).any()) if unrisen else going

    def step(carry):
        before, largest = carry
        trial = try_step(flat, stepper, control, lane.until, before, watch)
        after = judge_step(trial, before, armed, marks, stepper.order, control, lane.until, capacity)
        return after, larger(largest, trial.watched, after.count > before.count)

    begin = first_carry(lane, flat.vector(lane.state), control)
    begin = dataclasses.replace(begin, seen=nothing_seen(flat, stepper, control, watch))
    if capacity:
        room = jnp.zeros(capacity + 1), jnp.zeros((capacity + 1, begin.y.size))
        begin = dataclasses.replace(begin, times=room[0], vectors=room[1])
    end, largest = jax.lax.while_loop(going_on, step, (begin, lane.largest))
    return accept_flow(lane, flat.state(end.t, end.y), end, flat.guard_numbers()[0], largest), end


def larger(largest, seen, kept):
    """The largest values with those of a step, if it was kept."""
    return jnp.where(kept, jnp.maximum(largest, highest(seen)), largest)


def accept_flow(lanes: Lanes, state: State, end: Carry, owner, largest) -> Lanes:
    ended_by = lanes.ended_by
    if owner.size:
        ended_by = jnp.where(end.status == Status.over, owner[end.over], ended_by)
    return dataclasses.replace(
        lanes, state=state, pace=end.pace, status=end.status, t_next=end.t_next, signs=end.signs,
        ended_by=ended_by, steps=lanes.steps + end.steps, largest=largest,
    )  # fmt: skip


def end_at_limit(lanes: Lanes, max_steps: int) -> Lanes:
    """With the status of a run that has used up its steps."""
    full = (lanes.status == Status.going) & (lanes.steps >= max_steps)
    return dataclasses.replace(lanes, status=jnp.where(full, Status.full, lanes.status))


def flat_of(lane: Lanes, shared, mode: int | None = None) -> FlatSystem:
    """The system of a lane in its state; in a mode that the program knows, nothing of the others is left in it."""
    system, state = eqx.combine(lane.varying, shared), lane.state
    if mode is not None:
        state = dataclasses.replace(state, mode=jnp.asarray(mode, state.mode.dtype))
    return FlatSystem(system, state, mode)


def run_lane(
    lane: Lanes, shared, control: AbstractSteps, stepper, watch, max_events: int, max_steps: int, keeps
) -> tuple[Lanes, Knots]:
    """One lane from event to event, in the part of the program for its group of modes (`AbstractSystem.apart`).

    It goes on until it ends, comes to a mode in which nothing moves, or has no more room for its knots.

    Args:
        lane: The lane.
        shared: What its system has in common with the others.
        control: How long steps are.
        stepper: The method.
        watch: `watch(system, state)`: what to keep the largest values of.
        max_events: Events after which it stops.
        max_steps: Steps after which it does.
        keeps: Whether its knots are wanted, with the state in which it begins. The program is the same without: so
            are the last bits of the run.
    """

    def in_group(group: tuple[int, ...], lane: Lanes) -> tuple[Lanes, SearchResult, tuple[Array, Array, Array]]:
        mode = group[0] if len(group) == 1 else None
        # A record that is never full: a run comes back by its steps.
        flown, taken = _flow(lane, shared, control, stepper, watch, STRETCH, False, mode, STRETCH + 1)
        flown = end_at_limit(flown, max_steps)
        flat = flat_of(flown, shared, mode)
        lane, found = jax.lax.cond(
            flown.status == Status.doubtful,
            lambda: locate_in_lane(flown, flat, control, stepper, watch),
            lambda: (flown, SearchResult.nothing(flat, flown.signs)),
        )
        return lane, found, (taken.times[:STRETCH], taken.vectors[:STRETCH], taken.count)

    modes = range(len(shared.mode_names))
    moves = jnp.asarray([mode in shared.moving_modes for mode in modes])
    places = jnp.asarray([sum(n * (mode in group) for n, group in enumerate(shared.apart)) for mode in modes])
    branches = [functools.partial(in_group, group) for group in shared.apart]

    def on(carry: tuple[Lanes, Knots]) -> tuple[Lanes, Knots]:
        lane, knots = carry
        mode = lane.state.mode
        lane = dataclasses.replace(lane, until=in_pieces(lane.until))
        lane, found, (times, vectors, count) = jax.lax.switch(places[mode], branches, lane)
        knots = knots.with_rows(times, vectors, mode, count).with_state(found.state)
        lane = jax.lax.cond(
            lane.status == Status.doubtful,
            lambda: fire_in_lane(lane, found, shared, control, watch, max_events, True),
            lambda: lane,
        )
        knots = knots.with_state(lane.state)
        return lane, dataclasses.replace(knots, count=jnp.where(keeps, knots.count, 0))

    def goes_on(carry: tuple[Lanes, Knots]) -> Array:
        lane, knots = carry
        return (lane.status == Status.going) & moves[lane.state.mode] & knots.has_room()

    return jax.lax.while_loop(goes_on, on, (lane, Knots.none(lane.state).with_state(lane.state)))


def search_lane(
    lane: Lanes, shared, control: AbstractSteps, stepper, watch, max_events: int, one_by_one: bool
) -> Lanes:
    """The search in a doubtful step, and the jumps that are due."""
    flat = FlatSystem(eqx.combine(lane.varying, shared), lane.state)
    lane, found = locate_in_lane(lane, flat, control, stepper, watch)
    return fire_in_lane(lane, found, shared, control, watch, max_events, one_by_one)


def locate_in_lane(lane: Lanes, flat: FlatSystem, control: AbstractSteps, stepper, watch) -> tuple[Lanes, SearchResult]:
    """What a doubtful step holds; the lane itself stays at its start, but for what is watched.

    Args:
        lane: The lane; one without a doubtful step stays as it is.
        flat: Its system, in its state.
        control: How long steps are.
        stepper: The method.
        watch: `watch(system, state)`: what to keep the largest values of.
    """
    before, doubtful = flat.like, lane.status == Status.doubtful
    t_next = jnp.where(doubtful, lane.t_next, before.t)
    found = search_flat(flat, flat.armed() & doubtful, t_next, lane.signs, stepper, control)
    # A guard that sinks after its own event comes first: the run is still at the start of the step.
    sinks = found.sunk.any()
    finite = jnp.isfinite(flat.vector(found.state)).all()
    here = jax.tree.map(lambda x, y: jnp.where(sinks | ~finite, x, y), before, found.state)
    found = dataclasses.replace(found, state=here, event=found.event & finite)
    largest = larger(lane.largest, _along(FlatSystem(flat.system, before), before, found.state, watch), doubtful)
    status = jnp.where(finite | sinks | ~doubtful, lane.status, Status.not_finite)
    return dataclasses.replace(lane, largest=largest, status=status), found


def fire_in_lane(
    lane: Lanes, found: SearchResult, shared, control: AbstractSteps, watch, max_events: int, one_by_one: bool
) -> Lanes:
    """The lane after the jumps that are due."""
    system = eqx.combine(lane.varying, shared)
    done = fire(system, found, lane.pile_up, lane.largest, functools.partial(watch, system), one_by_one)
    fires, events = done.count > 0, lane.events + done.count
    later = control.after_jump(lane.pace, done.state.t - lane.t_event)
    pace = choose(fires, later, lane.pace)
    status = jnp.where(done.state.t < lane.until, Status.going, Status.reached)
    status = jnp.where((status == Status.going) & (events >= max_events), Status.full, status)
    status = jnp.where(done.ended_by >= 0, Status.event, status)
    status = jnp.where(done.accumulates, Status.accumulation, status)
    status = jnp.where(lane.status == Status.not_finite, Status.not_finite, status)
    return dataclasses.replace(
        lane, state=done.state, pace=pace, status=status, ended_by=done.ended_by, events=events, largest=done.largest,
        t_event=jnp.where(fires, done.state.t, lane.t_event), signs=done.signs, pile_up=done.pile_up,
    )  # fmt: skip


def _along(flat: FlatSystem, first: State, last: State, watch):
    """What is watched, at some looks along a step."""
    h, times = last.t - first.t, jnp.stack([first.t, last.t])
    y0, y1 = ends = jnp.stack([flat.vector(first), flat.vector(last)])
    slope0, slope1 = h * jax.lax.map(lambda end: flat.rate(*end), (times, ends))
    vectors = cubic(y0, slope0, y1, slope1, GLANCES[:, None])
    vectors = jnp.where(jnp.isfinite(vectors), vectors, y1)
    # One after the other: the program holds it once, and not side by side.
    return jax.lax.map(lambda place: flat.look(place[0], place[1], watch).watched, (first.t + GLANCES * h, vectors))
