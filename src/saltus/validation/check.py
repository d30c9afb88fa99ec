"""One comparison with a reference value."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Check:
    """How far a computed quantity is from its reference, and how far it may be.

    Args:
        what: The quantity, as in "position at t = 1.5".
        error: Distance from the reference, in the units of the tolerance; NaN fails.
        tolerance: What is allowed.
    """

    what: str
    error: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """Whether the error is within the tolerance."""
        return bool(self.error <= self.tolerance)

    @property
    def ratio(self) -> float:
        """Error in units of the tolerance; 0 for an exact answer, infinite for one that is not a number."""
        if math.isnan(self.error):
            return math.inf
        if self.error == 0.0:
            return 0.0
        return self.error / self.tolerance if self.tolerance > 0 else math.inf


def difference(what: str, found: Any, wanted: Any, tolerance: float) -> Check:
    """Largest distance of any number from its reference; where the reference is null, NaN is right."""
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    if found.shape != wanted.shape:
        return Check(f"{what}: shape {found.shape} instead of {wanted.shape}", math.inf, tolerance)
    undefined = np.isnan(wanted)
    if (np.isnan(found) != undefined).any():
        return Check(f"{what}: defined where it should not be, or the reverse", math.inf, float(tolerance))
    distance = np.abs(found - wanted)[~undefined]
    return Check(what, float(np.max(distance, initial=0.0)), float(tolerance))


def fact(what: str, holds: bool) -> Check:
    """Something that is true or false."""
    return Check(what, 0.0 if holds else math.inf, 0.0)
