"""Constant steps of a block of lanes, each number a vector over the lanes; halved where there may be an event.

The guards are looked at where the rate is computed anyway: at the start, the middle (second stage), the fourth
stage and the end of a step. A step is taken only if every armed guard is, at start, middle and end, on the same
side of zero by more than 0.6 of its second difference plus what fourth stage and end differ by. That catches every
dip like a parabola (a gap: the second stage goes straight ahead, so it lies below the true middle) or like |x| (a
speed that passes through zero), and a stage that friction has turned round. Where a guard is singular a step must
also leave three quarters of it, and its second and third stage must agree.

A step that is not taken is halved, and tried again; those after it grow back to the constant length, always from
one point of a grid to the next. So a mass that friction brings to rest is followed as it turns faster and faster.
Only the shortest step that may hold an event is handed back, to be searched.
"""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import lax

from saltus.engines.guard_test import bound_by_stages, stays
from saltus.engines.scalar_system import ScalarSystem, Values
from saltus.engines.step_control import AGREE, ALIKE, DEEPEST, EPS, LEFT
from saltus.engines.trial import Status
from saltus.numerics.runge_kutta import RK4

TURNS = 16  # steps between two looks at whether any lane of a block still goes
ON_GRID = 1e-10  # share of a step by which rounding may keep a lane off its grid


class MovingBlock(eqx.Module):
    """A block of lanes on its way: lists of vectors over the lanes.

    Times are counted in constant steps: `n` of them lie behind; the next one is halved `depth` times.
    """

    y: list
    rate: list
    guards: list
    t: Any
    n: Any
    depth: Any
    status: Any
    largest: list
    steps: Any


