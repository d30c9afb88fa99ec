"""A stored ensemble as its reader sees it: the samples that are complete, column by column."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from saltus import checks
from saltus.ensembles.analyse.statistics import proportion_band
from saltus.ensembles.compute.outputs import STOPPED
from saltus.errors import MissingExtraError, ScenarioError

SLAB = 65_536  # samples read at a time
MAX_ENTRIES = 16  # a column with more entries per sample is summarized only where it is asked for


@dataclasses.dataclass(frozen=True)
class Column:
    """One number of every complete sample.

    Args:
        name: Its name, with the place of the entry where a sample has several: "final_position.0.1".
        units: SI units.
        long_name: What it is.
        values: One entry per complete sample.
        censored: Which of them are smaller than the true value may be, where some are: runs that had not stopped.
    """

    name: str
    units: str
    long_name: str
    values: np.ndarray
    censored: np.ndarray | None = None

    @property
    def label(self) -> str:
        """Name and units."""
        return self.name if self.units in ("", "1", "-") else f"{self.name} [{self.units}]"


class Result:
    """The complete samples of a stored ensemble; one variable at a time is in memory.

    Args:
        path: The Zarr store, finished or not.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self._dataset = _open(self.path)
        self.attributes = self._dataset.attrs
        self.samples = int(self._dataset.sizes["sample"])
        flags = self._dataset["done"].values == 1 if "done" in self._dataset else np.ones(self.samples, bool)
        self.numbers = np.flatnonzero(flags)
        if len(self.numbers) == 0:
            raise ScenarioError(f"No sample of {str(path)!r} is complete yet.")

    @property
    def design(self) -> str:
        """The design of the samples."""
        return str(self.attributes.get("design", "random"))

    @property
    def names(self) -> list[str]:
        """The columns with numbers that mean themselves; those with one number per sample first."""
        found = [
            str(name)
            for name, variable in self._dataset.data_vars.items()
            if variable.dims[:1] == ("sample",)
            and "time" not in variable.dims
            and variable.dtype.kind in "fiub"
            and name not in ("done", "parameter", STOPPED)
            and not self._is_code(name)
        ]
        return sorted(found, key=lambda name: (self._dataset[name].ndim, name))

    def _is_code(self, name: object) -> bool:
        """Whether the numbers of a variable stand for words."""
        return name == "final_mode" or "flag_values" in self._dataset[name].attrs

    def _words(self, name: str) -> dict[int, str]:
        """What the codes of a variable mean."""
        attributes = self._dataset[name].attrs
        words = str(attributes.get("flag_meanings", "")).split()
        return dict(zip(np.atleast_1d(attributes.get("flag_values", [])).tolist(), words, strict=False))

    @property
    def keys(self) -> list[str]:
        """The keys that were drawn."""
        return [str(key) for key in self._dataset["key"].values] if "key" in self._dataset.coords else []

    @property
    def choices(self) -> dict[str, list[str]]:
        """The texts that a key takes, for each key that takes texts."""
        return json.loads(self._dataset["parameter"].attrs.get("choices", "{}")) if "parameter" in self._dataset else {}

    @property
    def groups(self) -> np.ndarray | None:
        """Which complete samples depend on each other, by a number per sample; None where none do."""
        return self.numbers // (2 * len(self.keys) + 2) if self.design == "saltelli" else None

    def columns(self, wanted: list[str] | None = None) -> Iterator[Column]:
        """The columns one after the other; those that are named, or all that are short enough."""
        if wanted is None:
            for name in self.names:
                if np.prod(self._dataset[name].shape[1:], dtype=int) <= MAX_ENTRIES:
                    yield from self._entries(name, None)
            return
        for one in wanted:
            name, _, rest = one.partition(".")
            if name not in self.names:
                near = checks.suggestion(name, self.names)
                raise ScenarioError(
                    f"{str(self.path)!r} has no column {name!r}.{near} Its columns: {', '.join(self.names)}."
                )
            yield from self._entries(name, rest or None)

    def parameters(self) -> Iterator[Column]:
        """The drawn values; a text is its place in the list of choices."""
        if "parameter" not in self._dataset:
            return
        table = self._read("parameter", ())
        for place, key in enumerate(self.keys):
            yield Column(key, "", "", table[:, place])

    def outcomes(self) -> list[dict[str, Any]]:
        """How often each outcome came up, the most frequent first, with a confidence band of its probability."""
        if "outcome" not in self._dataset:
            return []
        codes, counts = np.unique(self._read("outcome", ()), return_counts=True)
        known = self._words("outcome")
        low, high = proportion_band(counts, len(self.numbers))
        rows = [
            {
                "outcome": known.get(int(code), str(int(code))),
                "count": int(count),
                "share": float(count / len(self.numbers)),
                "low": float(low[place]),
                "high": float(high[place]),
            }
            for place, (code, count) in enumerate(zip(codes, counts, strict=True))
        ]
        return sorted(rows, key=lambda row: -row["count"])

    def first_of_outcomes(self) -> dict[str, int]:
        """The first sample of each outcome but `failed`, the rarest outcome first."""
        codes, first, counts = np.unique(self._read("outcome", ()), return_index=True, return_counts=True)
        known = self._words("outcome")
        named = [
            (known.get(int(codes[i]), str(int(codes[i]))), int(self.numbers[first[i]])) for i in np.argsort(counts)
        ]
        return {name: number for name, number in named if name != "failed"}

    def categories(self) -> list[dict[str, Any]]:
        """How often each word came up, for what is a word and not a number: the modes at the end."""
        rows = []
        for name in sorted(str(name) for name in self._dataset.data_vars if self._is_code(name) and name != "outcome"):
            words, values = self._words(name), self._read(name, ())
            shape = values.shape[1:] if np.prod(values.shape[1:], dtype=int) <= MAX_ENTRIES else ()
            for place in itertools.product(*(range(size) for size in shape)):
                entry = values[(slice(None), *place)].ravel()
                entry = entry[entry >= 0]
                for code, count in zip(*np.unique(entry, return_counts=True), strict=True):
                    word = words.get(int(code), str(int(code)))
                    label = ".".join([name, *map(str, place)])
                    share = float(count / len(entry))
                    rows.append({"name": label, "value": word, "count": int(count), "share": share})
        return rows

    def _censored(self, name: str) -> np.ndarray | None:
        """Which complete samples are censored in this column."""
        flag = self._dataset[name].attrs.get("censored_unless")
        if flag is None or flag not in self._dataset:
            return None
        found = self._read(flag, ()) == 0
        return found if found.any() else None

    def _entries(self, name: str, entry: str | None) -> Iterator[Column]:
        """The entries of a column, or the one that is asked for."""
        variable = self._dataset[name]
        units, meaning = str(variable.attrs.get("units", "")), str(variable.attrs.get("long_name", ""))
        shape, censored = variable.shape[1:], self._censored(name)
        if entry is not None:
            place = _place(name, entry, shape)
            yield Column(f"{name}.{entry}", units, meaning, self._read(name, place), censored)
            return
        values = self._read(name, ())
        for place in itertools.product(*(range(size) for size in shape)):
            yield Column(".".join([name, *map(str, place)]), units, meaning, values[(slice(None), *place)], censored)

    def _read(self, name: str, place: tuple[int, ...]) -> np.ndarray:
        """Values of the complete samples, read slab by slab."""
        variable = self._dataset[name].variable
        parts = []
        for first in range(0, self.samples, SLAB):
            inside = self.numbers[np.searchsorted(self.numbers, first) : np.searchsorted(self.numbers, first + SLAB)]
            if len(inside):
                slab = variable[(slice(first, min(first + SLAB, self.samples)), *place)].values
                parts.append(slab[inside - first])
        return np.concatenate(parts)


