"""The record of a motion: segments of smooth flow, and the events between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from saltus import checks
from saltus.hybrid.event import Event
from saltus.hybrid.outcome import Outcome
from saltus.hybrid.state import State

SIDES = ("before", "after")


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """A motion that can be asked for its state at any time.

    The instant of a jump has two states: everything that evaluates takes `side`.

    Args:
        knots: States at the accepted steps, stacked; the instant of a jump appears twice or more.
        events: What happened, in order.
        outcome: Why it ended.
        flow: `flow(states, times)`: smooth motion of stacked states to these times, each
            within the step that follows its knot.
        steps: Steps tried.
        replay: `replay(system, start, times)`: the same steps and events with other numbers; None where
            an engine cannot do that.
    """

    knots: State
    events: tuple[Event, ...]
    outcome: Outcome
    flow: Callable[[State, jax.Array], State]
    steps: int = 0
    replay: Callable[..., Any] | None = None

    @property
    def start(self) -> State:
        """The first state."""
        return self._knot(0)

    @property
    def end(self) -> State:
        """The last state."""
        return self._knot(-1)

    def _knot(self, index: int) -> State:
        return jax.tree.map(lambda x: jax.device_put(x[index]), self.knots)

    def at(self, t: float, side: str = "after") -> State:
        """The state at one time."""
        return jax.tree.map(lambda x: jax.device_put(np.asarray(x)[0]), self.states(np.asarray([t], float), side))

    def states(self, times, side: str = "after") -> State:
        """The states at these times, stacked."""
        checks.one_of("side", side, SIDES)
        times = np.asarray(times, float)
        t = np.asarray(self.knots.t)
        if times.size and (times.min() < t[0] or times.max() > t[-1]):
            raise ValueError(
                f"The times {times.min():g} to {times.max():g} s are not all within the run, "
                f"which covers {t[0]:g} to {t[-1]:g} s."
            )
        if side == "after":
            base = np.searchsorted(t, times, side="right") - 1
        else:
            base = np.searchsorted(t, times, side="left")
            base = np.where(t[np.minimum(base, t.size - 1)] == times, base, base - 1)
        from_knots = jax.tree.map(lambda x: jax.device_put(np.asarray(x)[base]), self.knots)
        return self.flow(from_knots, jax.device_put(times))
