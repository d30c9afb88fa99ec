"""Advance to the next event: the one compiled loop behind every engine.

It takes steps until a guard falls through zero, `until` is reached, or the record is full. It
runs on one state or, under `vmap`, on a batch of them.
"""

from __future__ import annotations

import enum

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.flat import FlatSystem
from saltus.engines.search import CHECKPOINTS, cubic, earliest_event, suspicious
from saltus.engines.steppers import ExplicitStepper, ImplicitStepper, Step
from saltus.hybrid import AbstractSystem, State

Flat = Float[Array, " n"]
Scalar = Float[Array, ""]
EPS = float(jnp.finfo(jnp.float64).eps)


class Status(enum.IntEnum):
    """Why `advance` came back."""

    going = 0
    reached = 1  # the time asked for
    event = 2
    full = 3  # the record; call again to go on
    stalled = 4  # the step fell to rounding level
    not_finite = 5  # a constant step left the domain


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


class Advance(eqx.Module):
    """What came of an advance.

    Args:
        state: Where it ended.
        h: Step to try next [s].
        status: Why it ended (`Status`).
        guard: Flat index of the guard that fired.
        due: Guards that fall through zero at the same instant.
        times: Times of the recorded steps; `count` of them are valid.
        vectors: The flowing parts there.
        count: How many steps are recorded.
        steps: Steps tried.
    """

    state: State
    h: Scalar
    status: Int[Array, ""]
    guard: Int[Array, ""]
    due: Bool[Array, " g"]
    times: Float[Array, " m"]
    vectors: Float[Array, "m n"]
    count: Int[Array, ""]
    steps: Int[Array, ""]


class _Carry(eqx.Module):
    t: Scalar
    y: Flat
    h: Scalar
    g: Array
    slope: Array
    status: Int[Array, ""]
    doubtful: Bool[Array, ""]  # the step from t to t_new waits for the search
    t_new: Scalar
    y_new: Flat
    g_new: Array
    slope_new: Array
    times: Array
    vectors: Array
    count: Int[Array, ""]
    steps: Int[Array, ""]


@eqx.filter_jit
def advance(
    system: AbstractSystem,
    state: State,
    h: Scalar,
    until: Scalar,
    stepper: ExplicitStepper | ImplicitStepper,
    control: Control,
    capacity: int,
) -> Advance:
    """Flow from `state` to the next event, to `until`, or until `capacity` steps are recorded.

    A capacity of 0 records nothing and never comes back for a full record.
    """
    flat = FlatSystem(system, state)
    armed = flat.armed()
    y = flat.vector(state)
    rate = flat.rate(state.t, y)
    g, slope = flat.guards_and_rates(state.t, y, rate)
    first = _first_step(y, rate, until - state.t, control)
    carry = _Carry(
        t=state.t, y=y, h=jnp.where(h > 0.0, h, first), g=g, slope=slope,
        status=jnp.asarray(Status.going), doubtful=jnp.asarray(False),
        t_new=state.t, y_new=y, g_new=g, slope_new=slope,
        times=jnp.zeros(max(capacity, 1)), vectors=jnp.zeros((max(capacity, 1), y.size)),
        count=jnp.asarray(0), steps=jnp.asarray(0),
    )  # fmt: skip
    carry = eqx.tree_at(lambda c: c.status, carry, jnp.where(state.t >= until, Status.reached, Status.going))

    def flow(carry):
        return jax.lax.while_loop(
            lambda c: (c.status == Status.going) & ~c.doubtful,
            lambda c: _one_step(flat, armed, stepper, control, until, capacity, c),
            carry,
        )

    if armed.size == 0:
        end = flow(carry)
        guard, due = jnp.asarray(0), armed
    else:
        def body(value):
            carry, guard, due = value
            carry = flow(carry)
            return _settle_doubt(flat, armed, stepper, control, until, capacity, carry, guard, due)

        start = (carry, jnp.asarray(0), jnp.zeros_like(armed))
        end, guard, due = jax.lax.while_loop(lambda value: value[0].status == Status.going, body, start)
    return Advance(
        flat.state(end.t, end.y), end.h, end.status, guard, due, end.times, end.vectors, end.count, end.steps
    )


def taken(
    flat: FlatSystem, stepper, control: Control, t: Scalar, y: Flat, h: Scalar, rare: bool = False
) -> tuple[Flat, Step]:
    """One step, with the constraints restored."""
    step = stepper(flat.rate, t, y, h, rare)
    return (flat.project(t + h, step.y) if control.project else step.y), step


def _first_step(y: Flat, rate: Flat, span: Scalar, control: Control) -> Scalar:
    """A cautious first step: one that changes the state by about a hundredth."""
    if control.fixed:
        return control.step
    scale = control.atol + control.rtol * jnp.abs(y)
    size, speed = _norm(y / scale), _norm(rate / scale)
    guess = jnp.where((size > 1e-5) & (speed > 1e-5), 0.01 * size / speed, 1e-6)
    return jnp.minimum(guess, span)


def _norm(x: Array) -> Scalar:
    return jnp.sqrt(jnp.mean(x**2)) if x.size else jnp.asarray(0.0)


def _target(control: Control, t: Scalar, h: Scalar, until: Scalar) -> Scalar:
    """Time at which the next step ends."""
    if control.fixed:
        n = jnp.floor((t - control.origin) / control.step + 1e-6) + 1.0
        return jnp.minimum(control.origin + n * control.step, until)
    return jnp.where(until - t < 1.01 * h, until, t + h)