def block_flow(
    scalar: ScalarSystem, times, parameters, modes, y, t, largest, status, max_steps: int, operations=None, roll=False
):
    """Steps of a block of lanes until none goes on; everything is a vector over the lanes but step and origin.

    With `roll` the stages of a step are a loop: little to compile, and quicker on a CPU.
    """
    until, step, origin = times
    values = scalar.constant_values(parameters, modes, t)
    rate, guards, _ = _evaluate(scalar, values, t, y, operations)
    status = jnp.where((status == Status.going) & (t >= until), int(Status.reached), status)
    if scalar.autonomous:
        still = _all([part == 0.0 for part in rate], status == status)
        resting = still & (status == Status.going)
        t, status = jnp.where(resting, until, t), jnp.where(resting, int(Status.reached), status)
    n = (t - origin) / step
    start = MovingBlock(y, rate, guards, t, n, jnp.zeros_like(status), status, largest, jnp.zeros_like(status))
    turns = -(-max_steps // TURNS)

    def going_on(carry):
        turn, moving = carry
        return (turn < turns) & (jnp.max((moving.status == Status.going).astype(jnp.int32)) > 0)

    def turn(carry):
        number, moving = carry
        taken = lax.fori_loop(0, TURNS, lambda _, m: _one_step(scalar, values, times, m, operations, roll), moving)
        return number + 1, taken

    _, end = lax.while_loop(going_on, turn, (jnp.int32(0), start))
    t_next = jnp.minimum(origin + _next(end) * step, until)
    return end.y, end.t, t_next, end.status, end.largest, end.steps


def _next(moving: MovingBlock):
    """The next point of the grid, in constant steps."""
    whole = jnp.floor((moving.n + ON_GRID) * _power(moving.depth))
    return (whole + 1.0) * _power(-moving.depth)


def _power(k):
    """Two to this power, from its exponent bits."""
    return lax.bitcast_convert_type((k.astype(jnp.int64) + 1023) << 52, jnp.float64)


def _all(conditions: list, true):
    return functools.reduce(lambda a, b: a & b, conditions, true)


def _one_step(scalar: ScalarSystem, values: Values, times, moving: MovingBlock, operations, roll: bool) -> MovingBlock:
    """One step of `RK4`, whose stages each follow from the one before; kept where nothing may happen in it."""
    until, step, origin = times
    t, y, flowing = moving.t, moving.y, scalar.flowing
    n_new = _next(moving)
    t_new = jnp.minimum(origin + n_new * step, until)
    h = t_new - t
    lengths, weights = _scale([row[-1] for row in RK4.a], h), _scale(RK4.b, h)

    def stage(i, carry):
        """Stage i from 1 to 3, of which the rates before are known; 4 is the end of the step."""
        whole, k, middle, reached, k2, k3, _, _ = carry
        length, time = _among(i, [h, *lengths]), _pick(i < 3, t + lengths[0], t_new)
        place = list(y)
        for p, slope in zip(flowing, k, strict=True):
            place[p] = _pick(i == 4, whole[p], y[p] + length * slope)
        k, guards, seen = _evaluate(scalar, values, time, place, operations)
        whole = list(whole)
        for p, slope in zip(flowing, k, strict=True):
            whole[p] = _pick(i == 4, whole[p], whole[p] + _among(i, weights) * slope)
        middle = [_pick(i == 1, new, old) for new, old in zip(guards, middle, strict=True)]
        reached = [_pick(i == 3, new, old) for new, old in zip(guards, reached, strict=True)]
        accelerations = _accelerations(scalar, k)
        k2 = [_pick(i == 1, new, old) for new, old in zip(accelerations, k2, strict=True)]
        k3 = [_pick(i == 2, new, old) for new, old in zip(accelerations, k3, strict=True)]
        return whole, k, middle, reached, k2, k3, guards, seen

    whole = list(y)
    for p, slope in zip(flowing, moving.rate, strict=True):
        whole[p] = y[p] + weights[0] * slope
    k1 = _accelerations(scalar, moving.rate)
    begin = (whole, moving.rate, moving.guards, moving.guards, k1, k1, moving.guards, moving.largest)
    if roll:
        done = lax.fori_loop(1, 5, stage, begin)
    else:
        done = functools.reduce(lambda carry, i: stage(i, carry), range(1, 5), begin)
    whole, rate, middle, reached, k2, k3, guards, seen = done

    deepest = (moving.depth >= DEEPEST) | (h <= 64 * EPS * jnp.abs(t))
    safe = _safe(scalar, values, deepest, moving.guards, middle, reached, guards)
    if scalar.accelerations:
        safe.append(_follows(scalar, values, k1, k2, k3, _accelerations(scalar, rate)))
    going = moving.status == Status.going
    accept = _all([*safe, _finite(_once([*(whole[p] for p in flowing), *rate]))], going)
    ended = jnp.where(accept & (t_new >= until), int(Status.reached), int(Status.going))
    ended = jnp.where(~accept & deepest, int(Status.doubtful), ended).astype(jnp.int32)
    return MovingBlock(
        y=_choose(accept, whole, y),
        rate=_choose(accept, rate, moving.rate),
        guards=_choose(accept, guards, moving.guards),
        t=jnp.where(accept, t_new, t),
        n=jnp.where(accept, n_new, moving.n),
        depth=jnp.where(accept, _depth_after(n_new, moving.depth), jnp.where(deepest, moving.depth, moving.depth + 1)),
        status=jnp.where(going, ended, moving.status),
        largest=[jnp.where(accept & (new > old), new, old) for new, old in zip(seen, moving.largest, strict=True)],
        steps=moving.steps + accept.astype(jnp.int32),
    )


def _pick(condition, a, b):
    """`where`, or the choice itself if the condition is known."""
    return (a if condition else b) if isinstance(condition, bool) else jnp.where(condition, a, b)


def _choose(condition, new: list, old: list) -> list:
    """The new values where the condition holds, else the old ones; those that are the same are not asked for."""
    return [jnp.where(condition, a, b) if a is not b else b for a, b in zip(new, old, strict=True)]


def _scale(coefficients, h) -> list:
    """The coefficients times h; equal ones are one and the same."""
    made = {c: c * h if c != 1.0 else h for c in coefficients}
    return [made[c] for c in coefficients]


def _among(i, values: list):
    """`values[i]`, the last one beyond them; a choice between those that differ where i counts a compiled loop."""
    if isinstance(i, int):
        return values[min(i, len(values) - 1)]
    chosen = values[-1]
    for k in range(len(values) - 2, 0, -1):
        if values[k] is not values[k + 1]:
            chosen = jnp.where(i <= k, values[k], chosen)
    return chosen


def _depth_after(n, depth):
    """One halving less, where the lane is on a point of the coarser grid."""
    coarser = n * _power(depth - 1)
    return jnp.where((depth > 0) & (jnp.floor(coarser) == coarser), depth - 1, depth)


def _evaluate(scalar: ScalarSystem, values: Values, t, y: list, operations) -> tuple[list, list, list]:
    """Rates, guards (in single precision: they are only compared with zero) and watched quantities at a state."""
    rates, guards = [scalar.rate[p] for p in scalar.flowing], [g.value for g in scalar.guards]
    found = scalar.at(values, t, y, [*rates, *guards, *scalar.watched], t, operations)
    n, m = len(rates), len(rates) + len(guards)
    return found[:n], [g.astype(jnp.float32) for g in found[n:m]], found[m:]


def _finite(values: list):
    """Whether all are finite, from their exponents: the units for double precision are busy enough."""
    upper = [(lax.bitcast_convert_type(x, jnp.int64) >> 32).astype(jnp.int32) & 0x7FFFFFFF for x in values]
    return functools.reduce(jnp.maximum, upper) < 0x7FF00000


def _once(values: list) -> list:
    """Each value once, if it is there several times."""
    return list({id(value): value for value in values}.values())


def _safe(scalar: ScalarSystem, values: Values, deepest, before, middle, reached, after) -> list:
    """For each guard, whether it surely stays on its side of zero, or is not armed."""
    safe = []
    for guard, *looks in zip(scalar.guards, before, middle, reached, after, strict=True):
        lowest, highest, doubt = bound_by_stages(*looks)
        sure = stays(lowest, highest, doubt)
        if guard.singular:
            sure = sure & (deepest | (lowest > LEFT * looks[0]) | (highest <= -doubt))
        safe.append(sure if guard.armed.known else sure | ~values[guard.armed])
    return safe


def _accelerations(scalar: ScalarSystem, rate: list) -> list:
    """The rates of velocities, in single precision, if there is a singular guard."""
    of = dict(zip(scalar.flowing, rate, strict=True))
    return [of[k].astype(jnp.float32) for k in scalar.accelerations]


def _follows(scalar: ScalarSystem, values: Values, before: list, second: list, third: list, after: list):
    """Whether the stages agree as the engine wants it where a singular guard is armed (`step_control.stiff`)."""

    def largest(parts):
        return functools.reduce(jnp.maximum, [jnp.abs(part) for part in parts])

    def difference(a, b):
        return largest([x - y for x, y in zip(a, b, strict=True)])

    agree = difference(third, second) <= AGREE * difference(after, before) + ALIKE * largest([*before, *after])
    armed = [guard.armed for guard in scalar.guards if guard.singular]
    if any(node.known for node in armed):
        return agree
    return _all([~values[node] for node in armed[1:]], ~values[armed[0]]) | agree
