"""Bodies that pass through each other, as the conservation laws alone would have it."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.contacts.gap import gap
from saltus.contacts.wall import Wall
from saltus.numerics.on_host import root_between
from saltus.shapes.body import Body
from saltus.systems.bodies.touch import wall_gap_of

CLEAR = 1e-9  # of the size: how deep an overlap must have been before it can end
LAST = 1e-3  # of its greatest depth, from which on an overlap is taken to end without growing again
GROWTH = 1.25  # of steps while there is no overlap yet
LOOKS = 10_000  # after which the rest of an overlap is searched in steps that grow
CLOSE = 4e-16  # relative error of the time at which it ends


def emergence(first: Body | Wall, second: Body, gravity: Array, horizon: float) -> float:
    """Time until two bodies in free motion that begin to overlap are apart; infinite if they are not so in time [s].

    After a paradox the overlap sets in with the third power of the time: steps grow until it can be told from rounding.
    From then on it cannot end sooner than its depth can be covered at the highest speed of approach: steps of that
    length lead to its end without passing it by.
    """
    bodies = [body for body in (first, second) if not isinstance(body, Wall)]
    size = float(sum(body.shape.radius() for body in bodies))
    velocity = np.asarray(bodies[-1].velocity - (bodies[0].velocity if len(bodies) > 1 else 0.0))
    turning = sum(float(body.fastest_turn() * body.shape.radius()) for body in bodies)
    speed, pull = float(np.linalg.norm(velocity)) + turning, float(np.linalg.norm(gravity)) * (len(bodies) == 1)

    def depth_at(t: float) -> float:
        return -_gap_at(first, second, gravity, t)

    def least_time(depth: float, t: float) -> float:
        now = speed + pull * t
        return 2.0 * depth / max(now + math.sqrt(now**2 + 2.0 * pull * depth), 1e-300)

    t, depth, step = 0.0, 0.0, least_time(CLEAR * size, 0.0)
    while not depth > CLEAR * size:
        t, step = t + step, GROWTH * step
        if t >= horizon:
            return math.inf
        depth = depth_at(t)
    before, deepest = t, depth
    for _ in range(LOOKS):
        if not depth > LAST * deepest:
            break
        before, t, deepest = t, t + least_time(depth, t), max(deepest, depth)
        if t >= horizon:
            return math.inf
        depth = depth_at(t)
    step = t - before
    while not depth <= 0.0:
        if t >= horizon:
            return math.inf
        before, t, step = t, min(t + step, horizon), 2.0 * step
        depth = depth_at(t)
    return float(root_between(depth_at, before, t, 0.0, CLOSE))


def _gap_at(first: Body | Wall, second: Body, gravity: Array, t: float) -> float:
    moved = second.after(t, gravity)
    if isinstance(first, Wall):
        return float(wall_gap_of(first, moved).gap)
    return float(gap(first.after(t, jnp.asarray(gravity)), moved).gap)
