"""How often something comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr


def upward_crossings(series: xr.DataArray, level: float | None = None) -> np.ndarray:
    """Times at which a quantity rises through a level [s].

    A cubic spline through the samples is solved for them: with 100 samples per period of a sine they are
    right to about 1e-7 periods.

    Args:
        series: A quantity over `time`, one number per instant.
        level: The level; the mean of the quantity if none is given.
    """
    times, first = np.unique(series["time"].values, return_index=True)
    values = series.values[first]
    known = np.isfinite(values)
    if known.sum() < 4:
        return np.empty(0)
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(times[known], values[known] - (np.mean(values[known]) if level is None else level))
    roots = spline.roots(extrapolate=False)
    return roots[spline(roots, 1) > 0]


def periods(series: xr.DataArray, level: float | None = None) -> np.ndarray:
    """Times between successive rises of a quantity through a level, its mean by default [s]."""
    return np.diff(upward_crossings(series, level))
