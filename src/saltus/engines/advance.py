"""Advance to the next event: the compiled loop behind every engine.

`flow` takes steps until the time asked for, or until a step in which a guard may fall through
zero. `search` looks into such a step. A single run (`loop`) calls the two from Python, so that the
search is compiled only if there is something to search; many runs at once (`batch`) do so for all of them.
"""

from __future__ import annotations

import dataclasses
import enum

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.collocation import CollocationStepper
from saltus.engines.flat import FlatSystem, Marks
from saltus.engines.search import GLANCES, cubic, earliest_event, suspicious
from saltus.engines.signs import Signs
from saltus.engines.steppers import ExplicitStepper, ImplicitStepper, Step
from saltus.hybrid import AbstractSystem, State

Flat = Float[Array, " n"]
Scalar = Float[Array, ""]
Stepper = ExplicitStepper | ImplicitStepper
EPS = float(jnp.finfo(jnp.float64).eps)
DEEPEST = 28  # how often a constant step is halved on the way to a singular event
LEFT = 0.75  # share of a singular guard that a constant step must leave
AGREE, ALIKE = 0.25, 1e-4  # share of the change of the rates in a step, and of the rates, to which its stages agree


class Status(enum.IntEnum):
    """Why a flow ended."""

    going = 0
    reached = 1  # the time asked for
    event = 2
    full = 3  # the record; call again to go on
    stalled = 4  # the step fell to rounding level
    not_finite = 5  # a constant step left the domain
    doubtful = 6  # the next step may hold an event
    over = 7  # the start is beyond a border
    accumulation = 8  # events pile up, and the system has no mode for what follows


class Control(eqx.Module):
    """How long steps are.

    Args:
        rtol: Error allowed per step, relative to the size of each component.
        atol: Error allowed per step, absolute.
        step: Constant step [s], counted from `origin`; 0 for adaptive steps.
        origin: Time from which constant steps are counted [s].
        fixed: Whether steps are constant.
        project: Whether the system's constraints are restored after each step.
    """

    rtol: Float[Array, ""]
    atol: Float[Array, ""]
    step: Float[Array, ""]
    origin: Float[Array, ""]
    fixed: bool = eqx.field(static=True)
    project: bool = eqx.field(static=True)


class Flow(eqx.Module):
    """How far a smooth flow went.

    Args:
        state: Where it ended.
        h: Step to try next [s].
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
    h: Scalar
    status: Int[Array, ""]
    t_next: Scalar
    over: Int[Array, ""]
    signs: Signs
    armed: Bool[Array, " g"]
    times: Float[Array, " m"]
    vectors: Float[Array, "m n"]
    count: Int[Array, ""]
    steps: Int[Array, ""]


class Searched(eqx.Module):
    """What a doubtful step holds.

    Args:
        state: The state at the event, or at the end of the step.
        event: Whether there is an event.
        guard: Flat index of the guard that fires.
        due: Guards that fall through zero at the same instant, with the one that fires.
        unsure: Guards that had fired and not been positive before this step: their fall may be rounding.
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


class Carry(eqx.Module):
    t: Scalar
    y: Flat
    h: Scalar
    status: Int[Array, ""]
    t_next: Scalar
    over: Int[Array, ""]
    signs: Signs
    times: Array
    vectors: Array
    count: Int[Array, ""]
    steps: Int[Array, ""]


def flow(
    system: AbstractSystem,
    state: State,
    h: Scalar,
    until: Scalar,
    signs: Signs,
    stepper: Stepper,
    control: Control,
    capacity: int,
) -> Flow:
    """Flow from `state` to `until`, to a doubtful step, or until `capacity` steps are recorded.

    A capacity of 0 records nothing and never comes back for a full record; a step `h` of 0 is
    replaced by a guess. `signs` is what is known of the guards from the flow before.
    """
    flat = FlatSystem(system, state)
    armed, marks = flat.armed(), flat.marks()
    y = flat.vector(state)
    start = Carry(
        t=state.t,
        y=y,
        h=jnp.where(h > 0.0, h, control.step),
        status=jnp.where(state.t >= until, Status.reached, Status.going),
        t_next=state.t,
        over=jnp.asarray(0),
        signs=signs,
        times=jnp.zeros(capacity + 1),
        vectors=jnp.zeros((capacity + 1, y.size)),
        count=jnp.asarray(0),
        steps=jnp.asarray(0),
    )
    end = jax.lax.while_loop(
        lambda carry: carry.status == Status.going,
        lambda carry: judged(
            tried(flat, stepper, control, until, carry), carry, armed, marks, stepper.order, control, until, capacity
        ),
        start,
    )
    return Flow(
        flat.state(end.t, end.y), end.h, end.status, end.t_next, end.over, end.signs, armed,
        end.times, end.vectors, end.count, end.steps,
    )  # fmt: skip