def _place(name: str, entry: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    parts = entry.split(".")
    right = len(parts) == len(shape) and all(part.isdecimal() for part in parts)
    if not right or any(int(part) >= size for part, size in zip(parts, shape, strict=True)):
        last = ".".join(str(size - 1) for size in shape)
        allowed = f"{name}.{'.'.join('0' * len(shape))} to {name}.{last}" if shape else "one number per sample"
        raise ScenarioError(f"Column {name!r} has no entry {entry!r}. It has {allowed}.")
    return tuple(int(part) for part in parts)


def _open(path: Path) -> xr.Dataset:
    try:
        import zarr  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("Ensembles need zarr, which is not installed: pip install 'saltus[zarr]'.") from error
    if not path.exists():
        raise ScenarioError(f"There is no store {str(path)!r}.")
    if not path.is_dir():
        raise ScenarioError(
            f"{str(path)!r} is no ensemble: that is a folder which `saltus ensemble --out` has written."
        )
    try:
        dataset = xr.open_zarr(path, chunks=None, consolidated=False, decode_times=False)
    except (OSError, ValueError, KeyError) as error:
        raise ScenarioError(f"Cannot read {str(path)!r} as an ensemble: {' '.join(str(error).split())}") from error
    if "sample" not in dataset.sizes:
        raise ScenarioError(f"{str(path)!r} is not an ensemble: it has no samples. `saltus show` shows a single run.")
    return dataset
