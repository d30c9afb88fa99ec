"""Members of a crowd that move on their own, many at a time."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from saltus.programs import program

SIZES = (32, 256, 2048)  # of the batches in which members are moved


def drift(system, members, q, v, durations) -> tuple[np.ndarray, np.ndarray]:
    """Members moved on their own, each for its time; padded, so that few sizes are compiled."""
    count = len(members)
    if not np.any(durations):
        return np.array(q), np.array(v)
    size = next((size for size in SIZES if size >= count), SIZES[-1])
    found = []
    for begin in range(0, count, size):
        rows = np.minimum(begin + np.arange(size), count - 1)
        lags = np.where(begin + np.arange(size) < count, np.asarray(durations)[rows], 0.0)
        found.append(_drift(system, np.asarray(members)[rows], np.asarray(q)[rows], np.asarray(v)[rows], lags))
    places, velocities = (np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*found, strict=True))
    return places[:count], velocities[:count]


def drift_once(system, members, q, v, which, durations) -> tuple[np.ndarray, np.ndarray]:
    """Members at many times, where nothing is to be compiled for it: results of a run, and its end.

    Args:
        system: The system.
        members: Some members.
        q: Their configurations.
        v: Their velocities.
        which: Which of these is asked for; one row of the answer for each entry.
        durations: After how long.
    """
    members, q, v = np.asarray(members, int), np.asarray(q), np.asarray(v)
    which, durations = np.asarray(which, int), np.asarray(durations, float)
    moved = system.flow_many(members, q, v, which, durations)
    return drift(system, members[which], q[which], v[which], durations) if moved is None else moved


@program
def _drift(system, members, q, v, durations):
    q, v = jnp.asarray(q), jnp.asarray(v)
    return jax.vmap(system.flow)(jnp.asarray(members), q, v, jnp.asarray(durations))
