"""Advance to the next event: the compiled loop behind every engine.

`flow` takes steps until the time asked for, or until a step in which a guard may fall through
zero. `search` looks into such a step. A single run (`loop`) calls the two from Python, so that the
search is compiled only if there is something to search; many runs at once (`batch`) do so for all of them.
"""

from __future__ import annotations

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.flat import FlatSystem, Look, Marks, Watch
from saltus.engines.guard_test import GLANCES, may_fall, plain
from saltus.engines.search import earliest_event
from saltus.engines.signs import Signs
from saltus.engines.step_control import EPS, AbstractSteps, Stepper
from saltus.engines.steppers import Flat, Scalar, Step
from saltus.engines.trial import Carry, Pace, Status, Trial
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.record import Record
from saltus.numerics.runge_kutta import Seen, cubic
from saltus.numerics.trees import choose

END = np.ones(1)  # of a step, as the only fraction at which it is looked at
FEW_NUMBERS = 24  # of a state, up to which looks at it are taken one by one
CUT = 0.25  # share that is left of a step in which a guard winds about zero
REGROW = 2.0  # by how much a step that was cut may grow back
MOST_CUTS = 3  # shorter steps that are tried before such a step is left to the search, which looks everywhere


class Flow(Record):
    """How far a smooth flow went.

    Args:
        state: Where it ended.
        pace: How long steps are now.
        status: Why it ended (`Status`).
        t_next: End of the doubtful step, if there is one [s].
        over: Flat index of the guard whose border the start is beyond, if the status says so.
        signs: What is known of the guards there.
        armed: Which of them were watched.
        times: Times of the recorded steps; `count` of them are valid.
        vectors: The flowing parts there.
        count: How many steps are recorded.
        steps: Steps tried.
    """

    state: State
    pace: Pace
    status: Int[Array, ""]
    t_next: Scalar
    over: Int[Array, ""]
    signs: Signs
    armed: Bool[Array, " g"]
    times: Float[Array, " m"]
    vectors: Float[Array, "m n"]
    count: Int[Array, ""]
    steps: Int[Array, ""]


class SearchResult(eqx.Module):
    """What a doubtful step holds.

    Args:
        state: The state at the event, or at the end of the step.
        event: Whether there is an event.
        guard: Flat index of the guard that fires.
        due: Guards that fall through zero at the same instant, with the one that fires.
        unsure: Guards that were not clearly positive before the event, such as one that a jump has just armed where it
            is zero, or one that hops by less than can be told: their fall may be rounding.
        sunk: Guards that sink after their own event without having been positive (`Signs`).
        signs: What is known of the guards there, before anything jumps.
        owner: For each flat index, which of the system's guards it belongs to.
        element: For each flat index, which element of that guard it is.
    """

    state: State
    event: Bool[Array, ""]
    guard: Int[Array, ""]
    due: Bool[Array, " g"]
    unsure: Bool[Array, " g"]
    sunk: Bool[Array, " g"]
    signs: Signs
    owner: Int[Array, " g"]
    element: Int[Array, " g"]

    @staticmethod
    def nothing(flat: FlatSystem, signs: Signs) -> SearchResult:
        """No step was looked into."""
        none = jnp.zeros(signs.fired.shape, bool)
        return SearchResult(
            flat.like, jnp.asarray(False), jnp.argmax(none), none, none, none, signs, *flat.guard_numbers()
        )


def flow(
    system: AbstractSystem,
    state: State,
    pace: Pace,
    until: Scalar,
    signs: Signs,
    stepper: Stepper,
    control: AbstractSteps,
    capacity: int,
) -> Flow:
    """Flow from `state` to `until`, to a doubtful step, or until `capacity` steps are recorded.

    A capacity of 0 records nothing and never comes back for a full record. A pace that is not known
    is replaced by a guess. `signs` is what is known of the guards from the flow before.
    """
    flat = FlatSystem(system, state)
    armed, marks = flat.armed(), flat.marks()
    y = flat.vector(state)
    start = Carry(
        t=state.t,
        y=y,
        pace=control.begin(pace),
        status=jnp.where(state.t >= until, Status.reached, Status.going),
        t_next=state.t,
        over=jnp.asarray(0),
        signs=signs,
        times=jnp.zeros(capacity + 1),
        vectors=jnp.zeros((capacity + 1, y.size)),
        count=jnp.asarray(0),
        steps=jnp.asarray(0),
        seen=nothing_seen(flat, stepper, control),
    )
    end = jax.lax.while_loop(
        lambda carry: carry.status == Status.going,
        lambda carry: judge_step(
            try_step(flat, stepper, control, until, carry), carry, armed, marks, stepper.order, control, until, capacity
        ),
        start,
    )
    return Flow(
        flat.state(end.t, end.y), end.pace, end.status, end.t_next, end.over, end.signs, armed,
        end.times, end.vectors, end.count, end.steps,
    )  # fmt: skip


