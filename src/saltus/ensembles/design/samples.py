"""Which values the keys of an ensemble take in each of its samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from saltus.ensembles.design import points
from saltus.ensembles.design.marginals import as_array, columns, inverse
from saltus.ensembles.design.vectors import vector
from saltus.errors import ScenarioError
from saltus.scenarios.ensemble import VECTORS, EnsembleModel

if TYPE_CHECKING:
    from saltus.surfaces.grid import Grid


class Design:
    """The samples of an ensemble, by their number.

    Sample i depends on the seed and on i alone (in a Latin hypercube on the number of samples as well), to the last
    bit, whatever else is drawn with it.

    Args:
        model: The table [ensemble].
        samples: How many samples there are, instead of the number in the table.
        grid: The pixels of the terrain, for places (`vectors.terrain_grid`).
    """

    def __init__(self, model: EnsembleModel, samples: int | None = None, grid: Grid | None = None):
        self.model = model
        chosen = {key: one for key, one in model.parameters.items() if one.name in VECTORS}
        self._vectors = {key: vector(key, one, grid) for key, one in chosen.items()}
        self.keys = tuple(name for key in model.parameters for name in self._names(key))
        self._read_files()
        self._axes = self._grid() if model.design == "grid" else []
        self.samples = self._count(samples)
        if model.design == "grid":
            return
        self._drawn = [key for key in model.parameters if key not in self._ordered and key not in self._vectors]
        self._inverse = {key: inverse(key, model.parameters[key]) for key in self._drawn if key not in self._rows}
        self._dimension = self._dimensions()
        self._points = self._point_set(self._axis_names())
        self._mixing = [(group.keys, np.linalg.cholesky(group.matrix)) for group in model.correlated]

    def _names(self, key: str) -> list[str]:
        """The keys of single numbers behind a key of the table."""
        return [f"{key}.{k}" for k in range(self._vectors[key].size)] if key in self._vectors else [key]

    @property
    def choices(self) -> dict[str, list[str]]:
        """The texts that a key takes, for each key that takes texts."""
        lists = {key: one.entries for key, one in self.model.parameters.items() if one.name in ("choice", "values")}
        return {key: list(entries) for key, entries in lists.items() if isinstance(entries[0], str)}

    def draw(self, first: int, last: int) -> dict[str, np.ndarray]:
        """Values of the samples first..last-1 for each key: numbers, true/false or texts."""
        if not 0 <= first <= last <= self.samples:
            raise ValueError(f"Samples {first} to {last} were asked for, but there are {self.samples}.")
        values = self._draw_grid(first, last) if self.model.design == "grid" else self._draw_points(first, last)
        return {key: values[key] for key in self.keys}

    def numbers(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """Values as one array of numbers (sample, key); a text is its place in `choices`."""
        choices = self.choices
        found = []
        for key in self.keys:
            places = {text: place for place, text in enumerate(choices.get(key, ()))}
            found.append([places[text] for text in values[key]] if places else values[key])
        return np.array(found, dtype=float).T

    def _count(self, samples: int | None) -> int:
        """How many samples there are."""
        model = self.model
        if model.design == "grid":
            count = math.prod(len(next(iter(axis.values()))) for axis in self._axes)
            wanted = model.samples if samples is None else samples
            if wanted not in (None, count):
                raise ScenarioError(f"The grid has {count} samples, got {wanted}. Leave `samples` out.")
            return count
        count = model.samples if samples is None else samples
        if count is None:
            raise ScenarioError("`ensemble.samples` is missing: how many samples to draw.")
        if count < 1:
            raise ScenarioError(f"The number of samples must be >= 1, got {count}.")
        for key in self._ordered:
            one, rows = model.parameters[key], len(self._rows[key])
            if count > rows:
                raise ScenarioError(
                    f'{one.csv!r} has {rows} rows for {count} samples. Ask for fewer, or give rows = "drawn".'
                )
        if model.design == "saltelli":
            _check_saltelli(count, len(self.keys))
        return count

    def _read_files(self) -> None:
        """Columns of CSV files, and which of them are taken row by row."""
        tables = {key: one for key, one in self.model.parameters.items() if one.csv is not None}
        self._rows: dict[str, np.ndarray] = {}
        for path in dict.fromkeys(one.csv for one in tables.values() if one.csv is not None):
            users = {key: one for key, one in tables.items() if one.csv == path}
            if len({one.rows for one in users.values()}) > 1:
                raise ScenarioError(f"All columns of {path!r} must have the same `rows`: they stay in one row.")
            self._rows |= columns(path, {key: one.column or key for key, one in users.items()})
        self._ordered = [key for key, one in tables.items() if one.rows == "order" or self.model.design == "grid"]

    def _grid(self) -> list[dict[str, np.ndarray]]:
        """The axes of the grid, slowest first; columns of one file are one axis."""
        axes: dict[str, dict[str, np.ndarray]] = {}
        for key, one in self.model.parameters.items():
            values = self._rows[key] if one.csv is not None else as_array(one.entries)
            axes.setdefault(one.csv or f"key {key}", {})[key] = values
        return list(axes.values())

    def _draw_grid(self, first: int, last: int) -> dict[str, np.ndarray]:
        number = np.arange(first, last)
        values = {}
        for axis in reversed(self._axes):
            count = len(next(iter(axis.values())))
            values |= {key: entries[number % count] for key, entries in axis.items()}
            number = number // count
        return values

    def _dimensions(self) -> dict[str, str]:
        """The dimension of the unit cube behind each key that is drawn; columns of one file share theirs."""
        return {key: f"csv {self.model.parameters[key].csv}" if key in self._rows else key for key in self._drawn}

    def _axis_names(self) -> list[str]:
        """The dimensions of the unit cube, by name."""
        single = dict.fromkeys(self._dimension.values())
        return [*single, *(f"{key}#{k}" for key, one in self._vectors.items() for k in range(one.needs))]

    def _point_set(self, names: list[str]) -> points.Random | points.Sobol | points.Latin | points.Saltelli:
        seed, design = self.model.seed, self.model.design
        if design == "latin":
            return points.Latin(names, seed, self.samples)
        if design == "random" or not names:
            return points.Random(names, seed)
        if design == "sobol":
            return points.Sobol(len(names), seed, self.samples)
        return points.Saltelli(len(names), seed, self.samples)

    def _draw_points(self, first: int, last: int) -> dict[str, np.ndarray]:
        drawn = self._points.draw(first, last)
        names = self._axis_names()
        uniform = {key: drawn[:, names.index(name)] for key, name in self._dimension.items()}
        for keys, mixing in self._mixing:
            uniform |= _correlate({key: uniform[key] for key in keys}, mixing)
        values = {key: self._rows[key][first:last] for key in self._ordered}
        for key, u in uniform.items():
            if key in self._rows:
                values[key] = self._rows[key][(u * len(self._rows[key])).astype(int)]
            else:
                values[key] = self._inverse[key](u)
        for key, one in self._vectors.items():
            given = [drawn[:, names.index(f"{key}#{k}")] for k in range(one.needs)]
            values |= dict(zip(self._names(key), one.columns(*given), strict=True))
        return values


def _correlate(uniform: dict[str, np.ndarray], mixing: np.ndarray) -> dict[str, np.ndarray]:
    """Uniform numbers whose normal variates are mixed (Gaussian copula)."""
    normal = [ndtri(u) for u in uniform.values()]
    # Summed term by term: a matrix product may round differently for another number of samples.
    mixed = [sum(mixing[row, column] * normal[column] for column in range(row + 1)) for row in range(len(normal))]
    tiny = 2.0**-53
    return {key: np.clip(ndtr(z), tiny, 1.0 - tiny) for key, z in zip(uniform, mixed, strict=True)}


def _check_saltelli(samples: int, keys: int) -> None:
    """A Saltelli design has 2 D + 2 samples for each of a power of two base points."""
    block = 2 * keys + 2
    base = samples // block
    if base * block == samples and base.bit_count() == 1:
        return
    below = max(base, 1).bit_length() - 1
    raise ScenarioError(
        f"A Saltelli design of {keys} keys has {block} samples for each of 1, 2, 4, 8 ... base points, got {samples}. "
        f"Take {block * 2**below} or {block * 2 ** (below + 1)}."
    )
