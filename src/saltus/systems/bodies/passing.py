"""Bodies that pass through each other, as the conservation laws alone would have it."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.contacts.gap import gap
from saltus.contacts.wall import Wall
from saltus.shapes.body import Body
from saltus.systems.bodies.touch import wall_gap_of

CLEAR = 1e-9  # of the size: how deep an overlap must have been before it can end
APART = 1e-14  # of the size: as good as apart
LOOKS = 10_000


def emergence(first: Body | Wall, second: Body, gravity: Array, horizon: float) -> float:
    """Time until two overlapping bodies in free motion are apart; infinite if they are not within the horizon [s].

    No overlap of this depth can end sooner than its depth over the highest speed of approach: steps of that length
    lead to its end without passing it by.
    """
    bodies = [body for body in (first, second) if not isinstance(body, Wall)]
    size = float(sum(body.shape.radius() for body in bodies))
    turning = sum(float(body.fastest_turn() * body.shape.radius()) for body in bodies)
    velocity = np.asarray(bodies[-1].velocity - (bodies[0].velocity if len(bodies) > 1 else 0.0))
    pull = 0.0 if len(bodies) > 1 else float(np.linalg.norm(gravity))
    t, sunk = 0.0, False
    for _ in range(LOOKS):
        depth = -_gap_at(first, second, gravity, t)
        sunk = sunk or depth > CLEAR * size
        if sunk and depth <= APART * size:
            return t
        speed = float(np.linalg.norm(velocity)) + pull * t + turning
        # At first the overlap is not yet to be told from rounding.
        t += max(depth, 0.0 if sunk else CLEAR * size, APART * size) / max(speed + pull * (horizon - t), 1e-300)
        if t >= horizon:
            return float("inf")
    return float("inf")


def _gap_at(first: Body | Wall, second: Body, gravity: Array, t: float) -> float:
    moved = second.after(t, gravity)
    if isinstance(first, Wall):
        return float(wall_gap_of(first, moved).gap)
    return float(gap(first.after(t, jnp.asarray(gravity)), moved).gap)