def beyond_border(armed: Array, borders: np.ndarray, g: Array) -> tuple[Bool[Array, ""], Int[Array, ""]]:
    """Whether a border of the system is crossed here, and the flat index of its guard."""
    if not borders.any():
        return jnp.asarray(False), jnp.asarray(0)
    over = armed & borders & (g <= 0.0)
    return over.any(), jnp.argmax(over)


def nothing_seen(flat: FlatSystem, stepper: Stepper, control: AbstractSteps, watch: Watch | None = None) -> Seen | None:
    """What is known of the place where a flow begins; None where steps have no use for it."""
    if not control.at_once(stepper, flat):
        return None
    like = flat.like
    look = jax.eval_shape(lambda: flat.look(like.t, flat.vector(like), watch))
    return Seen(jnp.asarray(False), *jax.tree.map(jnp.zeros_like, (flat.vector(like), look)))


def try_step(
    flat: FlatSystem, stepper: Stepper, control: AbstractSteps, until: Scalar, carry: Carry, watch: Watch | None = None
) -> Trial:
    """One step and the looks along it."""
    t_new = control.target(carry.t, control.bound(carry.pace.h, flat.look_interval(carry.t, carry.y)), until)
    h = t_new - carry.t

    def worth(step: Step, end: Flat) -> Bool[Array, ""]:
        return control.worth_looking(carry.y, step, end)

    if control.at_once(stepper, flat):
        at_once = functools.partial(flat.at_once, watch=watch)
        visits = stepper.with_looks(at_once, carry.t, carry.y, h, GLANCES, worth, seen=carry.seen)
        return Trial(t_new, visits.end, visits.step, visits.looked, *visits.looks, visits=visits)
    y_new, step = control.take(flat, stepper, carry.t, carry.y, h)
    times = carry.t + GLANCES * h
    vectors = cubic(carry.y, h * step.rate_before, y_new, h * step.rate_after, jnp.asarray(GLANCES)[:, None])

    def look() -> Look:
        if carry.y.size > FEW_NUMBERS:
            return jax.vmap(lambda t, y: flat.look(t, y, watch))(times, vectors)
        # One by one is less to compile, and no slower.
        return jax.lax.map(lambda place: flat.look(place[0], place[1], watch), (times, vectors))

    if not flat.sees:  # looks are short, and a question costs more
        return Trial(t_new, y_new, step, jnp.asarray(True), *look())
    nothing = jax.tree.map(jnp.zeros_like, jax.eval_shape(look))
    needed = worth(step, y_new)
    return Trial(t_new, y_new, step, needed, *jax.lax.cond(needed, look, lambda: nothing))


def judge_step(
    trial: Trial, carry: Carry, armed, marks: Marks, order: int, control: AbstractSteps, until, capacity: int
) -> Carry:
    """The step kept, rejected, or left for the search."""
    finite = jnp.isfinite(trial.y).all() & jnp.isfinite(trial.step.rate_after).all()
    keep, pace, status = control.judge(trial, carry, finite, armed, marks, order, until)
    keep = keep & trial.looked  # asked twice, the question of the error may have two answers by rounding
    over, signs = carry.over, carry.signs
    if armed.size:
        g = jnp.concatenate([signs.at_start(trial.guards[:1]), trial.guards[1:]])
        sinks = signs.sunk(g[0], g[-1], (g > 0.0).any(axis=0))
        doubt = keep & (may_fall(g, armed) | (armed & sinks)).any()
        beyond, over = beyond_border(armed, marks.border, trial.guards[0])
        beyond = beyond & trial.looked
        cut = jnp.asarray(False)
        if marks.winding.any() and not control.constant:
            winds = (may_fall(g, armed & marks.winding) & ~plain(g)).any()
            cut = doubt & winds & (signs.cuts < MOST_CUTS)
            doubt, keep = doubt & ~cut, keep & ~cut
            h = trial.t - carry.t
            # What was cut does not grow back at once: it would be cut again, and every other step be tried in vain.
            pace = Pace(jnp.where(signs.cuts > 0, jnp.minimum(pace.h, REGROW * h), pace.h), pace.reach)
            pace = choose(cut, Pace(CUT * h, carry.pace.reach), pace)
        status = jnp.where(beyond, Status.over, jnp.where(doubt, Status.doubtful, status))
        keep = keep & ~doubt & ~beyond
        pace = control.after_doubt(pace, doubt)
        rejected = choose(trial.looked, signs.after_rejection(g, cut), signs)
        signs = choose(keep, signs.after_step(g), rejected)
    seen = None if carry.seen is None or trial.visits is None else trial.visits.seen(keep)
    carry = dataclasses.replace(carry, pace=pace, status=status, over=over, signs=signs, seen=seen)
    return _accept_step(carry, keep, trial.t, trial.y, until, capacity)


