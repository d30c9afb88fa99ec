"""The table [ensemble]: how many samples, in which design, and the distribution of each key that varies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pydantic

from saltus.checks import suggestion
from saltus.scenarios.table import Model

CONTINUOUS = ("normal", "lognormal", "uniform")
LISTED = ("choice", "values", "grid")
AREAS = ("polygon", "raster", "points")  # of two numbers, such as "body.position"
VECTORS = (*AREAS, "rotation")
DISTRIBUTIONS = (*CONTINUOUS, *LISTED, "csv", *VECTORS)
# Which options go with which distribution.
OPTIONS = {**dict.fromkeys(CONTINUOUS, ("min", "max")), "choice": ("weights",), "csv": ("column", "rows")}
EXAMPLE = "{ normal = [0.02, 0.005], min = 0.0 }"


class DistributionModel(Model):
    """How one key varies: one of the distributions, with its options.

    `normal` is [mean, standard deviation]; `lognormal` is [median, standard deviation of the logarithm]; `uniform`
    is [lowest, highest]. `min` and `max` cut a distribution off; what remains is scaled up, not heaped at the ends.
    A place (x, y) is drawn evenly from a `polygon` (corners, or a GeoJSON file), from the pixels of a `raster` that are
    above zero, or from `points`; `rotation = "random"` is for a quaternion.
    """

    normal: list[float] | None = None
    lognormal: list[float] | None = None
    uniform: list[float] | None = None
    min: float | None = None
    max: float | None = None
    choice: list[Any] | None = None
    weights: list[float] | None = None
    values: list[Any] | None = None
    grid: list[float] | None = None
    csv: str | None = None
    column: str | None = None
    rows: Literal["order", "drawn"] = "order"
    polygon: str | list[list[float]] | None = None
    raster: str | None = None
    points: list[list[float]] | None = None
    rotation: Literal["random"] | None = None

    @property
    def area(self) -> str | list[list[float]] | None:
        """Where places are drawn from: a file, or corners or points."""
        return next((getattr(self, name) for name in AREAS if getattr(self, name) is not None), None)

    @property
    def name(self) -> str:
        """Which of the distributions it is."""
        return next(name for name in DISTRIBUTIONS if getattr(self, name) is not None)

    @property
    def pair(self) -> tuple[float, float]:
        """The two numbers of a continuous distribution."""
        first, second = getattr(self, self.name)
        return first, second

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what a continuous distribution is cut off: `min` and `max`, and where it ends by itself."""
        lowest, highest = {"uniform": self.pair, "lognormal": (0.0, math.inf)}.get(self.name, (-math.inf, math.inf))
        return (
            lowest if self.min is None else max(lowest, self.min),
            highest if self.max is None else min(highest, self.max),
        )

    @property
    def entries(self) -> list[Any]:
        """The values of a list: of `choice`, `values` or `grid`."""
        if self.grid is not None:
            first, last, count = self.grid
            return np.linspace(first, last, int(count)).tolist()
        return (self.choice if self.choice is not None else self.values) or []

    @property
    def trials(self) -> list[Any]:
        """Values that the scenario must accept: a middle one, or all of a list; of a file none is known yet."""
        if self.name == "csv":
            return []
        if self.name in LISTED:
            return self.entries
        if self.name in VECTORS:
            return [[1.0, 0.0, 0.0, 0.0] if self.name == "rotation" else [0.0, 0.0]]
        lowest, highest = self.bounds
        return [(lowest + highest) / 2 if self.name == "uniform" else min(max(self.pair[0], lowest), highest)]

    def check(self, key: str) -> None:
        """Refuse what is no distribution, with the key it is for."""
        given = [name for name in DISTRIBUTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(f"`{name}`" for name in given) or "none"
            raise ValueError(
                f"`ensemble.{key}` needs one distribution, got {found}. Known: {', '.join(DISTRIBUTIONS)}."
            )
        for option in self.model_fields_set - {self.name, *OPTIONS.get(self.name, ())}:
            if getattr(self, option) is not None:
                raise ValueError(f"`ensemble.{key}.{option}` does not go with `{self.name}`. Leave it out.")
        if self.name in CONTINUOUS:
            self._check_continuous(key)
        elif self.name == "csv":
            if self.column is None:
                raise ValueError(f"`ensemble.{key}.column` is missing: the name of a column of {self.csv!r}.")
        elif self.name in VECTORS:
            self._check_places(key)
        else:
            self._check_list(key)

    def _check_continuous(self, key: str) -> None:
        place = f"ensemble.{key}"
        if len(getattr(self, self.name)) != 2:
            raise ValueError(f"`{place}.{self.name}` must have 2 entries, got {getattr(self, self.name)}.")
        first, second = self.pair
        if self.name == "uniform" and not first < second:
            raise ValueError(f"`{place}.uniform` is [lowest, highest], got {[first, second]}.")
        if self.name != "uniform" and not second > 0:
            raise ValueError(
                f"The scale of `{place}.{self.name}` must be > 0, got {second}. Without scatter leave the key out."
            )
        if self.name == "lognormal" and not first > 0:
            raise ValueError(
                f"The median of `{place}.lognormal` must be > 0, got {first}. "
                "For the mean m of the logarithm write exp(m)."
            )
        if self.min is not None and self.max is not None and not self.min < self.max:
            raise ValueError(f"`{place}.min` must be < `{place}.max`, got {self.min} and {self.max}.")
        if not self.bounds[0] < self.bounds[1]:
            raise ValueError(f"Nothing of `{place}.{self.name}` lies between its `min` and `max`.")

    def _check_places(self, key: str) -> None:
        if not isinstance(self.area, list):
            return
        least = {"polygon": 3}.get(self.name, 1)
        if len(self.area) < least or any(len(place) != 2 for place in self.area):
            raise ValueError(f"`ensemble.{key}.{self.name}` must be {least} or more places [x, y], got {self.area}.")

    def _check_list(self, key: str) -> None:
        place = f"ensemble.{key}.{self.name}"
        if self.grid is not None:
            if len(self.grid) != 3 or self.grid[2] < 1 or self.grid[2] != int(self.grid[2]):
                raise ValueError(f"`{place}` is [first, last, count] with a whole count >= 1, got {self.grid}.")
            return
        if not self.entries:
            raise ValueError(f"`{place}` must have at least 1 entry.")
        kinds = {_kind(value) for value in self.entries}
        if len(kinds) != 1 or None in kinds:
            raise ValueError(f"`{place}` must be numbers, texts or true/false, all of one sort, got {self.entries}.")
        if self.weights is None:
            return
        if len(self.weights) != len(self.entries):
            raise ValueError(
                f"`ensemble.{key}.weights` must be as many as `choice` has, {len(self.entries)}, "
                f"got {len(self.weights)}."
            )
        if min(self.weights) < 0 or not sum(self.weights) > 0:
            raise ValueError(f"`ensemble.{key}.weights` must be >= 0 and not all 0, got {self.weights}.")


class CorrelatedModel(Model):
    """An entry of [[ensemble.correlated]]: keys that vary together.

    The correlation is that of the normal variates behind the keys (Gaussian copula); each key keeps its own
    distribution. Between keys with a `normal` that is not cut off it is the correlation of the keys themselves.
    """

    keys: list[str]
    correlation: float | list[list[float]]

    @property
    def matrix(self) -> np.ndarray:
        """Correlations of all pairs; one number serves every pair."""
        if isinstance(self.correlation, list):
            return np.array(self.correlation)
        count = len(self.keys)
        return np.full((count, count), self.correlation) + (1.0 - self.correlation) * np.eye(count)

    def check(self, parameters: Mapping[str, DistributionModel]) -> None:
        """Refuse keys that cannot be correlated, and what is no matrix of correlations."""
        if len(self.keys) < 2 or len(set(self.keys)) < len(self.keys):
            raise ValueError(f"`ensemble.correlated.keys` must be at least 2 different keys, got {self.keys}.")
        for key in self.keys:
            if key not in parameters:
                raise ValueError(
                    f"The correlated key {key!r} has no distribution in [ensemble].{suggestion(key, parameters)}"
                )
            if parameters[key].name not in CONTINUOUS:
                raise ValueError(
                    f"The correlated key {key!r} has `{parameters[key].name}`. Known: {', '.join(CONTINUOUS)}."
                )
        count = len(self.keys)
        rows = self.correlation if isinstance(self.correlation, list) else []
        if rows and (len(rows) != count or any(len(row) != count for row in rows)):
            raise ValueError(f"`ensemble.correlated.correlation` must be one number or {count} rows of {count}.")
        matrix = self.matrix
        if (matrix != matrix.T).any() or (np.diag(matrix) != 1.0).any():
            raise ValueError("`ensemble.correlated.correlation` must be symmetric with ones on the diagonal.")
        lowest = float(np.linalg.eigvalsh(matrix)[0])
        if not lowest > 1e-12:
            raise ValueError(
                "`ensemble.correlated.correlation` must be positive definite, "
                f"but its smallest eigenvalue is {lowest:.3g}."
            )


class EnsembleModel(Model):
    """The table [ensemble]; every key that is not one of its own is a key of the scenario with its distribution."""

    # The table of parameters is not written down: its keys stand directly under [ensemble].
    implied: ClassVar[tuple[str, ...]] = ("parameters",)

    samples: Annotated[int, pydantic.Field(ge=1)] | None = None
    seed: Annotated[int, pydantic.Field(ge=0)] = 0
    design: Literal["random", "sobol", "latin", "grid", "saltelli"] = "random"
    parameters: dict[str, DistributionModel]
    correlated: list[CorrelatedModel] = []

    @pydantic.model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        """Keys of the scenario, quoted or as nested tables, become `parameters`."""
        if not isinstance(data, dict):
            return data
        own = {name: data[name] for name in cls.model_fields if name in data and name != "parameters"}
        rest = {name: value for name, value in data.items() if name not in cls.model_fields}
        parameters: dict[str, Any] = {}
        for tables in (data.get("parameters", {}), rest):
            for key, table in _flat(tables, ()):
                if key in parameters:
                    raise ValueError(f"`ensemble.{key}` is given twice.")
                parameters[key] = table
        return {**own, "parameters": parameters}

    @pydantic.model_validator(mode="after")
    def _distributions(self) -> Self:
        if not self.parameters:
            raise ValueError(f'[ensemble] varies nothing. Give a key its distribution: "friction.mu" = {EXAMPLE}.')
        for key, one in self.parameters.items():
            one.check(key)
            inner = next((other for other in self.parameters if other.startswith(f"{key}.")), None)
            if inner is not None:
                raise ValueError(f"`ensemble.{key}` and `ensemble.{inner}` vary the same value. Give one of them.")
        self._fit_design()
        seen: set[str] = set()
        for group in self.correlated:
            group.check(self.parameters)
            twice = seen.intersection(group.keys)
            if twice:
                raise ValueError(f"The key {min(twice)!r} stands in two correlated groups. Join them into one.")
            seen.update(group.keys)
        return self

    def _fit_design(self) -> None:
        gridded = self.design == "grid"
        for key, one in self.parameters.items():
            if one.name in VECTORS and self.design in ("grid", "saltelli"):
                raise ValueError(f"`ensemble.{key}` has `{one.name}`, which does not go with design = {self.design!r}.")
            if gridded and one.name in CONTINUOUS:
                raise ValueError(
                    f"`ensemble.{key}` has `{one.name}`, but a grid needs `values`, `grid`, `choice` or `csv`."
                )
            if not gridded and one.name in ("values", "grid"):
                raise ValueError(
                    f'`ensemble.{key}.{one.name}` belongs to design = "grid", got {self.design!r}. '
                    "To draw from a list use `choice`."
                )
            if gridded and one.weights is not None:
                raise ValueError(f"`ensemble.{key}.weights` has no meaning in a grid. Leave it out.")
            if self.design == "saltelli" and one.csv is not None:
                raise ValueError(f"`ensemble.{key}` has `csv`, which a Saltelli design cannot vary. Use `choice`.")
        if self.correlated and self.design in ("grid", "saltelli"):
            raise ValueError(f"[[ensemble.correlated]] does not go with design = {self.design!r}: its keys vary alone.")


def _flat(tables: Mapping[str, Any], path: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Keys with their distributions; `friction.mu` without quotes is a table within a table in TOML."""
    found = []
    for name, table in tables.items():
        key = ".".join((*path, name))
        if not isinstance(table, Mapping):
            near = suggestion(key, EnsembleModel.model_fields)
            if near:
                raise ValueError(f"Unknown key `ensemble.{key}`.{near} Known: samples, seed, design, correlated.")
            raise ValueError(f"`ensemble.{key}` must be a distribution, such as {EXAMPLE}, got {table!r}.")
        if table and all(isinstance(value, Mapping) for value in table.values()):
            found += _flat(table, (*path, name))
        else:
            found.append((key, table))
    return found


def _kind(value: Any) -> str | None:
    """The sort of an entry of a list."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number" if math.isfinite(value) else None
    return "text" if isinstance(value, str) else None
