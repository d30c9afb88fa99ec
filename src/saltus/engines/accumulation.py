"""Events that pile up: infinitely many in a finite time (Zeno), or at one instant."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np

INTERVALS = 6  # intervals in a geometric row before it counts as piling up
SMALL = 1e-9  # what is left of the row, against its longest interval


class PileUp:
    """Watches the times of the events of each guard and tells when they pile up.

    A ball that loses a share of its speed at each bounce comes to rest after infinitely many
    bounces in a finite time. The intervals form a geometric row, whose sum gives that time.
    """

    def __init__(self):
        self._times = defaultdict(lambda: deque(maxlen=INTERVALS + 1))
        self._longest = defaultdict(float)

    def limit(self, name: str, index: int, t: float) -> float | None:
        """The time at which the events of this guard end, if they pile up; call once per event."""
        times = self._times[name, index]
        times.append(t)
        gaps = np.diff(times)
        if len(gaps):
            shrinking = len(gaps) < 2 or gaps[-1] < gaps[-2]
            self._longest[name, index] = max(self._longest[name, index], gaps[-1]) if shrinking else gaps[-1]
        if len(gaps) < INTERVALS:
            return None
        if (gaps <= 8.0 * np.spacing(abs(t))).all():
            return t
        if not (gaps[:-1] > 0.0).all():
            return None
        ratios = gaps[1:] / gaps[:-1]
        if ratios.max() >= 1.0 or ratios.max() - ratios.min() > 0.05:
            return None
        ratio = float(ratios[-1])
        rest = float(gaps[-1]) * ratio / (1.0 - ratio)
        return t + rest if rest < SMALL * self._longest[name, index] else None