def _accept_step(carry: Carry, keep, t_new, y_new, until, capacity: int) -> Carry:
    """Go to the new point and record it, where `keep` says so."""
    count = carry.count + keep
    status = jnp.where(keep & (t_new >= until), Status.reached, carry.status)
    times, vectors = carry.times, carry.vectors
    if capacity:
        slot = jnp.where(keep, carry.count, capacity)  # the last row is for what is not kept
        times = jax.lax.dynamic_update_index_in_dim(times, t_new, slot, 0)
        vectors = jax.lax.dynamic_update_index_in_dim(vectors, y_new, slot, 0)
        status = jnp.where((status == Status.going) & (count >= capacity), Status.full, status)
    return dataclasses.replace(
        carry, t=jnp.where(keep, t_new, carry.t), y=jnp.where(keep, y_new, carry.y), status=status, t_next=t_new,
        times=times, vectors=vectors, count=count, steps=carry.steps + 1,
    )  # fmt: skip


def search(
    system: AbstractSystem, state: State, t_next: Scalar, signs: Signs, stepper: Stepper, control: AbstractSteps
) -> SearchResult:
    """Look for the earliest event in the step from `state` to `t_next`, by re-integration."""
    flat = FlatSystem(system, state)
    return search_flat(flat, flat.armed(), t_next, signs, stepper, control)


def search_flat(flat: FlatSystem, armed, t_next: Scalar, signs: Signs, stepper, control: AbstractSteps) -> SearchResult:
    """The same for a system in the state `flat.like`, of which some guards are watched."""
    state = flat.like
    t0, y0, h = state.t, flat.vector(state), t_next - state.t

    def look(fraction):
        if control.at_once(stepper, flat):
            stays = ~(fraction > 0.0)
            where = jnp.where(stays, 1.0 - END, END)
            looked = stepper.with_looks(flat.at_once, t0, y0, fraction * h, where, stays=stays)
            y, g = looked.places[0], looked.looks.guards[0]
        else:
            y, _ = control.take(flat, stepper, t0, y0, fraction * h)
            y = jnp.where(fraction > 0.0, y, y0)  # to the last bit: a guard that begins at zero must not fire
            g = flat.guards(t0 + fraction * h, y)
        return jnp.where(fraction > 0.0, g, signs.at_start(g)), y

    resolution = 2 * EPS * jnp.maximum(1.0, jnp.abs(t_next) / jnp.maximum(h, 1e-300))
    found = earliest_event(look, armed, resolution)
    t = jnp.where(found.event, t0 + found.fraction * h, t_next)
    # What falls within rounding of the same instant is due as well; what is below zero there has fallen.
    near = found.g * h <= 64 * EPS * jnp.maximum(jnp.abs(t), h) * found.fall
    due = found.event & armed & found.rose & ((near & (found.fall > 0.0)) | (found.g <= 0.0))
    due = jnp.where(jnp.arange(due.size) == found.guard, found.event, due)
    sunk = armed & signs.sunk(found.g_start, found.g, found.rose)
    after = Signs(found.g, signs.fired & ~found.rose)
    # Of guards that tie, the first listed fires first: the order does not hang on rounding.
    return SearchResult(
        flat.state(t, found.y), found.event, jnp.argmax(due), due, ~found.clear, sunk, after, *flat.guard_numbers()
    )  # fmt: skip
