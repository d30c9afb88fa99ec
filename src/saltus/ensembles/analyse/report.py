"""What is said of a stored ensemble: the same for people, machines and tables on disk."""

from __future__ import annotations

import csv
import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from saltus.ensembles.analyse.result import Column, Result
from saltus.ensembles.analyse.statistics import exceedance, histogram, statistics
from saltus.errors import ScenarioError
from saltus.io.files import atomic_write

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Curves:
    """The histogram of a column, and its exceedance curve with a 95 % confidence band."""

    name: str
    label: str
    edges: np.ndarray
    counts: np.ndarray
    values: np.ndarray
    probability: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, column: Column) -> Curves:
        """The curves of a column."""
        bars, curve = histogram(column.values, column.censored), exceedance(column.values, column.censored)
        return cls(
            column.name, column.label, bars.edges, bars.counts, curve.values, curve.probability, curve.low, curve.high
        )


@dataclasses.dataclass(frozen=True)
class Summary:
    """What came out of an ensemble.

    Args:
        facts: Where it is, its kind, design and seed, and how many samples are complete.
        outcomes: How often each outcome came up.
        parameters: Statistics of the keys that take numbers.
        choices: How often each text came up, for the keys that take texts.
        categories: How often each word came up, for what is a word and not a number (modes at the end).
        columns: Statistics of what came out.
        sensitivity: Sobol' indices of each column and key, where asked for.
        pairs: Those of second order, of a Saltelli design.
        curves: Histogram and exceedance curve of each column.
    """

    facts: Row
    outcomes: list[Row]
    parameters: list[Row]
    choices: list[Row]
    categories: list[Row]
    columns: list[Row]
    sensitivity: list[Row]
    pairs: list[Row]
    curves: list[Curves]

    def tables(self) -> dict[str, list[Row]]:
        """All tables that have rows, by name."""
        names = ("outcomes", "parameters", "choices", "categories", "columns", "sensitivity")
        tables = {name: getattr(self, name) for name in names} | {"sensitivity-pairs": self.pairs}
        for one in self.curves:
            tables[f"histogram-{one.name}"] = _zip(low=one.edges[:-1], high=one.edges[1:], count=one.counts)
            tables[f"exceedance-{one.name}"] = _zip(
                value=one.values, probability=one.probability, low=one.low, high=one.high
            )
        return {name: rows for name, rows in tables.items() if rows}

    def write_tables(self, folder: str | os.PathLike) -> list[Path]:
        """Write all tables as CSV files into a folder; each is written whole or not at all."""
        Path(folder).mkdir(exist_ok=True)
        written = []
        for name, rows in self.tables().items():
            path = Path(folder) / f"{name}.csv"
            with atomic_write(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            written.append(path)
        return written

    def save_figure(self, path: str | os.PathLike) -> None:
        """Write histograms and exceedance curves as a picture."""
        from saltus.views.ensemble import figure
        from saltus.views.style import save

        title = f"{Path(self.facts['store']).name}: {self.facts['done']} of {self.facts['samples']} samples"
        save(figure(self.curves, {row["outcome"]: row["count"] for row in self.outcomes}, title), path)


def summarize(
    path: str | os.PathLike,
    columns: Sequence[str] | None = None,
    sensitivity: bool = False,
    progress: Callable[[float, str], None] | None = None,
) -> Summary:
    """Summarize the complete samples of a stored ensemble.

    Args:
        path: The Zarr store, finished or not.
        columns: Names of columns, or of entries of them such as "final_position.0.1"; all if not given.
        sensitivity: Whether to compute Sobol' indices; those of a Saltelli design need SALib.
        progress: Called with the number of columns done and the name of the next.
    """
    result = Result(path)
    drawn = list(result.parameters())
    if sensitivity:
        _check_sensitivity(result)
    rows: dict[str, list[Row]] = {"columns": [], "sensitivity": [], "pairs": []}
    curves = []
    for place, one in enumerate(result.columns(None if columns is None else list(columns))):
        if progress is not None:
            progress(place, one.name)
        rows["columns"].append(_row(one, result))
        curves.append(Curves.of(one))
        if sensitivity and one.censored is None:
            indices = _indices(result, drawn, one)
            rows["sensitivity"] += [{"column": one.name, **row} for row in indices.rows()]
            rows["pairs"] += [{"column": one.name, **row} for row in indices.pairs()]
    facts = {
        "store": str(result.path),
        "kind": result.attributes.get("kind", ""),
        "design": result.design,
        "seed": result.attributes.get("seed"),
        "samples": result.samples,
        "done": len(result.numbers),
        "remarks": _remarks(rows["columns"], sensitivity),
    }
    numbers = [_row(one, result) for one in drawn if one.name not in result.choices]
    words = {"choices": _count_choices(result, drawn), "categories": result.categories()}
    return Summary(facts, result.outcomes(), numbers, **words, **rows, curves=curves)


def _row(column: Column, result: Result) -> Row:
    numbers = statistics(column.values, result.groups, column.censored).row()
    return {"name": column.name, "units": column.units, "long_name": column.long_name, **numbers}


def _remarks(columns: Sequence[Row], sensitivity: bool) -> list[str]:
    """What a reader of the statistics must know, in sentences."""
    censored = [row for row in columns if row["censored"]]
    if not censored:
        return []
    names = ", ".join(row["name"] for row in censored)
    worst = max(row["censored"] for row in censored)
    what = "means, Sobol indices" if sensitivity else "means"
    return [
        f"{worst} samples had not stopped when their run ended, so that {names} may be larger there (censored): {what} "
        "and the quantiles that this hides are left out. A later `solve.until` may show them."
    ]


def _count_choices(result: Result, drawn: Sequence[Column]) -> list[Row]:
    """How often each text came up."""
    rows = []
    for one in drawn:
        for place, text in enumerate(result.choices.get(one.name, ())):
            count = int((one.values == place).sum())
            rows.append({"name": one.name, "value": text, "count": count, "share": count / len(one.values)})
    return rows


def _check_sensitivity(result: Result) -> None:
    from saltus.ensembles.analyse.sensitivity import MIN_SAMPLES

    if not result.keys:
        raise ScenarioError(f"{str(result.path)!r} has no drawn keys that anything could depend on.")
    if len(result.numbers) < MIN_SAMPLES:
        raise ScenarioError(
            f"Sensitivity needs at least {MIN_SAMPLES} complete samples, got {len(result.numbers)} in "
            f"{str(result.path)!r}."
        )


def _indices(result: Result, drawn: Sequence[Column], column: Column) -> Any:
    from saltus.ensembles.analyse import sensitivity

    keys = tuple(one.name for one in drawn)
    if result.design == "saltelli":
        return sensitivity.saltelli(keys, result.numbers, column.values)
    points = np.stack([one.values for one in drawn], axis=1)
    return sensitivity.given_data(keys, points, column.values, even=result.design in ("sobol", "grid"))


def _zip(**columns: np.ndarray) -> list[Row]:
    lists = [values.tolist() for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