def _one_step(flat, armed, stepper, control, until, capacity, carry: _Carry) -> _Carry:
    """Try one step; keep it, reject it, or leave it for the search."""
    t_new = _target(control, carry.t, carry.h, until)
    h = t_new - carry.t
    y_new, step = taken(flat, stepper, control, carry.t, carry.y, h)
    finite = jnp.isfinite(y_new).all() & jnp.isfinite(step.rate_after).all()
    if control.fixed:
        keep, h_next = finite, control.step
        status = jnp.where(finite, Status.going, Status.not_finite)
    else:
        scale = control.atol + control.rtol * jnp.maximum(jnp.abs(carry.y), jnp.abs(y_new))
        error = jnp.where(finite, _norm(step.error / scale), jnp.inf)
        keep = error <= 1.0
        factor = jnp.clip(0.9 * jnp.maximum(error, 1e-30) ** (-1.0 / stepper.order), 0.2, jnp.where(keep, 10.0, 0.9))
        h_next = h * factor
        # A step that was cut short by `until` says nothing against longer ones.
        h_next = jnp.where(keep, jnp.maximum(h_next, jnp.where(t_new == until, carry.h, 0.0)), h_next)
        stalled = ~keep & (h_next < 4 * EPS * jnp.maximum(jnp.abs(carry.t), 1e-290))
        status = jnp.where(stalled, Status.stalled, Status.going)

    g, slope = flat.guards_and_rates(t_new, y_new, step.rate_after)
    doubtful = jnp.asarray(False)
    if armed.size:
        looks = [flat.guards(carry.t + x * h, _between(carry.y, y_new, step, h, x)) for x in CHECKPOINTS]
        doubtful = keep & suspicious(carry.g, carry.slope * h, g, slope * h, looks, armed).any()
    carry = eqx.tree_at(
        lambda c: (c.h, c.status, c.doubtful, c.t_new, c.y_new, c.g_new, c.slope_new, c.steps),
        carry,
        (h_next, status, doubtful, t_new, y_new, g, slope, carry.steps + 1),
    )
    return _commit(carry, keep & ~doubtful, until, capacity)


def _between(y, y_new, step: Step, h, x) -> Flat:
    """Cubic through the ends of a step: good enough to see where a closer look is due."""
    return cubic(y, h * step.rate_before, y_new, h * step.rate_after, x)


def _commit(carry: _Carry, keep: Bool[Array, ""], until: Scalar, capacity: int) -> _Carry:
    """Go to the new point and record it, where `keep` says so."""
    count = carry.count + keep
    status = jnp.where(keep & (carry.t_new >= until), Status.reached, carry.status)
    times, vectors = carry.times, carry.vectors
    if capacity:
        slot = jnp.where(keep, carry.count, capacity)  # an index past the end writes nothing
        times = times.at[slot].set(carry.t_new, mode="drop")
        vectors = vectors.at[slot].set(carry.y_new, mode="drop")
        status = jnp.where((status == Status.going) & (count >= capacity), Status.full, status)
    return eqx.tree_at(
        lambda c: (c.t, c.y, c.g, c.slope, c.status, c.count, c.times, c.vectors),
        carry,
        (
            jnp.where(keep, carry.t_new, carry.t),
            jnp.where(keep, carry.y_new, carry.y),
            jnp.where(keep, carry.g_new, carry.g),
            jnp.where(keep, carry.slope_new, carry.slope),
            status, count, times, vectors,
        ),  # fmt: skip
    )


def _settle_doubt(flat, armed, stepper, control, until, capacity, carry: _Carry, guard, due):
    """Search the doubtful step: end it at its earliest event, or keep it whole."""
    h = carry.t_new - carry.t

    def point(fraction):
        t = carry.t + fraction * h
        y, step = taken(flat, stepper, control, carry.t, carry.y, fraction * h, rare=True)
        return t, y, step.rate_after

    def look(fraction):
        t, y, rate = point(fraction)
        g, slope = flat.guards_and_rates(t, y, rate)
        return g, slope * h

    def search(_):
        resolution = 2 * EPS * jnp.maximum(1.0, jnp.abs(carry.t_new) / jnp.maximum(h, 1e-300))
        found = earliest_event(look, carry.g, carry.slope * h, armed, resolution)
        t, y, rate = point(jnp.where(found.event, found.fraction, 1.0))
        t = jnp.where(found.event, t, carry.t_new)
        g, slope = flat.guards_and_rates(t, y, rate)
        # What falls within rounding of the same instant is due as well.
        near = jnp.abs(g) <= 64 * EPS * jnp.maximum(jnp.abs(t), h) * jnp.abs(slope)
        tied = found.event & armed & near & (slope < 0.0) & (carry.g > 0.0)
        return found.event, found.guard, tied.at[found.guard].set(found.event), t, y, g, slope

    def nothing(_):
        return jnp.asarray(False), guard, due, carry.t_new, carry.y_new, carry.g_new, carry.slope_new

    event, guard, due, t, y, g, slope = jax.lax.cond(carry.doubtful, search, nothing, None)
    status = jnp.where(event, Status.event, carry.status)
    commit = carry.doubtful
    carry = eqx.tree_at(
        lambda c: (c.t_new, c.y_new, c.g_new, c.slope_new, c.status, c.doubtful),
        carry,
        (t, y, g, slope, status, jnp.asarray(False)),
    )
    committed = _commit(carry, commit, until, capacity)
    # An event at the very end of the time asked for, or in the last slot, is still an event.
    return eqx.tree_at(lambda c: c.status, committed, jnp.where(event, Status.event, committed.status)), guard, due
