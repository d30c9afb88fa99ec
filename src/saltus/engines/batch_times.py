"""What the runs of a batch show over time, from the states at their steps, without changing those.

A state between two steps is one shorter step from the one before, as in a single run's trajectory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus.engines.batch import BatchSettings
from saltus.engines.batch_lane import Knots, each
from saltus.engines.flat import FlatSystem
from saltus.hybrid import State
from saltus.hybrid.state import unpack
from saltus.programs import program

TOGETHER = 512  # states that are moved on in one call


class Courses:
    """The knots of the runs of a batch, as `batch.run` tells them to `keep`.

    Args:
        varying: The system's numbers that differ from run to run, stacked.
        shared: The rest of the system.
        settings: Those of the batch.
        start: The states at the beginning, stacked.
    """

    def __init__(self, varying: Any, shared: Any, settings: BatchSettings, start: State):
        self._varying, self.shared, self._settings = jax.tree.map(np.asarray, varying), shared, settings
        self._start = jax.tree.map(np.asarray, start)
        self._told: list[list[tuple[np.ndarray, ...]]] = [[] for _ in self._start.t]

    def keep(self, rows: np.ndarray, knots: Knots) -> None:
        """Put down the next knots of some runs."""
        for row, t, y, mode, count in zip(rows, knots.t, knots.y, knots.mode, knots.count, strict=True):
            self._told[row].append((t[:count].copy(), y[:count].copy(), mode[:count].copy()))

    def system(self, row: int) -> Any:
        """The system of a run."""
        return eqx.combine(jax.tree.map(lambda part: part[row], self._varying), self.shared)

    def knots(self, row: int) -> State:
        """The states of a run at its steps, and before and after its jumps, stacked; its start if it did not go."""
        first = jax.tree.map(lambda part: part[row], self._start)
        if not self._told[row]:
            return jax.tree.map(lambda part: part[None], first)
        t, y, mode = (np.concatenate(parts) for parts in zip(*self._told[row], strict=True))
        return unpack(first, t, y, mode)

    def at(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """What the runs show at rising times, by name, with the runs and the times as first axes.

        The first time after the end of a run shows where it has come to; after that there is nothing: NaN or -1.
        """
        shown: dict[str, np.ndarray] = {}
        given = [self._before(row, times) for row in range(len(self._told))]
        rows = np.repeat(np.arange(len(given)), [len(moments) for _, moments in given])
        columns = np.concatenate([np.arange(len(moments)) for _, moments in given])
        states, moments = jax.tree.map(lambda *parts: np.concatenate(parts), *given)
        for first in range(0, len(rows), TOGETHER):
            some = np.arange(first, min(first + TOGETHER, len(rows)))
            full = np.concatenate([some, np.repeat(some[:1], TOGETHER - some.size)])
            varying = jax.tree.map(lambda part, full=full: part[rows[full]], self._varying)
            given_now = jax.tree.map(lambda part, full=full: part[full], (states, moments))
            seen = _show(self._settings.stepper)(varying, self.shared, self._settings.control, *given_now)
            for name, values in seen.items():
                values = np.asarray(values)[: some.size]
                if name not in shown:
                    nothing = np.nan if values.dtype.kind == "f" else -1
                    shown[name] = np.full((len(given), len(times), *values.shape[1:]), nothing, values.dtype)
                shown[name][rows[some], columns[some]] = values
        return shown

    def _before(self, row: int, times: np.ndarray) -> tuple[State, np.ndarray]:
        """The states of a run from which the first of these times are reached, and the times as it knows them."""
        knots = self.knots(row)
        reached = int(np.searchsorted(times, knots.t[-1], "right"))
        moments = np.clip(times[: reached + 1], knots.t[0], knots.t[-1])
        base = np.searchsorted(knots.t, moments, "right") - 1
        return jax.tree.map(lambda part: part[base], knots), moments


@functools.lru_cache(maxsize=8)
def _show(stepper) -> Callable[..., dict]:
    def show(varying, shared, control, states, times):
        def one(values):
            varying, state, t = values
            system = eqx.combine(varying, shared)
            flat = FlatSystem(system, state)
            y = flat.vector(state)
            moved, _ = control.take(flat, stepper, state.t, y, t - state.t)
            # A state that stays is itself: at rest the rate may be undefined.
            return system.observe(flat.state(t, jnp.where(t == state.t, y, moved)))

        return each(one, (varying, states, times), jax.default_backend() == "cpu")

    return program(show)
