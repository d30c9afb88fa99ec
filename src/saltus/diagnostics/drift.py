"""How well the constraints of a system were kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr


def length_drift(lengths: np.ndarray) -> float:
    """Largest relative change of any length over a run; the first axis is time."""
    if lengths.size == 0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):  # lengths that rounding has made nothing of
        return float(np.nanmax(np.abs(lengths / lengths[0] - 1.0)))


def norm_drift(quaternions: np.ndarray) -> float:
    """Largest deviation of any quaternion's norm from one; the last axis holds the components."""
    if quaternions.size == 0:
        return 0.0
    return float(np.nanmax(np.abs(np.linalg.norm(quaternions, axis=-1) - 1.0)))


# Variables of a dataset that should keep something, and how far they strayed.
DRIFTS: dict[str, Callable[[np.ndarray], float]] = {
    "rod_length": length_drift,
    "link_length": length_drift,
    "quaternion": norm_drift,
}


def constraint_drift(dataset: xr.Dataset) -> float | None:
    """Largest relative violation of a constraint over a run; None for a system without constraints."""
    if "rod_whole" in dataset:  # elastic rods are meant to change their length
        return None
    return drift_of({name: dataset[name].values for name in DRIFTS if name in dataset})


def drift_of(kept: Mapping[str, np.ndarray]) -> float | None:
    """Largest relative violation of the constraints behind these variables (`DRIFTS`); None if there are none."""
    found = [drift(kept[name]) for name, drift in DRIFTS.items() if name in kept and kept[name].size]
    return max(found) if found else None
