"""How many steps a run may take, and whether it still gets on: no run goes on without end."""

from __future__ import annotations

import math

import numpy as np

from saltus.hybrid import Outcome

MAX_STEPS = 1_000_000  # steps of a run, if nothing else is asked for: half a minute for a small system
WINDOW = 20_000  # steps over which the progress of a run is measured
ENDLESS = 0.1  # part of them that a run without an end time may take


def most_steps(until: float, max_steps: int) -> int:
    """Steps that a run to this time may take in all."""
    return int(ENDLESS * max_steps) if math.isinf(until) else max_steps


class Budget:
    """Ends a run that has used up its steps, and early one that would by far.

    A run that needs steps much shorter than the time it is to cover is told from the last `WINDOW` steps: at their
    pace the time left would take more than `max_steps` steps. A run without an end time has no pace to
    keep; it gets a part of the steps.

    Args:
        until: Time of the end [s]; may be infinite.
        max_steps: Steps that a run may take, and the most that the rest of it may be expected to take.
        t: Time of the start [s].
    """

    def __init__(self, until: float, max_steps: int, t: float):
        self.until, self.max_steps = until, max_steps
        self._steps, self._t = 0, t

    def judge(self, t: float, steps: int) -> str | None:
        """Why the run should end here, after so many steps (searches for events count as several)."""
        if steps >= self.max_steps:
            return f"{steps} steps are taken"
        if math.isinf(self.until):
            endless = steps >= most_steps(self.until, self.max_steps)
            return f"{steps} steps have led to no end, and no end time is given" if endless else None
        taken, gone, left = steps - self._steps, t - self._t, self.until - t
        if taken < WINDOW:
            return None
        self._steps, self._t = steps, t
        if left * taken <= gone * self.max_steps:
            return None
        return f"the last {taken} steps covered {gone:.2g} s, and {left:.3g} s are left"


def crawl_outcome(
    reason: str, t: float, where: str, last_event: str | None, recent: tuple[np.ndarray, np.ndarray, int]
) -> Outcome:
    """The outcome of a run that its budget ends, with what it is that changes so quickly.

    Args:
        reason: What `Budget.judge` says.
        t: Time reached [s].
        where: The modes in words.
        last_event: Name of the last event, if there was one.
        recent: Times and vectors of the last steps, and how many positions the vectors begin with.
    """
    event = "no event so far" if last_event is None else f"last event {last_event!r}"
    return Outcome(
        "too_many_steps",
        f"Stopped at t = {t:.6g} s: {reason} ({where}; {event}; {_quickest(*recent)}). Raise max_steps to go on, "
        "end the run earlier, or look for numbers that differ by many powers of ten.",
    )


def _quickest(times: np.ndarray, vectors: np.ndarray, n_positions: int) -> str:
    """Which component of the state turns most in the last steps, and how long these are."""
    if len(times) < 3:
        return "no step succeeds"
    way = np.abs(np.diff(vectors, n=2, axis=0)).sum(axis=0)
    turned = np.nan_to_num(way / np.maximum(np.abs(vectors).max(axis=0), 1e-300))
    k = int(np.argmax(turned))
    name = f"q[{k}]" if k < n_positions else f"v[{k - n_positions}]"
    return f"steps of {np.median(np.diff(times)):.2g} s, {name} changes most"
