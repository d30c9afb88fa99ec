"""What was observed: numbers with a name, a moment and a standard deviation; from objects, datasets and CSV files."""

from __future__ import annotations

import csv
import dataclasses
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from saltus.checks import suggestion
from saltus.errors import ScenarioError

COLUMNS = ("what", "at", "index", "value", "sigma")
NEEDED = ("what", "at", "value")
EVENT = re.compile(r"^([A-Za-z_]\w*)(?:\[(\d+)\])?(?:#(-?\d+))?$")
NO_OBSERVATIONS = ("mode", "jump_side")


@dataclasses.dataclass(frozen=True)
class Observation:
    """A number or an array that was observed.

    Args:
        what: Name of a result, such as "position", or "time", when the moment `at` was.
        value: What was seen, in SI units; with several times the first axis is that of the times. NaN is left out.
        at: When: a time or several [s]; "end", the end of the run; or an event, such as "stop" (the first one),
            "stop#1" (the second), "stop#-1" (the last) or "stop[2]" (the first with index 2), after its jump.
        index: Which entries of the result, by label or number, such as (0, "x"); all of them if left out.
        sigma: Standard deviation of `value`, one or as many; None: unknown, the same for all observations.
    """

    what: str
    value: Any
    at: Any = "end"
    index: Any = ()
    sigma: Any = None


@dataclasses.dataclass(frozen=True)
class Moment:
    """When something was seen: at a time, at the end, or at an event."""

    time: float | None = None
    event: str | None = None
    index: int | None = None
    occurrence: int = 0

    def __str__(self) -> str:
        if self.time is not None:
            return f"t = {self.time:g} s"
        if self.event is None:
            return "the end"
        which = "" if self.index is None else f"[{self.index}]"
        return f"event {self.event}{which}#{self.occurrence}"


@dataclasses.dataclass(frozen=True)
class Sighting:
    """One number that was observed; `sigma` is NaN if it is not known."""

    what: str
    moment: Moment
    index: tuple[int, ...]
    value: float
    sigma: float


def read_observations(observed: Any) -> list[Observation]:
    """The observations that a user gives as objects, mappings, a dataset or a CSV file."""
    if isinstance(observed, str | os.PathLike):
        return read_csv(Path(observed))
    if isinstance(observed, Observation):
        return [observed]
    if hasattr(observed, "data_vars"):
        return _from_dataset(observed)
    if isinstance(observed, Mapping):
        return [_from_mapping(observed)]
    if not isinstance(observed, Iterable):
        raise ScenarioError(f"`observed` must be observations, a dataset or a CSV file, got {type(observed).__name__}.")
    return [one if isinstance(one, Observation) else _from_mapping(one) for one in observed]


def _from_mapping(given: Any) -> Observation:
    if not isinstance(given, Mapping):
        raise ScenarioError(f"An observation has `what`, `value` and `at`, got {given!r}.")
    names = [field.name for field in dataclasses.fields(Observation)]
    for name in given:
        if name not in names:
            near = suggestion(str(name), names)
            raise ScenarioError(f"Unknown part {name!r} of an observation.{near} Known: {', '.join(names)}.")
    for name in ("what", "value"):
        if name not in given:
            raise ScenarioError(f"An observation needs `{name}`, got {dict(given)!r}.")
    return Observation(**given)


def _from_dataset(dataset: Any) -> list[Observation]:
    """Every variable over `time`, with the standard deviations of a variable `<name>_sigma` if there is one."""
    if "time" not in dataset.coords:
        raise ScenarioError("The observed dataset has no coordinate `time`, in seconds.")
    if "jump_side" in dataset:
        dataset = dataset.isel(time=np.flatnonzero(np.asarray(dataset["jump_side"]) == 0))
    found = []
    for name, values in dataset.data_vars.items():
        if str(name).endswith("_sigma") or name in NO_OBSERVATIONS or "time" not in values.dims:
            continue
        sigma = dataset.get(f"{name}_sigma")
        sigma = None if sigma is None else np.broadcast_to(sigma.values, values.shape)
        found.append(Observation(str(name), values.values, dataset["time"].values, sigma=sigma))
    return found


