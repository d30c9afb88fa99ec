"""Which keys a column depends on: Sobol' indices, those of a Saltelli design by SALib."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from saltus.ensembles.analyse.statistics import present
from saltus.errors import MissingExtraError

MIN_SAMPLES = 64
MAX_SAMPLES = 100_000  # of more samples, as many drawn at random are used
SEED = 1  # of the resampling behind the confidence
HALVES = 50  # of the samples, drawn for the confidence


@dataclasses.dataclass(frozen=True)
class Indices:
    """Shares of the variance of a column; NaN where it does not vary, or has fewer than `MIN_SAMPLES` values.

    Args:
        keys: The keys.
        first: What each key brings about alone.
        first_confidence: Half width of its 95 % confidence interval.
        total: What each key brings about alone and together with others; needs a Saltelli design.
        total_confidence: Half width of its interval.
        second: What each pair of keys brings about together, beyond each alone.
    """

    keys: tuple[str, ...]
    first: np.ndarray
    first_confidence: np.ndarray
    total: np.ndarray | None = None
    total_confidence: np.ndarray | None = None
    second: np.ndarray | None = None

    def rows(self) -> list[dict[str, Any]]:
        """The indices of each key by their names."""
        rows = []
        for place, key in enumerate(self.keys):
            row = {"key": key, "first": float(self.first[place]), "first_ci": float(self.first_confidence[place])}
            if self.total is not None and self.total_confidence is not None:
                row |= {"total": float(self.total[place]), "total_ci": float(self.total_confidence[place])}
            rows.append(row)
        return rows

    def pairs(self) -> list[dict[str, Any]]:
        """The indices of second order by their names."""
        if self.second is None:
            return []
        first, second = np.triu_indices(len(self.keys), 1)
        return [
            {"key": self.keys[i], "other": self.keys[j], "second": float(self.second[i, j])}
            for i, j in zip(first, second, strict=True)
        ]


def given_data(keys: tuple[str, ...], points: np.ndarray, values: np.ndarray, even: bool = False) -> Indices:
    """First-order indices from any samples: the share of the variance that the means over classes of a key show.

    A key has classes of equal size (16 for a thousand samples), or one for each of its values if
    those are fewer. What the classes would show by chance is taken off (Kelley 1935). Methods that follow a key's
    harmonics (RBD-FAST) mistake the regularity of a Sobol sequence for influence: 0.6 for a key without any.

    Args:
        keys: The keys.
        points: Drawn values (sample, key).
        values: The column; samples where it is not finite are left out.
        even: Whether the samples fill their space evenly (a grid, a Sobol sequence), so that chance shows nothing.
    """
    known = np.flatnonzero(present(values))
    generator = np.random.default_rng(SEED)
    # In a random order: where a key has equal values, the order of the samples must not tell of the other keys.
    chosen = generator.permutation(known)[:MAX_SAMPLES]
    column = values[chosen].astype(float)
    if len(column) < MIN_SAMPLES or np.ptp(column) == 0:
        return _undefined(keys)
    first, confidence = [], []
    for key in points[chosen].T:
        classes = _classes(key)
        # Half of the samples scatter about all of them as all of them scatter about the truth.
        halves = (generator.permutation(len(column))[: len(column) // 2] for _ in range(HALVES))
        spread = np.std([_explained_share(classes[half], column[half], even) for half in halves])
        first.append(_explained_share(classes, column, even))
        confidence.append(1.96 * spread)
    return Indices(keys, np.array(first), np.array(confidence))


def _classes(key: np.ndarray) -> np.ndarray:
    """The number of the class that each value of a key belongs to."""
    count = int(len(key) ** 0.4)  # fewer hide what happens within a class, more show chance
    different, place = np.unique(key, return_inverse=True)
    if len(different) <= count:
        return place
    classes = np.empty(len(key), int)
    classes[np.argsort(key, kind="stable")] = np.arange(len(key)) * count // len(key)
    return classes


def _explained_share(classes: np.ndarray, values: np.ndarray, even: bool) -> float:
    """Share of the variance of `values` that is between classes, without what chance brings about."""
    values = values - values.mean()
    counts = np.bincount(classes)
    whole = (values**2).sum()
    within = whole - (np.bincount(classes, values)[counts > 0] ** 2 / counts[counts > 0]).sum()
    by_chance = 1.0 if even else (len(values) - 1) / (len(values) - np.count_nonzero(counts))
    return float(1.0 - by_chance * within / whole) if whole > 0.0 else 0.0


def saltelli(keys: tuple[str, ...], numbers: np.ndarray, values: np.ndarray) -> Indices:
    """First-order, second-order and total indices of a Saltelli design (Sobol' 2001, Saltelli et al. 2010).

    Args:
        keys: The keys.
        numbers: Number of each sample in the design.
        values: The column; a base point of which a sample is missing or not finite is left out with all its samples.
    """
    salib = _salib("sobol")
    block = 2 * len(keys) + 2
    known = present(values)
    base, counts = np.unique(numbers[known] // block, return_counts=True)
    whole = base[counts == block]
    column = values[known & np.isin(numbers // block, whole)].astype(float)
    if len(column) < MIN_SAMPLES or np.ptp(column) == 0:
        return _undefined(keys, total=True)
    with _quiet():
        found = salib.analyze(_problem(keys), column, calc_second_order=True, seed=SEED)
    return Indices(keys, found["S1"], found["S1_conf"], found["ST"], found["ST_conf"], found["S2"])


def _undefined(keys: tuple[str, ...], total: bool = False) -> Indices:
    nothing = np.full(len(keys), np.nan)
    if not total:
        return Indices(keys, nothing, nothing)
    return Indices(keys, nothing, nothing, nothing, nothing, np.full((len(keys), len(keys)), np.nan))


def _problem(keys: tuple[str, ...]) -> dict[str, Any]:
    return {"num_vars": len(keys), "names": list(keys), "bounds": [[0.0, 1.0]] * len(keys)}


def _salib(method: str) -> Any:
    try:
        return importlib.import_module(f"SALib.analyze.{method}")
    except ImportError as error:
        raise MissingExtraError(
            "Sensitivity needs SALib, which is not installed: pip install 'saltus[sensitivity]'."
        ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of numpy and pandas from within SALib."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
