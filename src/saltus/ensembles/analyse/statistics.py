"""What many values say: moments, quantiles, histograms and exceedance curves, each with its uncertainty."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import betaincinv

LEVELS = (0.05, 0.25, 0.50, 0.75, 0.95)
CONFIDENCE = 0.95
MAX_BINS = 80
MAX_POINTS = 400


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Moments and quantiles of the finite values of a column; NaN where there are too few, or censoring hides them.

    Args:
        count: How many values are finite.
        missing: How many are not.
        censored: Of how many it is only known that they are no smaller.
        mean: Their mean.
        standard_error: Standard error of the mean.
        sd: Standard deviation of one value.
        minimum: The smallest.
        quantiles: At `LEVELS`.
        maximum: The largest.
    """

    count: int
    missing: int
    censored: int
    mean: float
    standard_error: float
    sd: float
    minimum: float
    quantiles: tuple[float, ...]
    maximum: float

    def row(self) -> dict[str, float]:
        """The numbers with their names."""
        levels = {f"q{100 * level:02.0f}": value for level, value in zip(LEVELS, self.quantiles, strict=True)}
        return {
            "count": self.count,
            "missing": self.missing,
            "censored": self.censored,
            "mean": self.mean,
            "standard_error": self.standard_error,
            "sd": self.sd,
            "min": self.minimum,
            **levels,
            "max": self.maximum,
        }


def present(values: np.ndarray) -> np.ndarray:
    """Where there is a number: finite, and of whole numbers not the -1 of a sample that could not be built."""
    return values >= 0 if values.dtype.kind in "iu" else np.isfinite(values)


def statistics(values: np.ndarray, groups: np.ndarray | None = None, censored: np.ndarray | None = None) -> Statistics:
    """Moments and quantiles of the finite ones of `values`.

    Where some are censored, means are not known; a smallest value or quantile is, where it is the same however large
    the censored values really are. So the median is known while fewer than half are censored, and late.

    Args:
        values: One number per sample.
        groups: Samples with the same number here depend on each other (a Saltelli design); else all are independent.
        censored: Whether the true value is this one or larger (a run that had not stopped when it ended).
    """
    finite = present(values)
    known = values[finite].astype(float)
    missing, hidden = len(values) - len(known), _hide(values, censored)[finite]
    nothing = float("nan")
    if len(known) == 0:
        return Statistics(0, missing, 0, nothing, nothing, nothing, nothing, (nothing,) * len(LEVELS), nothing)
    least, *quantiles, most = _quantiles_if_known(known, hidden)
    if hidden.any():
        mean = error = spread = nothing
    else:
        mean = float(known.mean())
        error = _standard_error(known - mean, None if groups is None else groups[finite])
        spread = float(known.std(ddof=1)) if len(known) > 1 else nothing
    return Statistics(len(known), missing, int(hidden.sum()), mean, error, spread, least, tuple(quantiles), most)


def _hide(values: np.ndarray, censored: np.ndarray | None) -> np.ndarray:
    return np.zeros(len(values), bool) if censored is None else np.asarray(censored, bool)


def _quantiles_if_known(known: np.ndarray, hidden: np.ndarray) -> list[float]:
    """The smallest, the quantiles and the largest of these values; NaN where the hidden ones could change it."""
    levels = (0.0, *LEVELS, 1.0)
    low = np.quantile(known, levels)
    if not hidden.any():
        return low.tolist()
    with np.errstate(invalid="ignore"):  # between two infinite values
        high = np.quantile(np.where(hidden, np.inf, known), levels)
    return np.where(low == high, low, np.nan).tolist()


def _standard_error(deviations: np.ndarray, groups: np.ndarray | None) -> float:
    """Standard error of a mean; deviations within a group count as one."""
    count = len(deviations)
    if groups is not None:
        deviations = np.bincount(np.unique(groups, return_inverse=True)[1], weights=deviations)
    if len(deviations) < 2:
        return float("nan")
    return float(np.sqrt((deviations**2).sum() * len(deviations) / (len(deviations) - 1)) / count)


@dataclasses.dataclass(frozen=True)
class Histogram:
    """How many values lie between each two neighbouring edges; the last bin has both its edges."""

    edges: np.ndarray
    counts: np.ndarray


def histogram(values: np.ndarray, censored: np.ndarray | None = None) -> Histogram:
    """The histogram of the finite ones of `values` that are not censored; whole numbers of a small range have a bin
    each.

    The rule is that of `numpy.histogram_bin_edges(values, "fd")`, which is not called: it makes as many bins as the
    rule asks for, so that one value far from all others would need more memory than there is, and one bin where the
    middle half of the values is one number.
    """
    known = values[present(values) & ~_hide(values, censored)].astype(float)
    if len(known) == 0:
        return Histogram(np.array([0.0, 1.0]), np.array([0]))
    low, high = known.min(), known.max()
    if values.dtype.kind in "iub" and high - low < MAX_BINS:
        edges = np.arange(low, high + 2.0) - 0.5
    elif not high - low > 1e-12 * max(abs(low), abs(high)):
        half = 0.5 * (abs(low) or 1.0)
        edges = np.array([low - half, low + half])
    else:
        # Freedman and Diaconis 1981: the width of a bin from the middle half of the values.
        quarter, three_quarters = np.quantile(known, (0.25, 0.75))
        width = 2.0 * (three_quarters - quarter) / np.cbrt(len(known))
        bins = MAX_BINS if not width > 0 else np.ceil((high - low) / width)
        edges = np.linspace(low, high, int(np.clip(bins, 5, MAX_BINS)) + 1)
    return Histogram(edges, np.histogram(known, edges)[0])


@dataclasses.dataclass(frozen=True)
class Exceedance:
    """The probability that a value is larger than each of `values`, with a confidence band for each of them."""

    values: np.ndarray
    probability: np.ndarray
    low: np.ndarray
    high: np.ndarray


def exceedance(values: np.ndarray, censored: np.ndarray | None = None) -> Exceedance:
    """The exceedance curve of the finite ones of `values`, at the values themselves or at some of them.

    Censored values are larger than they say, so the curve ends before the smallest of them.
    """
    finite, hidden = present(values), _hide(values, censored)
    known = np.sort(values[finite & ~hidden].astype(float))
    count = int(finite.sum())
    known = known[known < np.min(values[finite & hidden].astype(float), initial=np.inf)]
    shown = known
    if len(known) > MAX_POINTS:
        # Half of the points evenly by probability, half by its logarithm: the rare large values count most.
        above = np.geomspace(1, len(known), MAX_POINTS // 2)
        places = np.concatenate([np.linspace(0, len(known) - 1, MAX_POINTS // 2), len(known) - above])
        shown = known[places.astype(int)]
    shown = np.unique(shown)
    larger = count - np.searchsorted(known, shown, side="right")
    low, high = proportion_band(larger, count)
    return Exceedance(shown, larger / max(count, 1), low, high)


def proportion_band(hits: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Between what the probability of a hit lies with `CONFIDENCE`, after `hits` in `count` trials.

    Exact (Clopper and Pearson 1934): the band covers the truth at least so often. The same as
    `scipy.stats.binomtest(...).proportion_ci(method="exact")`, which takes one number of hits at a time.
    """
    hits = np.asarray(hits, float)
    tail = (1.0 - CONFIDENCE) / 2.0
    misses = count - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), misses + 1, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.maximum(misses, 1), 1.0 - tail), 1.0)
    return low, high
