"""Constant steps of a block of lanes, each number a vector over the lanes; they stop before what may be an event.

What is handed back: the guards are looked at where the rate is computed anyway, at the start, the middle
(third stage), the fourth stage and the end of a step. A step is taken only if every armed guard is, at start,
middle and end, above 0.6 of its second difference plus what fourth stage and end differ by. That is more
cautious than the five looks of the engine as long as the fourth difference of a guard over quarter steps is
below 1.7 times its second one; it always catches a guard that dips like |x| (a speed that passes through zero),
and a stage that friction has turned round. A guard that is armed and not positive, and anything that is not
finite, is handed back too.
"""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import lax

from saltus.engines.advance import Status
from saltus.engines.lanewise import Lanewise, Values

CAUTION = 0.6  # share of the second difference that a guard must be above; 0.5 catches every |x|
TURNS = 16  # steps between two looks at whether any lane of a block still goes


class Moving(eqx.Module):
    """A block of lanes on its way: lists of vectors over the lanes."""

    y: list
    rate: list
    guards: list
    t: Any
    n: Any
    status: Any
    largest: list
    steps: Any


def block_flow(lanewise: Lanewise, common, parameters, modes, y, t, largest, status, max_steps: int, operations=None):
    """Steps of a block of lanes until none goes on; everything is a vector over the lanes."""
    until, step, origin = common
    values = lanewise.given(parameters, modes, t)
    rate, guards, _ = _looks(lanewise, values, t, y, operations)
    status = jnp.where((status == Status.going) & (t >= until), int(Status.reached), status)
    if lanewise.autonomous:
        still = _all([part == 0.0 for part in rate], status == status)
        resting = still & (status == Status.going)
        t, status = jnp.where(resting, until, t), jnp.where(resting, int(Status.reached), status)
    n = jnp.floor((t - origin) / step + 1e-6)
    start = Moving(y, rate, guards, t, n, status, largest, jnp.zeros_like(status))
    turns = -(-max_steps // TURNS)

    def going_on(carry):
        turn, moving = carry
        return (turn < turns) & (jnp.max((moving.status == Status.going).astype(jnp.int32)) > 0)

    def turn(carry):
        number, moving = carry
        taken = lax.fori_loop(0, TURNS, lambda _, m: _one_step(lanewise, values, common, m, operations), moving)
        return number + 1, taken

    _, end = lax.while_loop(going_on, turn, (jnp.int32(0), start))
    t_next = jnp.minimum(origin + (end.n + 1.0) * step, until)
    return end.y, end.t, t_next, end.status, end.largest, end.steps


def _all(conditions: list, true):
    return functools.reduce(lambda a, b: a & b, conditions, true)


def _one_step(lanewise: Lanewise, values: Values, common, moving: Moving, operations) -> Moving:
    """One Runge-Kutta step (classical, fourth order) of the lanes that go; kept where nothing may happen in it."""
    until, step, origin = common
    t, y, flowing = moving.t, moving.y, lanewise.flowing
    n_new = moving.n + 1.0
    t_new = jnp.minimum(origin + n_new * step, until)
    h = t_new - t

    def ahead(length, k):
        place = list(y)
        for p, slope in zip(flowing, k, strict=True):
            place[p] = y[p] + length * slope
        return place

    def add(weight, k):
        for p, slope in zip(flowing, k, strict=True):
            whole[p] = whole[p] + weight * slope

    half, third, sixth = 0.5 * h, h * (1.0 / 3.0), h * (1.0 / 6.0)
    whole = list(y)
    add(sixth, moving.rate)
    k, _, _ = _looks(lanewise, values, t + half, ahead(half, moving.rate), operations)
    add(third, k)
    k, middle, _ = _looks(lanewise, values, t + half, ahead(half, k), operations)
    add(third, k)
    k, reached, _ = _looks(lanewise, values, t_new, ahead(h, k), operations)
    add(sixth, k)
    if lanewise.projected is not None:
        whole = lanewise.at(values, t_new, whole, lanewise.projected, t, operations)
    rate, guards, seen = _looks(lanewise, values, t_new, whole, operations)

    safe = _safe(lanewise, values, moving.guards, middle, reached, guards)
    accept = _all([*safe, _finite(_once([*(whole[p] for p in flowing), *rate]))], moving.status == Status.going)
    ended = jnp.where(t_new >= until, int(Status.reached), int(Status.going))
    ended = jnp.where(accept, ended, int(Status.doubtful)).astype(jnp.int32)
    return Moving(
        y=[jnp.where(accept, new, old) if new is not old else old for new, old in zip(whole, y, strict=True)],
        rate=rate,
        guards=guards,
        t=jnp.where(accept, t_new, t),
        n=jnp.where(accept, n_new, moving.n),
        status=jnp.where(moving.status == Status.going, ended, moving.status),
        largest=[jnp.where(accept & (new > old), new, old) for new, old in zip(seen, moving.largest, strict=True)],
        steps=moving.steps + accept.astype(jnp.int32),
    )


def _looks(lanewise: Lanewise, values: Values, t, y: list, operations) -> tuple[list, list, list]:
    """Rates, guards (in single precision: they are only compared with zero) and watched quantities at a state."""
    rates, guards = [lanewise.rate[p] for p in lanewise.flowing], [g.value for g in lanewise.guards]
    found = lanewise.at(values, t, y, [*rates, *guards, *lanewise.watched], t, operations)
    n, m = len(rates), len(rates) + len(guards)
    return found[:n], [g.astype(jnp.float32) for g in found[n:m]], found[m:]


def _finite(values: list):
    """Whether all are finite, from their exponents: the units for double precision are busy enough."""
    upper = [(lax.bitcast_convert_type(x, jnp.int64) >> 32).astype(jnp.int32) & 0x7FFFFFFF for x in values]
    return functools.reduce(jnp.maximum, upper) < 0x7FF00000


def _once(values: list) -> list:
    """Each value once, if it is there several times."""
    return list({id(value): value for value in values}.values())


def _safe(lanewise: Lanewise, values: Values, before: list, middle: list, reached: list, after: list) -> list:
    """For each guard, whether it surely stays positive, or is not armed."""
    safe = []
    for guard, a, b, r, c in zip(lanewise.guards, before, middle, reached, after, strict=True):
        doubt = CAUTION * jnp.abs((a + c) - 2.0 * b) + jnp.abs(c - r)
        positive = (a > doubt) & (b > doubt) & (c > doubt)
        safe.append(positive if guard.armed.known else positive | ~values[guard.armed])
    return safe
