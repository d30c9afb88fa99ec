"""Values of one key from uniform numbers: the inverse of its distribution function."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from saltus.checks import suggestion
from saltus.errors import ScenarioError
from saltus.scenarios.ensemble import DistributionModel

Inverse = Callable[[np.ndarray], np.ndarray]


def inverse(key: str, model: DistributionModel) -> Inverse:
    """From uniform numbers within (0, 1) to values of `key`, growing with them."""
    if model.name == "choice":
        return _choice(model)
    if model.name == "uniform":
        low, high = model.bounds
        return lambda u: low + u * (high - low)
    location, scale = model.pair
    bounds = np.array(model.bounds)
    if model.name == "lognormal":
        with np.errstate(divide="ignore"):
            standard = _normal(key, model, (np.log(bounds) - np.log(location)) / scale)
        return lambda u: np.clip(location * np.exp(scale * standard(u)), *bounds)
    standard = _normal(key, model, (bounds - location) / scale)
    return lambda u: np.clip(location + scale * standard(u), *bounds)


def _normal(key: str, model: DistributionModel, bounds: np.ndarray) -> Inverse:
    """The standard normal distribution between bounds, scaled up to probability 1."""
    # In the upper tail the distribution function is 1 to rounding: there it is taken from the other side.
    sign = -1.0 if bounds[0] > 0 else 1.0
    low, high = ndtr(sign * bounds)
    if not abs(high - low) > 1e-300:
        raise ScenarioError(
            f"`ensemble.{key}.{model.name}` has no probability worth the name between {model.bounds[0]:g} and "
            f"{model.bounds[1]:g}. Move `min` and `max`, or the distribution."
        )
    return lambda u: sign * ndtri(low + u * (high - low))


def _choice(model: DistributionModel) -> Inverse:
    entries = as_array(model.entries)
    weights = np.ones(len(entries)) if model.weights is None else np.array(model.weights)
    edges = np.cumsum(weights / weights.sum())[:-1]
    return lambda u: entries[np.searchsorted(edges, u, side="right")]


def as_array(entries: list[Any]) -> np.ndarray:
    """Entries of a list as an array: whole numbers, numbers, true/false, or texts."""
    found = np.array(entries)
    return found.astype(object) if found.dtype.kind == "U" else found


def columns(path: str, wanted: dict[str, str]) -> dict[str, np.ndarray]:
    """Numbers of a CSV file with a header line.

    Args:
        path: The file.
        wanted: The name of the column for each key.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except FileNotFoundError:
        raise ScenarioError(f"There is no file {path!r} with values for the ensemble.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ScenarioError(f"Cannot read {path!r} as CSV: {error}.") from None
    header = [name.strip() for name in rows[0]] if rows else []
    if len(rows) < 2:
        raise ScenarioError(f"{path!r} must have a header line with names and at least one row of numbers.")
    found = {}
    for key, name in wanted.items():
        if name not in header:
            near = suggestion(name, header)
            raise ScenarioError(f"{path!r} has no column {name!r}.{near} Its columns: {', '.join(header)}.")
        place = header.index(name)
        found[key] = np.array([_number(row, place, path, name, line) for line, row in enumerate(rows[1:], start=2)])
    return found


def _number(row: list[str], place: int, path: str, name: str, line: int) -> float:
    text = row[place].strip() if place < len(row) else ""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ScenarioError(f"Column {name!r} of {path!r} must have finite numbers, got {text!r} in line {line}.")
    return value
