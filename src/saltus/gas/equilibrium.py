"""Whether a gas was in equilibrium while it was measured: the two halves of its averages must agree."""

from __future__ import annotations

import dataclasses
import math

from saltus.gas.series import Series, block_error

BLOCKS = 16  # of each half, from which its standard error comes
MOST = 5.0  # combined standard errors; chance exceeds that about once in 10,000 runs, with so few blocks
WATCHED = {"contacts": "collision rate", "virial": "virial", "heat": "temperature", "order": "nematic order"}


@dataclasses.dataclass(frozen=True)
class Drift:
    """What changed most from the first half of a measurement to the second.

    Args:
        name: Of what; empty where the run is too short to tell.
        errors: By how many combined standard errors.
    """

    name: str
    errors: float

    @property
    def verdict(self) -> str:
        """steady, drifting, or unknown for runs that are too short."""
        return "unknown" if not self.name else "drifting" if self.errors > MOST else "steady"

    def text(self) -> str:
        """In words."""
        if not self.name:
            return "too short to check"
        if self.errors > MOST:
            return f"drifting, the {self.name} changed by {self.errors:.1f} standard errors between the halves"
        return f"steady, the halves agree within {self.errors:.1f} standard errors"


def drift(series: Series) -> Drift:
    """Compare the halves of all that was summed up."""
    duration = series.column("duration")
    middle = len(duration) // 2
    if middle < 2 * BLOCKS:
        return Drift("", float("nan"))
    found = []
    for column, name in WATCHED.items():
        values = series.column(column)
        parts = [(values[half], duration[half]) for half in (slice(0, middle), slice(middle, None))]
        first, second = (above.sum() / below.sum() for above, below in parts)
        error = math.hypot(*(block_error(above, below, BLOCKS) for above, below in parts))
        # What does not change at all, but for rounding, has no errors.
        if error > 1e-12 * abs(first):
            found.append((abs(first - second) / error, name))
    errors, name = max(found, default=(float("nan"), ""))
    return Drift(name, float(errors))
