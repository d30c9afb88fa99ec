"""Runs as arrays: the same number of samples for all, so that one compiled program serves them."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np

from saltus.simulation import Run

SAMPLES = 401


@eqx.filter_jit
def _observe(system: Any, states: Any) -> dict[str, Any]:
    return jax.vmap(system.observe)(states)


def series(run: Run, times: np.ndarray | None = None, side: str = "after") -> dict[str, np.ndarray]:
    """What the system observes at these times, and the times as "t"; evenly over the run if not given.

    Any number of times is done in batches of `SAMPLES`: one size is compiled.
    """
    if times is None:
        times = np.linspace(float(run.trajectory.start.t), float(run.end.t), SAMPLES)
    times = np.asarray(times, float)
    padded = np.concatenate([times, np.full(-len(times) % SAMPLES, times[-1])])
    pieces = [_observe(run.system, run.states(part, side)) for part in padded.reshape(-1, SAMPLES)]
    found = {name: np.concatenate([np.asarray(piece[name]) for piece in pieces])[: len(times)] for name in pieces[0]}
    return {"t": times, **found}
