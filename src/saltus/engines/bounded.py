"""A run with a bounded number of steps and events: one program, to be compiled, mapped over and differentiated.

First the engine's own pieces find the steps and the events, without derivatives. Then the steps are taken again
along the times that were found, and through the events with the derivative of their times, as `replay` does: by loops
of fixed length, so that derivatives can be taken forwards and backwards.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.advance import judge_step, search, try_step
from saltus.engines.choice import Options, parts_for
from saltus.engines.fire import GuardCourse, Turn, apply_jump, apply_rule, courses, still_due
from saltus.engines.flat import FlatSystem
from saltus.engines.last_stretch import SHORTEST, damp, is_last
from saltus.engines.replay import at_zero
from saltus.engines.signs import Signs
from saltus.engines.step_control import AbstractSteps, Stepper
from saltus.engines.trial import Carry, Pace, Status
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.state import same_types
from saltus.hybrid.system import jump_of
from saltus.numerics.trees import choose


class BoundedRun(eqx.Module):
    """What `simulate_bounded` gives; rows after the last event are empty.

    Args:
        end: The last state.
        event_times: Times of the events [s]; infinite where there was none.
        event_guards: Number of the guard in `system.guards()`; -1 where there was none.
        event_indices: Which of the things that the guard watches.
        after: The states after the events, stacked; the last state where there was none.
        n_events: How many events there were.
        n_steps: How many steps were tried.
        ended_by: Number of the guard that ended the run, or -1.
        complete: Whether the run reached `until`, or was ended by a guard, within its bounds.
    """

    end: State
    event_times: Float[Array, " e"]
    event_guards: Int[Array, " e"]
    event_indices: Int[Array, " e"]
    after: State
    n_events: Int[Array, ""]
    n_steps: Int[Array, ""]
    ended_by: Int[Array, ""]
    complete: Bool[Array, ""]


class _Record(eqx.Module):
    """Steps and events as they are found: each slot is a step to a time, then perhaps the event of a guard there."""

    state: State
    pace: Pace
    t_event: Array
    due: Array
    signs: Signs
    status: Array
    ended_by: Array
    times: Float[Array, " s"]
    guards: Int[Array, " s"]
    slots: Array
    tried: Array
    events: Array


def simulate_bounded(
    system: AbstractSystem,
    start: State,
    until: float | Array,
    *,
    max_events: int,
    max_steps: int = 256,
    method: str | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    step: float | None = None,
) -> BoundedRun:
    """Let a system move to `until`, with at most so many events and steps, inside `jit`, `vmap` and `grad`.

    The steps and events are those of `simulate`. Where a bound is met the run stays there, and `complete` is false:
    look at it. Events that pile up are not told from others; they meet the bound. Time and memory grow with the
    bounds, not with what happens: keep them as small as the problem allows. Derivatives are those of the steps taken,
    through the events with their times; backwards only for jumps without loops of unknown length.

    Args:
        system: What moves; its numbers may be traced.
        start: Its state at the beginning; may be traced.
        until: Time of the end [s]; may be traced.
        max_events: Events after which the run stays where it is.
        max_steps: Steps and events together after which it stays where it is.
        method: As in `simulate`.
        rtol: Error allowed per step, relative.
        atol: Error allowed per step, absolute.
        step: Constant step [s], for a method without an error estimate.
    """
    _check_bounds(max_events, max_steps)
    start = same_types(start, start)
    system, rule, control = parts_for(system, Options(method, rtol, atol, step), jax.lax.stop_gradient(start.t))
    numbers, rest = eqx.partition((system, start, jnp.asarray(until, float)), eqx.is_inexact_array)
    fixed, begin, end_time = eqx.combine(jax.lax.stop_gradient(numbers), rest)
    found = _find(fixed, begin, end_time, rule, control, max_events, max_steps)
    end, slots = _take(system, start, jnp.asarray(until, float), found, rule, control)
    return _gather(system, start, end, slots, found, max_events)


def _check_bounds(max_events: int, max_steps: int) -> None:
    for name, value in (("max_events", max_events), ("max_steps", max_steps)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"`{name}` must be a whole number > 0, known before the program is compiled, got {value}.")


# ---- the steps and events, without derivatives ----------------------------------------------------


def _find(
    system, start: State, until, rule: Stepper, control: AbstractSteps, max_events: int, max_steps: int
) -> _Record:
    """Steps and events up to the end or a bound."""
    none = jnp.zeros(FlatSystem(system, start).armed().size, bool)
    begin = _Record(
        state=start, pace=Pace.unknown(jnp.zeros(())), t_event=start.t, due=none, signs=Signs.none(none.size),
        status=jnp.where(start.t < until, Status.going, Status.reached), ended_by=jnp.asarray(-1),
        times=jnp.full(max_steps, jnp.inf), guards=jnp.full(max_steps, -1), slots=jnp.asarray(0),
        tried=jnp.asarray(0), events=jnp.asarray(0),
    )  # fmt: skip

    def going_on(found: _Record):
        inside = (found.slots < max_steps) & (found.tried < 4 * max_steps)
        return (found.status == Status.going) & inside

    def one_more(found: _Record) -> _Record:
        # A further jump at the same instant is an event without a step before it.
        moved = _try_step(system, found, until, rule, control)
        if not none.size:
            return moved
        moved = jax.lax.cond(found.due.any(), lambda: found, lambda: moved)
        return jax.lax.cond(moved.due.any(), lambda: _fire(system, moved, until, control, max_events), lambda: moved)

    return jax.lax.while_loop(going_on, one_more, begin)


def _try_step(system, found: _Record, until, rule: Stepper, control: AbstractSteps) -> _Record:
    """One step tried: kept, rejected, or searched for an event."""
    state = found.state
    flat = FlatSystem(system, state)
    armed, marks = flat.armed(), flat.marks()
    zero = jnp.asarray(0)
    carry = Carry(
        t=state.t, y=flat.vector(state), pace=control.begin(found.pace),
        status=jnp.asarray(Status.going), t_next=state.t, over=zero, signs=found.signs, times=jnp.zeros(1),
        vectors=jnp.zeros((1, 1)), count=zero, steps=zero,
    )  # fmt: skip
    went = judge_step(try_step(flat, rule, control, until, carry), carry, armed, marks, rule.order, control, until, 0)
    kept, now, due = went.count > 0, flat.state(went.t, went.y), found.due
    pace, signs, status, ended_by = went.pace, went.signs, went.status, found.ended_by
    if armed.size:
        owner = flat.guard_numbers()[0]
        doubtful = status == Status.doubtful

        def look():
            seen = search(system, state, went.t_next, went.signs, rule, control)
            due = seen.due & seen.event
            seems = due & seen.unsure & (GuardCourse.of(system, seen.state).slopes > 0.0)  # falls by rounding alone
            signs = Signs(jnp.where(seems, 0.0, seen.signs.last), seen.signs.fired | seems)
            return seen.state, due & ~seems, signs, seen.sunk.any()

        now, due, signs, sinks = jax.lax.cond(
            doubtful, look, lambda: (now, jnp.zeros_like(due), went.signs, jnp.asarray(False))
        )
        status = jnp.where(doubtful, jnp.where((now.t >= until) & ~due.any(), Status.reached, Status.going), status)
        # A guard that has fired and sinks without having been positive piles up: what follows is not known here, and
        # the run stays at the start of the step, which would pass it.
        kept = kept | (doubtful & ~sinks)
        status = jnp.where(sinks, Status.stalled, status)
        ended_by = jnp.where(status == Status.over, owner[went.over], ended_by)
    state = choose(kept, now, state)
    times = found.times.at[found.slots].set(jnp.where(kept, state.t, jnp.inf))
    return _Record(
        state, pace, found.t_event, due, signs, status, ended_by, times, found.guards, found.slots + kept,
        found.tried + 1, found.events,
    )  # fmt: skip


def _fire(system, found: _Record, until, control: AbstractSteps, max_events: int) -> _Record:
    """The first guard that is due jumps; it is written into the slot of the step that led to it, or its own."""
    flat = FlatSystem(system, found.state)
    owner, element = flat.guard_numbers()
    which = jnp.argmax(found.due)
    jumps = [jump_of(system, guard) for guard in system.guards()]
    after = apply_rule(jumps, owner[which], found.state, element[which])
    ends = jnp.asarray([guard.ends is not None for guard in system.guards()])[owner[which]]
    last = jnp.maximum(found.slots - 1, 0)
    taken_already = (found.slots == 0) | (found.guards[last] >= 0)
    slot = jnp.where(taken_already, found.slots, last)
    about = courses(system, found.state, after)
    due = still_due(system, after, found.due.at[which].set(False), about[1]) & ~ends
    stays = ~Turn.of(found.state, after, about, which).passes
    signs = Signs(found.signs.last.at[which].set(0.0), found.signs.fired.at[which].set(stays))
    signs = signs.after_moment(after.t > found.state.t, flat.armed())
    events = found.events + 1
    status = jnp.where(after.t < until, Status.going, Status.reached)
    status = jnp.where((events >= max_events) & (status == Status.going), Status.full, status)
    pace = jax.tree.map(jnp.asarray, control.after_jump(found.pace, after.t - found.t_event))
    return _Record(
        after, pace, after.t, due, signs, jnp.where(ends, Status.event, jnp.where(due.any() & (events < max_events),
                                                                              Status.going, status)),
        jnp.where(ends, owner[which], found.ended_by), found.times.at[slot].set(found.state.t),
        found.guards.at[slot].set(which), slot + 1, found.tried, events,
    )  # fmt: skip


# ---- the same steps and events, differentiable -----------------------------------------------------


def _take(system, start: State, until, found: _Record, rule: Stepper, control: AbstractSteps):
    """The last state, and for each slot the time of its event and the state after it."""
    n_guards = found.due.size
    owner, element = FlatSystem(system, start).guard_numbers()
    singular = FlatSystem(system, start).marks().singular

    def through(state: State, which):
        def event(number):
            def one(state, index):
                there = at_zero(system, state, number, index)
                return apply_jump(system, there, number, index), there.t

            return one

        numbers = range(len(system.guards()))
        return jax.lax.switch(owner[which], [event(number) for number in numbers], state, element[which])

    def slot(carry, found):
        (state, begin), (t_new, which, last) = carry, found
        flat = FlatSystem(system, state)
        t, y = state.t, flat.vector(state)
        # A slot that is not used, or has no length, must not be stepped over: its derivative would be undefined.
        moves = (t_new > t) & jnp.isfinite(t_new)
        t_safe = jnp.where(moves, t_new, t + 1.0)
        begin = choose(last.goes_on, begin, (t, y))

        def step():
            end = control.take(flat, rule, t, y, t_safe - t)[0]
            if not singular.any():
                return end
            return jax.lax.cond(last.is_near, lambda: damp(flat, *begin, t_safe, end, last.way_end), lambda: end)

        y_new, _ = jax.lax.cond(moves, lambda: (step(), 0), lambda: (y, 0))
        state = flat.state(jnp.where(moves, t_new, t), y_new)
        if not n_guards:
            return (state, begin), (state.t, state)
        state, t = jax.lax.cond(which >= 0, lambda: through(state, jnp.maximum(which, 0)), lambda: (state, state.t))
        return (state, begin), (t, state)

    # The step that reaches the end ends there also for its derivative.
    times = jnp.where(found.times == jax.lax.stop_gradient(until), until, found.times)
    last = _Last.of(found, jax.lax.stop_gradient(start.t), singular)
    begin = start, (start.t, FlatSystem(system, start).vector(start))
    (end, _), slots = jax.lax.scan(slot, begin, (times, found.guards, last))
    return end, slots


class _Last(eqx.Module):
    """Which steps begin in the last stretch before a singular event.

    Args:
        is_near: Whether a step does.
        goes_on: Whether it is not the first of those at the very end, whose derivative goes from where that begins.
        way_end: When the way ends along which its derivative goes [s].
    """

    is_near: Bool[Array, " s"]
    goes_on: Bool[Array, " s"]
    way_end: Float[Array, " s"]

    @staticmethod
    def of(found: _Record, begin: Array, singular: np.ndarray) -> _Last:
        count, fires = found.times.size, found.guards >= 0
        if not singular.any():
            return _Last(jnp.zeros(count, bool), jnp.zeros(count, bool), found.times)
        coming = jax.lax.cummin(jnp.where(fires, jnp.arange(count), count), reverse=True)
        event = jnp.minimum(coming, count - 1)
        before, previous = (
            jnp.concatenate([begin[None], times[:-1]]) for times in (found.times, jnp.where(fires, found.times, begin))
        )
        about = before, jax.lax.cummax(previous), found.times[event]
        comes = (coming < count) & jnp.asarray(singular)[found.guards[event]]
        nearest = comes & is_last(*about, SHORTEST)
        goes_on = nearest & jnp.concatenate([jnp.zeros(1, bool), nearest[:-1]])
        return _Last(comes & is_last(*about), goes_on, jnp.where(nearest, found.times[event], found.times))


def _gather(system, start: State, end: State, slots, found: _Record, max_events: int) -> BoundedRun:
    """The events out of the slots."""
    rows = jnp.flatnonzero(found.guards >= 0, size=max_events, fill_value=found.times.size)
    there = rows < found.times.size
    safe = jnp.minimum(rows, found.times.size - 1)
    owner, element = FlatSystem(system, start).guard_numbers()
    which = jnp.where(there, found.guards[safe], 0)
    none = jnp.full(max_events, -1)
    times, states = slots
    after = jax.tree.map(lambda x, last: jnp.where(there.reshape(-1, *[1] * (x.ndim - 1)), x[safe], last), states, end)
    good = (found.status == Status.reached) | (found.status == Status.event) | (found.status == Status.over)
    return BoundedRun(
        end=end,
        event_times=jnp.where(there, times[safe], jnp.inf),
        event_guards=jnp.where(there, owner[which], -1) if owner.size else none,
        event_indices=jnp.where(there, element[which], -1) if owner.size else none,
        after=after,
        n_events=found.events,
        n_steps=found.tried,
        ended_by=found.ended_by,
        complete=good,
    )
