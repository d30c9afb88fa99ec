"""What the runs of a batch show at given times or within each of their steps, without changing those.

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
from saltus.engines.batch_lane import Lanes, each
from saltus.engines.flat import FlatSystem
from saltus.engines.trial import Status
from saltus.hybrid import State
from saltus.programs import program

TOGETHER = 512  # states that are moved on in one call


class _Looks:
    """States that wait to be moved on to their times, many in one call.

    Args:
        varying: The system's numbers that differ from run to run, stacked.
        shared: The rest of the system.
        settings: Those of the batch.
        keep: Called with what some of them show, and with the labels given with them: first the rows of their runs.
    """

    def __init__(self, varying: Any, shared: Any, settings: BatchSettings, keep: Callable[..., None]):
        self._varying, self._shared, self._settings, self._keep = varying, shared, settings, keep
        self._waiting: list[tuple] = []

    def add(self, labels: tuple[np.ndarray, ...], states: State, times: np.ndarray) -> None:
        """Have these states moved on to these times, now or later."""
        if times.size:
            self._waiting.append((labels, states, times))
        if sum(len(one[-1]) for one in self._waiting) >= TOGETHER:
            self.move_on()

    def move_on(self) -> None:
        """Move on all that wait."""
        if not self._waiting:
            return
        labels, states, times = jax.tree.map(lambda *parts: np.concatenate(parts), *self._waiting)
        self._waiting = []
        for first in range(0, len(times), TOGETHER):
            some = np.arange(first, min(first + TOGETHER, len(times)))
            full = np.concatenate([some, np.repeat(some[:1], TOGETHER - some.size)])
            varying = jax.tree.map(lambda x, full=full: np.asarray(x)[labels[0][full]], self._varying)
            given = jax.tree.map(lambda x, full=full: x[full], (states, times))
            seen = _show(self._settings.stepper)(varying, self._shared, self._settings.control, *given)
            shown = {name: np.asarray(part)[: some.size] for name, part in seen.items()}
            self._keep(shown, *(label[some] for label in labels))


class Moments:
    """What runs show at given times; `record` is what `batch.run` is to call after steps, `shown` tells after the run.

    The first time after the end of a run shows where it has come to; after that there is nothing.

    Args:
        varying: The system's numbers that differ from run to run, stacked.
        shared: The rest of the system.
        settings: Those of the batch.
        times: When to look, rising [s].
        start: The states at the beginning, stacked.
    """

    def __init__(self, varying: Any, shared: Any, settings: BatchSettings, times: np.ndarray, start: State):
        self._shared, self._times = shared, times
        self._kept: dict[str, np.ndarray] = {}
        self._looks = _Looks(varying, shared, settings, self._keep)
        self._size = len(start.t)
        begins = np.searchsorted(times, start.t, "right")
        self._remember(np.arange(self._size), jax.tree.map(np.asarray, start), np.zeros_like(begins), begins)

    def record(self, rows: np.ndarray, before: State, lanes: Lanes) -> None:
        """Remember the states from which the times within a step are reached."""
        after = lanes.state.t[rows]
        first, last = np.searchsorted(self._times, before.t, "right"), np.searchsorted(self._times, after, "right")
        self._remember(rows, before, first, last)
        ended = (lanes.status[rows] != Status.going) | ~np.isin(lanes.state.mode[rows], self._shared.moving_modes)
        if ended.any():
            final = jax.tree.map(lambda x: x[rows[ended]], lanes.state)
            self._remember(rows[ended], final, last[ended], np.minimum(last[ended] + 1, len(self._times)), True)

    def quantities(self) -> dict[str, np.ndarray]:
        """All quantities by name, with the runs and the times as first axes; NaN or -1 where there is nothing."""
        self._looks.move_on()
        return self._kept

    def _remember(self, rows: np.ndarray, states: State, first: np.ndarray, last: np.ndarray, stays: bool = False):
        """States from which the times `first` to `last` - 1 are reached, or at which the run stays."""
        counts = np.maximum(last - first, 0)
        which = np.repeat(np.arange(len(rows)), counts)
        columns = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts) + first[which]
        chosen = jax.tree.map(lambda x: x[which], states)
        times = chosen.t if stays else np.maximum(self._times[columns], chosen.t)
        self._looks.add((rows[which], columns), chosen, times)

    def _keep(self, shown: dict[str, np.ndarray], rows: np.ndarray, columns: np.ndarray) -> None:
        for name, values in shown.items():
            if name not in self._kept:
                nothing = np.nan if values.dtype.kind == "f" else -1
                shape = (self._size, len(self._times), *values.shape[1:])
                self._kept[name] = np.full(shape, nothing, values.dtype)
            self._kept[name][rows, columns] = values


class Ways:
    """What runs show within each of their steps; `record` is what `batch.run` is to call after steps.

    A look at the end of a step sees the state before a jump, one at its beginning that after it.

    Args:
        varying: The system's numbers that differ from run to run, stacked.
        shared: The rest of the system.
        settings: Those of the batch.
        names: The quantities that are wanted.
        when: `when(before, after)`: when to look in steps from these states to those, both stacked; to which step
            each look belongs, rising, and its time within that step [s].
    """

    def __init__(
        self, varying: Any, shared: Any, settings: BatchSettings, names: tuple[str, ...],
        when: Callable[[State, State], tuple[np.ndarray, np.ndarray]],
    ):  # fmt: skip
        self._when, self._names = when, names
        self._looks = _Looks(varying, shared, settings, self._keep)
        self._kept: list[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]] = []

    def record(self, rows: np.ndarray, before: State, lanes: Lanes) -> None:
        """Remember the states from which the looks of some steps are reached."""
        which, times = self._when(before, jax.tree.map(lambda x: x[rows], lanes.state))
        self._looks.add((rows[which], times), jax.tree.map(lambda x: x[which], before), times)

    def looks(self) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]] | None:
        """Of all looks, run by run and in their order, the row of the run, the time and what it shows; None of none."""
        self._looks.move_on()
        if not self._kept:
            return None
        rows, times, shown = jax.tree.map(lambda *parts: np.concatenate(parts), *self._kept)
        order = np.argsort(rows, kind="stable")
        return rows[order], times[order], {name: values[order] for name, values in shown.items()}

    def _keep(self, shown: dict[str, np.ndarray], rows: np.ndarray, times: np.ndarray) -> None:
        self._kept.append((rows, times, {name: shown[name] for name in self._names}))


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