def crossed(armed: Array, borders: np.ndarray, g: Array) -> tuple[Bool[Array, ""], Int[Array, ""]]:
    """Whether a border of the system is crossed here, and the flat index of its guard."""
    if not borders.any():
        return jnp.asarray(False), jnp.asarray(0)
    over = armed & borders & (g <= 0.0)
    return over.any(), jnp.argmax(over)


def taken(flat: FlatSystem, stepper: Stepper, control: Control, t: Scalar, y: Flat, h: Scalar) -> tuple[Flat, Step]:
    """One step, with the constraints restored."""
    rough = flat.rough(t, y) if control.fixed else None
    if rough is None:
        step = stepper(flat.rate, t, y, h)
    else:
        careful = CollocationStepper(points=stepper.order // 2 + 1)
        step = jax.lax.cond(rough, lambda: careful(flat.rate, t, y, h), lambda: stepper(flat.rate, t, y, h))
    return (flat.project(t + h, step.y) if control.project else step.y), step


def _first_step(y: Flat, rate: Flat, span: Scalar, control: Control) -> Scalar:
    """A cautious first step: one that changes the state by about a hundredth."""
    scale = control.atol + control.rtol * jnp.abs(y)
    size, speed = _norm(y / scale), _norm(rate / scale)
    guess = jnp.where((size > 1e-5) & (speed > 1e-5), 0.01 * size / speed, 1e-6)
    return jnp.minimum(guess, span)


def _norm(x: Array) -> Scalar:
    return jnp.sqrt(jnp.mean(x**2)) if x.size else jnp.asarray(0.0)


def target(control: Control, t: Scalar, h: Scalar, until: Scalar) -> Scalar:
    """Time at which the next step ends."""
    if control.fixed:
        n = jnp.floor(_behind(control, t, h)) + 1.0
        return jnp.minimum(control.origin + n * h, until)
    return jnp.where(until - t < 1.01 * h, until, t + h)


def _behind(control: Control, t: Scalar, h: Scalar) -> Scalar:
    """How many constant steps of length h lie behind, a little more than that: rounding must not repeat one."""
    n = (t - control.origin) / h
    return n + jnp.maximum(1e-6, 8 * EPS * n)


class Trial(eqx.Module):
    """A step that was tried: its end, where it led, and five looks along it: when, the vectors, the guards."""

    t: Scalar
    y: Flat
    step: Step
    times: Float[Array, " 5"]
    vectors: Float[Array, "5 n"]
    guards: Float[Array, "5 g"]


def tried(flat: FlatSystem, stepper: Stepper, control: Control, until: Scalar, carry: Carry) -> Trial:
    """One step and the looks along it."""
    t_new = target(control, carry.t, carry.h, until)
    h = t_new - carry.t
    y_new, step = taken(flat, stepper, control, carry.t, carry.y, h)
    y_new = jax.lax.optimization_barrier(y_new)  # else XLA computes the step again for all of the record
    times = carry.t + GLANCES * h
    vectors = cubic(carry.y, h * step.rate_before, y_new, h * step.rate_after, jnp.asarray(GLANCES)[:, None])
    vectors = jax.lax.optimization_barrier(vectors)
    return Trial(t_new, y_new, step, times, vectors, jax.vmap(flat.guards)(times, vectors))


def judged(
    trial: Trial, carry: Carry, armed, marks: Marks, order: int, control: Control, until, capacity: int
) -> Carry:
    """The step kept, rejected, or left for the search."""
    step, h = trial.step, trial.t - carry.t
    finite = jnp.isfinite(trial.y).all() & jnp.isfinite(step.rate_after).all()
    if control.fixed:
        halved = _to_be_halved(trial, carry, armed, marks, control, finite)
        keep, h_next = finite & ~halved, jnp.where(halved, 0.5 * carry.h, _longer(control, trial.t, carry.h))
        status = jnp.where(finite | halved, Status.going, Status.not_finite)
    else:
        scale = control.atol + control.rtol * jnp.maximum(jnp.abs(carry.y), jnp.abs(trial.y))
        error = jnp.where(finite, _norm(step.error / scale), jnp.inf)
        keep = error <= 1.0
        factor = jnp.clip(0.9 * jnp.maximum(error, 1e-30) ** (-1.0 / order), 0.2, jnp.where(keep, 10.0, 0.9))
        h_next = h * factor
        # A step that was cut short by `until` says nothing against longer ones.
        h_next = jnp.where(keep & (trial.t == until), jnp.maximum(h_next, carry.h), h_next)
        # The first step has no length: it only tells how fast the state changes.
        begins = carry.h == 0.0
        h_next = jnp.where(begins, _first_step(carry.y, step.rate_before, until - carry.t, control), h_next)
        keep = keep & ~begins
        # Asked so that a length that is no number ends the flow, too: it would be tried for ever.
        shortest = jnp.where(begins, 0.0, 4 * EPS * jnp.maximum(jnp.abs(carry.t), 1e-290))
        stalled = ~keep & ~(h_next > shortest)
        status = jnp.where(stalled, Status.stalled, Status.going)

    over, signs = carry.over, carry.signs
    if armed.size:
        g = trial.guards.at[0].set(signs.at_start(trial.guards[0]))
        sinks = signs.sunk(g[0], g[-1], (g > 0.0).any(axis=0))
        doubt = keep & (suspicious(g, armed) | (armed & sinks)).any()
        beyond, over = crossed(armed, marks.border, trial.guards[0])
        status = jnp.where(beyond, Status.over, jnp.where(doubt, Status.doubtful, status))
        keep = keep & ~doubt & ~beyond
        if control.fixed:
            h_next = jnp.where(doubt, control.step, h_next)
        signs = jax.tree.map(lambda p, q: jnp.where(keep, p, q), signs.stepped(g), signs.seen(g))
    carry = dataclasses.replace(carry, h=h_next, status=status, over=over, signs=signs)
    return _kept(carry, keep, trial.t, trial.y, until, capacity)


def _to_be_halved(trial: Trial, carry: Carry, armed, marks: Marks, control: Control, finite) -> Bool[Array, ""]:
    """Whether a constant step is too long: it leaves the domain, or the rate may have turned quickly within it."""
    shortest = jnp.maximum(control.step * 0.5**DEEPEST, 64 * EPS * jnp.abs(carry.t))
    bad = ~finite
    if marks.singular.any():
        g = trial.guards
        falls = (g[0] > 0.0) & (g.min(axis=0) < LEFT * g[0])
        watched = armed & marks.singular
        bad = bad | (watched & (falls | suspicious(g, armed))).any() | (watched.any() & stiff(trial, carry, marks))
    return bad & (carry.h > shortest)


def stiff(trial: Trial, carry: Carry, marks: Marks) -> Bool[Array, ""]:
    """Whether the rate turns faster than the stages of a constant step can follow.

    Without this a slow mass slides on at a speed of about step times friction, thrown to and fro.
    """
    step, h = trial.step, trial.t - carry.t
    parts = (step.error, step.rate_after - step.rate_before, step.rate_before, step.rate_after)
    differ, change, before, after = (jnp.max(jnp.abs(part[marks.velocity]), initial=0.0) for part in parts)
    return differ > h * (AGREE * change + ALIKE * jnp.maximum(before, after))


def _longer(control: Control, t: Scalar, h: Scalar) -> Scalar:
    """The next constant step: twice as long if it was halved, and t is on the grid of twice its length."""
    n = _behind(control, t, 2.0 * h)
    on_grid = n - jnp.floor(n) <= 2 * jnp.maximum(1e-6, 8 * EPS * n)
    return jnp.where((h < control.step) & on_grid, 2.0 * h, h)


def _kept(carry: Carry, keep, t_new, y_new, until, capacity: int) -> Carry:
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
    system: AbstractSystem, state: State, t_next: Scalar, signs: Signs, stepper: Stepper, control: Control
) -> Searched:
    """Look for the earliest event in the step from `state` to `t_next`, by re-integration."""
    flat = FlatSystem(system, state)
    armed = flat.armed()
    t0, y0, h = state.t, flat.vector(state), t_next - state.t

    def look(fraction):
        y, _ = taken(flat, stepper, control, t0, y0, fraction * h)
        y = jnp.where(fraction > 0.0, y, y0)  # to the last bit: a guard that begins at zero must not fire
        g = flat.guards(t0 + fraction * h, y)
        return jnp.where(fraction > 0.0, g, signs.at_start(g)), y

    resolution = 2 * EPS * jnp.maximum(1.0, jnp.abs(t_next) / jnp.maximum(h, 1e-300))
    found = earliest_event(look, armed, resolution)
    t = jnp.where(found.event, t0 + found.fraction * h, t_next)
    # What falls within rounding of the same instant is due as well; what is below zero there has fallen.
    near = found.g * h <= 64 * EPS * jnp.maximum(jnp.abs(t), h) * found.fall
    due = found.event & armed & found.rose & ((near & (found.fall > 0.0)) | (found.g <= 0.0))
    due = due.at[found.guard].set(found.event)
    sunk = armed & signs.sunk(found.g_start, found.g, found.rose)
    after = Signs(found.g, signs.fired & ~found.rose)
    # Of guards that tie, the first listed fires first: the order does not hang on rounding.
    return Searched(
        flat.state(t, found.y), found.event, jnp.argmax(due), due, signs.fired, sunk, after, *flat.guard_numbers()
    )  # fmt: skip


def after_jump(control: Control, h, duration):
    """The first step to try after a jump; the flow may be much quicker than before, and a short segment warns of more.

    Args:
        control: How long steps are.
        h: Step that would be tried next without the jump [s].
        duration: Time since the jump before [s].
    """
    if control.fixed:
        return control.step
    xp = jnp if isinstance(h, jax.Array) else np  # nothing is compiled for known numbers
    return xp.minimum(h, xp.maximum(4.0 * duration, 1e-6 * h))
