"""Bodies that pass through each other, as the conservation laws alone would have it."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.contacts.gap import gap
from saltus.contacts.wall import Wall
from saltus.shapes.body import Body
from saltus.systems.bodies.touch import wall_gap_of

CLEAR = 1e-9  # of the size: how deep an overlap must have been before it can end
LAST = 1e-3  # of its greatest depth, from which on an overlap is taken to end without growing again
GROWTH = 1.25  # of steps while there is no overlap yet
LOOKS = 10_000
HALVINGS = 80


def emergence(first: Body | Wall, second: Body, gravity: Array, horizon: float) -> float:
    """Time until two bodies in free motion that begin to overlap are apart; infinite if they are not so in time [s].

    After a paradox the overlap sets in with the third power of the time: steps grow until it can be told from rounding.
    From then on it cannot end sooner than its depth over the highest speed of approach: steps of that length lead to
    its end without passing it by.
    """
    bodies = [body for body in (first, second) if not isinstance(body, Wall)]
    size = float(sum(body.shape.radius() for body in bodies))
    turning = sum(float(body.fastest_turn() * body.shape.radius()) for body in bodies)
    velocity = np.asarray(bodies[-1].velocity - (bodies[0].velocity if len(bodies) > 1 else 0.0))
    pull = 0.0 if len(bodies) > 1 else float(np.linalg.norm(gravity))
    speed = max(float(np.linalg.norm(velocity)) + turning + pull * horizon, 1e-300)

    def depth_at(t: float) -> float:
        return -_gap_at(first, second, gravity, t)

    t, step, depth, deepest = 0.0, CLEAR * size / speed, 0.0, CLEAR * size
    for _ in range(LOOKS):
        if depth > CLEAR * size:
            deepest, step = max(deepest, depth), depth / speed
        elif deepest == CLEAR * size:
            step *= GROWTH
        if deepest > CLEAR * size and depth <= LAST * deepest:
            break
        t += step
        if t >= horizon:
            return float("inf")
        depth = depth_at(t)
    return _end_of_overlap(depth_at, t, step, horizon)


def _end_of_overlap(depth_at: Callable[[float], float], t: float, step: float, horizon: float) -> float:
    """Where the depth falls to zero, within the last step before `t` or after it; infinite if beyond the horizon."""
    low, high = max(t - step, 0.0), t
    while depth_at(high) > 0.0:
        if high >= horizon:
            return float("inf")
        low, high = high, min(high + step, horizon)
        step *= 2.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if depth_at(middle) > 0.0 else (low, middle)
    return high


def _gap_at(first: Body | Wall, second: Body, gravity: Array, t: float) -> float:
    moved = second.after(t, gravity)
    if isinstance(first, Wall):
        return float(wall_gap_of(first, moved).gap)
    return float(gap(first.after(t, jnp.asarray(gravity)), moved).gap)
