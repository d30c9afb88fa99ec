"""The curves of a page: panels over time, each with a few lines in one unit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from saltus.views.pages.arrays import pack, unit_text

MAX_LINES = 8
ENERGIES = {
    "kinetic_energy": "kinetic",
    "potential_energy": "potential",
    "elastic_energy": "elastic",
    "dissipated_energy": "dissipated",
}
# Rounding is not drawn as a wave: what varies by less than this share of its size is shown as constant.
CONSTANT = 1e-7


@dataclasses.dataclass(frozen=True)
class Panel:
    """Lines over time.

    Args:
        title: What is drawn.
        units: SI units.
        lines: Values by name, one for each row of the dataset.
        inks: Number of the colour of each line; -1 is that of the text.
        note: What the reader should know, such as the sign.
        scale: Size of what it is compared with, in its units: far smaller values are rounding.
    """

    title: str
    units: str
    lines: Mapping[str, np.ndarray]
    inks: tuple[int, ...] = ()
    note: str = ""
    scale: float = 0.0

    def pack(self, rows: np.ndarray) -> dict[str, Any]:
        """The panel for the player."""
        inks = self.inks or tuple(range(len(self.lines)))
        lines, drawn = [], []
        for (name, values), ink in zip(self.lines.items(), inks, strict=True):
            values = np.asarray(values, float)[rows]
            # One that lies on another is dashed, so that both are seen.
            covers = any(np.allclose(values, other, rtol=1e-3, atol=1e-12, equal_nan=True) for other in drawn)
            lines.append({"name": name, "ink": ink, "dashed": covers, "values": pack(values)})
            drawn.append(values)
        known = [values[np.isfinite(values)] for values in (np.asarray(one, float) for one in self.lines.values())]
        span = max((float(np.ptp(one)) for one in known if one.size), default=0.0)
        size = max((float(np.abs(one).max()) for one in known if one.size), default=0.0)
        size = max(size, self.scale)
        return {
            "title": self.title,
            "units": unit_text(self.units),
            "note": self.note,
            "lines": lines,
            "least": size * 1e-2 if span < CONSTANT * size else 0.0,
        }


def of_each(dataset: xr.Dataset, name: str, title: str, word: str, note: str = "") -> Panel | None:
    """One line for each entry of the second dimension; the least, mean and largest where they are many."""
    if name not in dataset or dataset[name].size == 0:
        return None
    values = dataset[name].values.astype(float)
    return each(values, title, dataset[name].attrs.get("units", ""), labels(dataset, name, word), note)


def each(values: np.ndarray, title: str, units: str, names: list[str], note: str = "") -> Panel:
    """As `of_each`, for values that are computed."""
    values = values if values.ndim > 1 else values[:, None]
    if values.shape[1] <= MAX_LINES:
        return Panel(title, units, {names[i]: values[:, i] for i in range(values.shape[1])}, note=note)
    known = np.isfinite(values).any(axis=1)
    lines = {word: np.full(len(values), np.nan) for word in ("largest", "mean", "least")}
    for word, reduce in (("largest", np.nanmax), ("mean", np.nanmean), ("least", np.nanmin)):
        lines[word][known] = reduce(values[known], axis=1)
    many = f"of {values.shape[1]}" + (f"; {note}" if note else "")
    return Panel(title, units, lines, inks=(1, 0, 2), note=many)


def labels(dataset: xr.Dataset, name: str, word: str) -> list[str]:
    """The names of the entries of a variable's second dimension."""
    if dataset[name].ndim < 2:
        return [word]
    dim = str(dataset[name].dims[1])
    known = dataset[dim].values if dim in dataset.coords else range(dataset.sizes[dim])
    return [f"{word} {one}".strip() for one in known]


def speeds(dataset: xr.Dataset, word: str, name: str = "velocity", title: str = "speed") -> Panel | None:
    """The lengths of velocity vectors."""
    if name not in dataset or dataset[name].size == 0:
        return None
    values = np.linalg.norm(dataset[name].values, axis=-1)
    names = labels(dataset, name, word) if values.ndim > 1 else [word or title]
    return each(values, title, dataset[name].attrs.get("units", ""), names)


def energies(dataset: xr.Dataset, from_least: bool = False) -> Panel | None:
    """Kinetic, potential, elastic and dissipated energy, and their sum less what was supplied.

    Potential energy is counted from its least value if asked for, or if nothing else could be seen beside it.
    """
    lines = {word: dataset[name].values for name, word in ENERGIES.items() if name in dataset}
    lines = {word: values for word, values in lines.items() if word in ("kinetic", "potential") or values.any()}
    if "kinetic" not in lines:
        return None
    note = ""
    if "potential" in lines:
        lowest = float(np.nanmin(lines["potential"]))
        if from_least or abs(lowest) > 5.0 * (np.ptp(lines["potential"]) + np.nanmax(lines["kinetic"])):
            lines["potential"], note = lines["potential"] - lowest, "potential energy from its least"
    total = np.sum(list(lines.values()), axis=0)
    if "supplied_energy" in dataset and dataset["supplied_energy"].values.any():
        lines["supplied"] = dataset["supplied_energy"].values
        total, note = total - lines["supplied"], "the sum is less what was supplied"
    return Panel("energy", "J", {**lines, "sum": total}, inks=(*range(2, 2 + len(lines)), -1), note=note)
