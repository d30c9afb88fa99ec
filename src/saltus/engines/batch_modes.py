"""Many runs of one system side by side, sorted by mode: each mode has its own program, with no word of the others.

For systems whose rate is long and whose modes have little in common (`AbstractSystem.apart`). Events are located where
they happen: a lane whose step holds one takes that step again and again, shorter each time, while its neighbours go
on. What cannot be told with certainty is left to the engine for single runs (`Status.full`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.batch_lane import Lanes, Watch, put, take
from saltus.engines.fire import jump_or_settle
from saltus.engines.flat import FlatSystem
from saltus.engines.search import cubic
from saltus.engines.signs import SUNK
from saltus.engines.step_control import AdaptiveSteps
from saltus.engines.steppers import ExplicitStepper
from saltus.engines.trial import Status
from saltus.hybrid import State
from saltus.numerics.lanes import side_by_side
from saltus.numerics.peaks import highest
from saltus.numerics.runge_kutta import growth
from saltus.programs import program

if TYPE_CHECKING:
    from saltus.engines.batch import Plan

WIDTH = 8  # lanes of a block
ROOM = 128  # lanes that a program takes at once, whatever the number of runs: it is compiled once
PATIENCE = 64  # steps of a block before its lanes are sorted anew
LEAVE = 4  # a block is left when only this part of its lanes still goes
LOOKS = np.array([0.5, 1.0])  # shares of a step at which guards are looked at, beside its start
TRUST = 0.1  # share of the bend of a guard by which the parabola through three looks may be too high
HIT = 1e-10  # how far below zero a guard may be where its event is taken; ordinary values are of order one
NARROW = 1e-13  # share of a step below which no event is located any more
SEARCH = 60  # steps of a search, at most
SHORTEST = 1e-9  # of a step that is halved because a guard may dip below zero in it [s]
FIRST = 1e-3  # first step of a run [s]
BISECT = 4  # every so many steps of a search the bracket is halved


class Seek(eqx.Module):
    """A search for an event within a step, of each lane; shares of the step."""

    on: Bool[Array, " w"]
    guard: Int[Array, " w"]
    low: Float[Array, " w"]
    high: Float[Array, " w"]
    g_low: Float[Array, " w"]
    g_high: Float[Array, " w"]
    at: Float[Array, " w"]
    side: Int[Array, " w"]
    count: Int[Array, " w"]


class Block(eqx.Module):
    """Lanes on their way, with the lanes as last axis; `seen` is what is watched, `g` the guards, where they are."""

    t: Float[Array, " w"]
    y: Float[Array, "n w"]
    h: Float[Array, " w"]
    status: Int[Array, " w"]
    due: Int[Array, " w"]
    g: Float[Array, "g w"]
    risen: Bool[Array, "g w"]
    seen: Float[Array, "k w"]
    largest: Float[Array, "k w"]
    seek: Seek
    steps: Int[Array, " w"]


class Tried(eqx.Module):
    """A step of each lane: its end, the guards and what is watched at its middle and its end, its error."""

    t: Float[Array, " w"]
    y: Float[Array, "n w"]
    g: Float[Array, "2 g w"]
    seen: Float[Array, "2 k w"]
    error: Float[Array, " w"]


# ---- steps of a block ----------------------------------------------------------------------------------------


def flow_block(lanes: Lanes, shared: Any, plan: tuple, mode: int) -> Lanes:
    """Steps of a block of lanes in one mode, until most of them have an event due; every leaf has the lanes last."""
    stepper, control, watch = plan
    numbers, rest = eqx.partition(shared, eqx.is_array)

    def together(function):
        def one(lane, numbers):
            varying, like, arguments = lane
            like = dataclasses.replace(like, mode=jnp.asarray(mode, like.mode.dtype))
            return function(FlatSystem(eqx.combine(varying, numbers, rest), like), *arguments)

        name = type(shared).__name__
        return lambda *arguments: side_by_side(one, (lanes.varying, lanes.state, arguments), numbers, name)

    first = jax.tree.map(lambda x: x[..., 0], (lanes.varying, lanes.state))
    like = dataclasses.replace(first[1], mode=jnp.asarray(mode, first[1].mode.dtype))
    flat = FlatSystem(eqx.combine(first[0], shared), like)
    armed = flat.armed()[:, None]  # known by the mode alone
    marks = flat.marks()
    border, singular = jnp.asarray(marks.border)[:, None], jnp.asarray(marks.singular)[:, None]
    rate = together(lambda flat, t, y: flat.rate(t, y))
    project = together(lambda flat, t, y: flat.project(t, y))

    def look(flat, t, y):
        return flat.guards(t, y), jnp.nan_to_num(watch(flat.system, flat.state(t, y)))

    def glance(places):
        return jax.lax.map(lambda place: together(look)(*place), places)

    def try_step(now: Block) -> Tried:
        h = jnp.where(now.seek.on, now.seek.at, 1.0) * jnp.minimum(now.h, lanes.until - now.t)
        step = stepper(rate, now.t, now.y, h)
        y = jax.lax.optimization_barrier(project(now.t + h, step.y))
        share = jnp.asarray(LOOKS)[:, None, None]
        between = jnp.where(share < 1.0, cubic(now.y, h * step.rate_before, y, h * step.rate_after, share), y)
        g, seen = glance((now.t + LOOKS[:, None] * h, jax.lax.optimization_barrier(between)))
        return Tried(now.t + h, y, g, seen, _error(control, step, now.y, y))

    def going_on(value):
        now, count = value
        return ((now.status == Status.going).sum() > crowd // LEAVE) & (count < PATIENCE)

    def advance(value):
        now, count = value
        after = judged(now, try_step(now), (armed, border, singular), lanes.until, stepper.order)
        after = jax.tree.map(lambda new, old: jnp.where(now.status == Status.going, new, old), after, now)
        return after, count + 1

    y = together(lambda flat, t: flat.vector(flat.like))(lanes.state.t)
    (g,), (seen,) = glance((lanes.state.t[None], y[None]))
    begin = _begin(lanes, y, g, seen, armed, border)
    crowd = (begin.status == Status.going).sum()
    end, _ = jax.lax.while_loop(going_on, advance, (begin, jnp.asarray(0)))
    return _end(lanes, end, together(lambda flat, t, y: flat.state(t, y))(end.t, end.y))


def _end(lanes: Lanes, end: Block, state: State) -> Lanes:
    """The lanes after the steps of a block."""
    signs = dataclasses.replace(lanes.signs, last=end.g, fired=~end.risen)
    return dataclasses.replace(
        lanes, state=dataclasses.replace(state, mode=lanes.state.mode), h=end.h, status=end.status, due=end.due,
        signs=signs, largest=end.largest, steps=lanes.steps + end.steps,
    )  # fmt: skip


def _error(control: AdaptiveSteps, step: Any, before: Array, after: Array) -> Array:
    """The error of a step over the one allowed, of each lane; infinite where the step has left all numbers."""
    scale = control.atol + control.rtol * jnp.maximum(jnp.abs(before), jnp.abs(after))
    finite = jnp.isfinite(after).all(axis=0) & jnp.isfinite(step.rate_after).all(axis=0)
    return jnp.where(finite, jnp.sqrt(jnp.mean((step.error / scale) ** 2, axis=0)), jnp.inf)


def _begin(lanes: Lanes, y: Array, g: Array, seen: Array, armed: Array, border: Array) -> Block:
    zero, whole = jnp.zeros_like(lanes.state.t), jnp.zeros_like(lanes.status)
    over = armed & border & (g <= 0.0)
    going = lanes.status == Status.going
    seek = Seek(going & False, whole, zero, zero + 1.0, zero, zero, zero + 1.0, whole, whole)
    return Block(
        t=lanes.state.t, y=y, h=jnp.where(lanes.h > 0.0, lanes.h, FIRST),
        status=jnp.where(going & over.any(axis=0), Status.event, lanes.status),
        due=jnp.where(over.any(axis=0), jnp.argmax(over, axis=0), -1).astype(whole.dtype),
        g=g, risen=armed & (g > 0.0), seen=seen, largest=jnp.maximum(lanes.largest, seen), seek=seek, steps=whole,
    )  # fmt: skip


def judged(now: Block, tried: Tried, marks: tuple[Array, Array, Array], until: Array, order: int) -> Block:
    """The lanes after a step: taken, refused, or on the way to an event in it."""
    armed, border, singular = marks
    middle, end = tried.g
    good = tried.error <= 1.0
    watched = now.risen & armed
    falls = watched & (end <= 0.0)
    # What falls and has risen again, or has risen and fallen, shows in a shorter step; and what may have dipped.
    hides = (watched & (middle <= 0.0) & (end > 0.0)) | (armed & ~now.risen & (middle > 0.0) & (end <= 0.0))
    hides = (hides | (watched & _dips(now.g, middle, end))).any(axis=0) & (now.h > SHORTEST)
    # What has not risen and sinks has fallen unseen: a stop that can be told from rest no more fires at once.
    sinking = armed & ~now.risen & ~border & (middle <= 0.0) & (end < -SUNK) & (end < now.g)
    stops = (sinking & singular).any(axis=0) & ~now.seek.on
    sinks = (sinking & ~singular).any(axis=0)
    seeks, plain = now.seek.on, ~now.seek.on
    stops = stops & good
    begins = plain & good & ~hides & ~stops & falls.any(axis=0)
    taken = plain & good & ~hides & ~begins & ~stops
    found = seeks & _is_hit(now, tried, watched)
    moves = taken | found
    seek = _sought(now, tried, watched, begins)
    factor = jnp.clip(growth(jnp.maximum(tried.error, 1e-30), order), 0.2, jnp.where(good, 5.0, 0.9))
    factor = jnp.where(good & hides, 0.5, factor)
    h = jnp.where(plain & ~begins, jnp.minimum(now.h, until - now.t) * factor, now.h)
    h = jnp.where(plain & (tried.t >= until) & good, jnp.maximum(h, now.h), h)
    status = jnp.where(taken & (tried.t >= until), Status.reached, now.status)
    status = jnp.where(found | stops, Status.event, status)
    due = jnp.where(stops, jnp.argmax(sinking & singular, axis=0), jnp.where(found, seek.guard, now.due))
    lost = (taken & sinks) | (seek.count >= SEARCH) | (plain & ~(h > 1e-15 * jnp.maximum(now.t, 1.0)))
    status = jnp.where(lost, Status.full, status)
    highest_seen = highest(jnp.concatenate([now.seen[None], tried.seen]))
    return Block(
        t=jnp.where(moves, tried.t, now.t), y=jnp.where(moves, tried.y, now.y), h=h, status=status,
        due=due.astype(now.due.dtype), g=jnp.where(moves, end, now.g),
        risen=jnp.where(moves, armed & (now.risen | (middle > 0.0) | (end > 0.0)), now.risen),
        seen=jnp.where(moves, tried.seen[1], now.seen),
        largest=jnp.where(moves, jnp.maximum(now.largest, highest_seen), now.largest), seek=seek, steps=now.steps + 1,
    )  # fmt: skip


def _dips(start: Array, middle: Array, end: Array) -> Array:
    """Whether the parabola through three looks falls below zero between them, or nearly."""
    bend, tilt = start - 2.0 * middle + end, end - start
    inside = (bend > 0.0) & (jnp.abs(tilt) < 2.0 * bend)
    lowest = middle - tilt**2 / (8.0 * jnp.where(inside, bend, 1.0)) - TRUST * bend
    return inside & (lowest <= 0.0) & (middle > 0.0) & (end > 0.0)


def _is_hit(now: Block, tried: Tried, watched: Array) -> Array:
    """Whether the end of the last step of a search is the event: its guard just below zero, no other one below."""
    end, seek = tried.g[1], now.seek
    own = _of(end, seek.guard)
    narrow = seek.high - seek.low < NARROW
    others = (watched & (end < -HIT)).any(axis=0)
    return ((own <= 0.0) & (own >= -HIT) & ~others) | ((own <= 0.0) & narrow)


def _of(values: Array, guard: Array) -> Array:
    """The value of one guard of each lane."""
    return jnp.sum(jnp.where(jnp.arange(values.shape[0])[:, None] == guard, values, 0.0), axis=0)


def _sought(now: Block, tried: Tried, watched: Array, begins: Array) -> Seek:
    """The search after one more look; or at its beginning, for the guard that seems to fall first."""
    seek, (middle, end) = now.seek, tried.g
    # The guard that is farthest below zero at the upper end, for what it falls, seems to be the first.
    fallen = watched & (end <= 0.0)
    early = jnp.where(fallen, now.g / jnp.maximum(now.g - end, 1e-300), jnp.inf)
    leads = jnp.argmin(early, axis=0).astype(seek.guard.dtype)
    below = fallen.any(axis=0)
    changes = seek.on & below & (_of(end, seek.guard) > 0.0)
    guard = jnp.where(begins | changes, leads, seek.guard)
    here, at = _of(end, guard), jnp.where(begins, 1.0, seek.at)
    start = _of(now.g, guard)
    low, g_low = jnp.where(begins, 0.0, seek.low), jnp.where(begins | changes, start, seek.g_low)
    low = jnp.where(changes, 0.0, low)
    up = ~begins & ~(here <= 0.0)
    # Where the same end moves twice, the weight of the other is lowered (Illinois), so that it moves as well.
    side = jnp.where(begins | changes, 0, jnp.where(up, 1, -1)).astype(seek.side.dtype)
    again = (side == seek.side) & ~begins
    low, g_low = jnp.where(up, at, low), jnp.where(up, here, jnp.where(again, 0.5 * g_low, g_low))
    high = jnp.where(up, seek.high, at)
    g_high = jnp.where(up, jnp.where(again, 0.5 * seek.g_high, seek.g_high), here)
    count = jnp.where(begins, 0, seek.count + seek.on)
    aim = 0.5 * HIT
    place = low + (high - low) * (g_low + aim) / jnp.maximum(g_low - g_high, 1e-300)
    at_half = _parabola_root(start, _of(middle, guard), here)
    place = jnp.where(begins, at_half, place)
    inside = (place > low) & (place < high) & ((count % BISECT) != BISECT - 1)
    place = jnp.where(inside, place, 0.5 * (low + high))
    return Seek(seek.on | begins, guard, low, high, g_low, g_high, place, side, count)


def _parabola_root(start: Array, middle: Array, end: Array) -> Array:
    """Share of a step at which the parabola through three looks falls to zero, from `start` > 0 to `end` <= 0."""
    a, b = 2.0 * (start - 2.0 * middle + end), -3.0 * start + 4.0 * middle - end
    root = jnp.sqrt(jnp.maximum(b * b - 4.0 * a * start, 0.0))
    return 2.0 * start / jnp.where(root - b > 0.0, root - b, 1.0)


# ---- jumps ---------------------------------------------------------------------------------------------------


def fire_lane(lane: Lanes, shared: Any, control: AdaptiveSteps, watch: Watch, max_events: int) -> Lanes:
    """The jump that is due in a lane."""
    system = eqx.combine(lane.varying, shared)
    flat = FlatSystem(system, lane.state)
    owners, elements = flat.guard_numbers()
    which = jnp.maximum(lane.due, 0)
    owner, index = owners[which], elements[which]
    ends = jnp.asarray([guard.ends is not None for guard in system.guards()])[owner]
    pile_up, limit = lane.pile_up.with_event(which, lane.state.t)
    after = jump_or_settle(system, lane.state, owner, index, limit, True)
    events = lane.events + 1
    h = control.after_jump(lane.h, after.t - lane.t_event)
    status = jnp.where(events >= max_events, Status.full, Status.going)
    status = jnp.where(after.t >= lane.until, Status.reached, status)
    return dataclasses.replace(
        lane, state=after, h=h, events=events, t_event=after.t, pile_up=pile_up, due=jnp.asarray(-1, lane.due.dtype),
        status=jnp.where(ends, Status.event, status).astype(lane.status.dtype),
        ended_by=jnp.where(ends, owner, lane.ended_by),
        largest=jnp.maximum(lane.largest, jnp.nan_to_num(watch(system, after))),
    )  # fmt: skip


# ---- the loop ------------------------------------------------------------------------------------------------


def run_by_mode(lanes: Lanes, shared: Any, plan: Plan, progress: Callable[[int], None] | None) -> Lanes:
    """Let lanes go to their ends; as `batch.run`, whose lanes they are."""
    modes = shared.apart
    jumps = _jumps(plan.watch, plan.max_events)
    while (lanes.status == Status.going).any():
        before = int((lanes.status == Status.going).sum())
        for mode in np.unique(lanes.state.mode[lanes.status == Status.going]):
            if int(mode) not in modes:  # nothing moves there
                still = (lanes.status == Status.going) & (lanes.state.mode == mode)
                lanes.status[still], lanes.state.t[still] = Status.reached, lanes.until[still]
                continue
            going = np.flatnonzero((lanes.status == Status.going) & (lanes.state.mode == mode))
            _move(_flow(plan.stepper, plan.watch, int(mode)), lanes, going, shared, plan)
            _move(jumps, lanes, np.flatnonzero((lanes.status == Status.event) & (lanes.due >= 0)), shared, plan)
        full = (lanes.status == Status.going) & (lanes.steps >= plan.max_steps)
        lanes.status[full] = Status.full
        if progress is not None:
            progress(before - int((lanes.status == Status.going).sum()))
    return lanes


def _move(part: Callable[..., Lanes], lanes: Lanes, rows: np.ndarray, shared: Any, plan: Plan) -> None:
    """Give some lanes to a program, as many at a time as it takes."""
    for some in np.split(rows, range(ROOM, rows.size, ROOM)):
        if some.size:
            taken = take(lanes, np.concatenate([some, np.repeat(some[:1], ROOM - some.size)]), some.size)
            put(lanes, some, part(taken, shared, plan.control, np.asarray(some.size)))


def _some(function: Callable, lanes: Lanes, used: Array, size: int) -> Lanes:
    """The function on each block of `size` lanes up to the first `used` of them; the others stay."""
    count = -(-used // size)

    def one(i, lanes):
        block = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, i * size, size), lanes)
        moved = function(block)
        return jax.tree.map(
            lambda x, y: jax.lax.dynamic_update_slice_in_dim(x, y.astype(x.dtype), i * size, 0), lanes, moved
        )

    return jax.lax.fori_loop(0, count, one, lanes)


@functools.lru_cache(maxsize=64)
def _flow(stepper: ExplicitStepper, watch: Watch, mode: int) -> Callable[..., Lanes]:
    def flow(lanes, shared, control, used):
        def block(some):
            last = jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), some)
            moved = flow_block(last, shared, (stepper, control, watch), mode)
            return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), moved)

        return dataclasses.replace(_some(block, lanes, used, WIDTH), varying=None)

    return _with_systems(program(flow))


@functools.lru_cache(maxsize=64)
def _jumps(watch: Watch, max_events: int) -> Callable[..., Lanes]:
    def fire(lanes, shared, control, used):
        def one(some):
            lane = jax.tree.map(lambda x: x[0], some)
            moved = fire_lane(lane, shared, control, watch, max_events)
            return jax.tree.map(lambda x: x[None], moved)

        return dataclasses.replace(_some(one, lanes, used, 1), varying=None)

    return _with_systems(program(fire))


def _with_systems(kept: Callable[..., Lanes]) -> Callable[..., Lanes]:
    """The program with the systems of the lanes, which do not come out of it (see `batch`)."""

    def whole(lanes, *more):
        return dataclasses.replace(kept(lanes, *more), varying=lanes.varying)

    return whole