def read_csv(path: Path) -> list[Observation]:
    """The observations of a file with the columns what, at, value and, if wanted, index and sigma.

    `index` has its entries separated by blanks, such as `0 x`; lines that begin with # are left out.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = [(number, line) for number, line in enumerate(file, 1) if line.strip() and line.lstrip()[0] != "#"]
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not a text file"
        raise ScenarioError(f"Cannot read the observations {str(path)!r}: {reason}.") from None
    if not lines:
        raise ScenarioError(f"{path.name} holds no observations. Its columns are {', '.join(COLUMNS)}.")
    table = csv.DictReader([line for _, line in lines], skipinitialspace=True, restkey="", restval="")
    heads = [str(head).strip() for head in table.fieldnames or ()]
    table.fieldnames = heads
    for head in heads:
        if head not in COLUMNS:
            known = ", ".join(COLUMNS)
            raise ScenarioError(
                f"{path.name} has an unknown column {head!r}.{suggestion(head, COLUMNS)} Known: {known}."
            )
    for head in NEEDED:
        if head not in heads:
            raise ScenarioError(f"{path.name} has no column {head!r}. Its columns are {', '.join(COLUMNS)}.")
    return [_from_row(row, f"line {number} of {path.name}") for row, (number, _) in zip(table, lines[1:], strict=True)]


def _from_row(row: Mapping[str, Any], where: str) -> Observation:
    if "" in row:
        raise ScenarioError(f"There are more entries than columns in {where}.")
    cells = {name: str(cell).strip() for name, cell in row.items()}
    sigma = cells.get("sigma", "")
    return Observation(
        cells["what"],
        _number(cells["value"], "value", where),
        _time_or_word(cells["at"]),
        tuple(_entry(part) for part in cells.get("index", "").split()),
        _number(sigma, "sigma", where) if sigma else None,
    )


def _number(text: str, name: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ScenarioError(f"`{name}` in {where} must be a number, got {text!r}.") from None


def _time_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _entry(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdecimal() else text


def moments_of(at: Any) -> list[Moment] | Moment:
    """One moment, or several for several times."""
    if isinstance(at, Moment):
        return at
    if isinstance(at, str):
        if at == "end":
            return Moment()
        found = EVENT.match(at)
        if found is None:
            raise ScenarioError(
                f'`at` must be a time, "end" or an event such as "stop", "stop#1" or "stop[0]", got {at!r}.'
            )
        name, index, occurrence = found.groups()
        return Moment(None, name, None if index is None else int(index), int(occurrence or 0))
    try:
        times = np.asarray(at, float)
    except (TypeError, ValueError):
        raise ScenarioError(f'`at` must be a time or several, "end" or an event, got {at!r}.') from None
    if times.ndim > 1 or not np.isfinite(times).all():
        raise ScenarioError(f"The times `at` must be finite numbers, got {at!r}.")
    return Moment(float(times)) if times.ndim == 0 else [Moment(float(t)) for t in times]


def sightings(observed: list[Observation], system: Any) -> list[Sighting]:
    """The observations number by number, their names and labels looked up in the system's results."""
    found = [one for observation in observed for one in _spread(observation, system)]
    if not found:
        raise ScenarioError("There are no observations. Give at least as many as there are parameters.")
    unknown = [math.isnan(one.sigma) for one in found]
    if any(unknown) and not all(unknown):
        raise ScenarioError(
            f"{sum(unknown)} of the {len(found)} observations have no `sigma`. Give it for all of them, or for none."
        )
    return found


def _spread(observation: Observation, system: Any) -> list[Sighting]:
    moments = moments_of(observation.at)
    shape, dims = _shape_of(observation.what, system)
    places = _places(observation, dims, shape, system)
    wanted = np.arange(math.prod(shape)).reshape(shape)[places] if shape else np.zeros((), int)
    whole = (*((len(moments),) if isinstance(moments, list) else ()), *np.shape(wanted))
    values = _array(observation, "value", whole)
    sigma = np.full(whole, math.nan) if observation.sigma is None else _array(observation, "sigma", whole)
    if observation.sigma is not None and not (sigma[np.isfinite(values)] > 0.0).all():
        raise ScenarioError(f"`sigma` of {observation.what!r} must be > 0, got {np.nanmin(sigma):g}.")
    several = moments if isinstance(moments, list) else [moments]
    rows = values.reshape(len(several), -1), sigma.reshape(len(several), -1)
    entries = [tuple(int(k) for k in np.unravel_index(flat, shape)) if shape else () for flat in np.ravel(wanted)]
    return [
        Sighting(observation.what, moment, entry, float(value), float(spread))
        for moment, *row in zip(several, *rows, strict=True)
        for entry, value, spread in zip(entries, *row, strict=True)
        if math.isfinite(value)
    ]


def _shape_of(what: str, system: Any) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Shape and dimensions of a result of the system."""
    if what == "time":
        return (), ()
    quantities = {name: one for name, one in system.quantities.items() if name not in NO_OBSERVATIONS}
    if what not in quantities:
        known = ["time", *quantities]
        near = suggestion(str(what), known)
        raise ScenarioError(f"A run of {system.kind!r} has no result {what!r}.{near} Known: {', '.join(known)}.")
    return system.shapes[what], quantities[what].dims


def _places(observation: Observation, dims, shape, system) -> tuple[int, ...]:
    """The entries of `index` as numbers along the first dimensions."""
    index = observation.index
    index = tuple(index) if isinstance(index, tuple | list) else (index,)
    if len(index) > len(dims):
        raise ScenarioError(
            f"`index` of {observation.what!r} has {len(index)} entries, but the result has only "
            f"{len(dims)} dimensions: {', '.join(dims) or 'none'}."
        )
    labels = system.labels
    places = []
    for entry, dim, size in zip(index, dims, shape, strict=False):
        known = list(labels.get(dim, range(size)))
        if entry not in known:
            told = ", ".join(map(str, known[:12])) + (", ..." if len(known) > 12 else "")
            raise ScenarioError(f"{observation.what!r} has no {dim} {entry!r}. Known: {told}.")
        places.append(known.index(entry))
    return tuple(places)


def _array(observation: Observation, name: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        values = np.asarray(getattr(observation, name), float)
    except (TypeError, ValueError):
        given = getattr(observation, name)
        raise ScenarioError(f"`{name}` of {observation.what!r} must be numbers, got {given!r}.") from None
    if name == "sigma" and values.ndim == 0:
        return np.broadcast_to(values, shape)
    if values.shape != shape:
        raise ScenarioError(
            f"`{name}` of {observation.what!r} must have the shape {shape}, got {values.shape}: "
            "times first, then the dimensions of the result that `index` leaves."
        )
    return values
