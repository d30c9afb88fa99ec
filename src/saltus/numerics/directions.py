"""Directions that are spread evenly over a sphere, or over a half of it."""

from __future__ import annotations

import numpy as np


def spiral(count: int, first: float = 1.0, last: float = -1.0) -> np.ndarray:
    """Unit vectors, of shape (count, 3), along a spiral from one height on the unit sphere to another.

    Each is turned by the golden angle from the one before, so that none lies near the others.
    """
    k = np.arange(count) + 0.5
    z, angle = first + (last - first) * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    flat = np.sqrt(1.0 - z**2)
    return np.stack([flat * np.cos(angle), flat * np.sin(angle), z], axis=-1)
