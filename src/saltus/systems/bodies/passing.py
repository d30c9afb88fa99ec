"""Bodies that pass through each other, as the conservation laws alone would have it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.contacts.gap import gap
from saltus.contacts.wall import Wall, wall_gap
from saltus.programs import program
from saltus.shapes.body import Body

SAMPLES = 64
ROUNDS = 12  # each narrows the time of emergence by the number of samples


def emergence(first: Body | Wall, second: Body, gravity: Array, horizon: float) -> float:
    """Time until two overlapping bodies in free motion are apart; infinite if they are not within the horizon."""
    low, high = 0.0, float(horizon)
    for k in range(ROUNDS):
        times = low + (high - low) * jnp.linspace(0.0, 1.0, SAMPLES)
        gaps = _gaps(first, second, gravity, times)
        # At the very start the gap is zero: the overlap has to be seen before its end.
        opened = jnp.flatnonzero((gaps[1:] > 0.0) & ((gaps[:-1] <= 0.0) | (k > 0)))
        if opened.size == 0:
            return float("inf")
        low, high = float(times[opened[0]]), float(times[opened[0] + 1])
    return high


@program
def _gaps(first, second, gravity: Array, times: Array) -> Array:
    def at(t):
        moved = second.after(t, gravity)
        if isinstance(first, Wall):
            return wall_gap(first, moved).gap
        return gap(first.after(t, gravity), moved).gap

    return jax.vmap(at)(times)
