"""What an ensemble computes: samples drawn from a scenario, and what is kept of each.

A piece of work travels to other processes as text and is built there once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from saltus.errors import ScenarioError

if TYPE_CHECKING:
    from saltus.ensembles.design import Design
    from saltus.ensembles.store import Store
    from saltus.scenarios import Scenario
    from saltus.scenarios.ensemble import EnsembleModel

Progress = Callable[[int], None]

PACKAGES = ("saltus", "jax", "jaxlib", "diffrax", "equinox", "numpy", "scipy", "xarray", "zarr")
EXTENSIBLE = ("random", "sobol")  # designs whose samples do not depend on how many there are
DEVICES = ("cpu", "gpu")
ADVICE = 'Add one: [ensemble] with samples = 1000 and, say, "friction.mu" = { normal = [0.02, 0.005], min = 0.0 }.'


class Column(Protocol):
    """What is kept of a sample: `dims` and `shape` are those of one sample."""

    @property
    def dims(self) -> tuple[str, ...]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype: ...
    @property
    def units(self) -> str: ...
    @property
    def long_name(self) -> str: ...


class Work(Protocol):
    """What the runner asks for; it can be pickled."""

    @property
    def samples(self) -> int:
        """How many samples there are."""
        ...

    @property
    def keys(self) -> Mapping[str, list | None]:
        """The drawn keys, with the list of their values where these are not numbers."""
        ...

    def columns(self) -> Mapping[str, Column]:
        """What is kept of every sample."""
        ...

    def attributes(self) -> dict[str, Any]:
        """What the store tells about it; `scenario_hash` and `design` among it."""
        ...

    def draw(self, first: int, last: int) -> Mapping[str, np.ndarray]:
        """The values of samples `first` to `last` - 1."""
        ...

    def run(self, values: Mapping[str, np.ndarray], progress: Progress | None = None) -> Mapping[str, np.ndarray]:
        """The columns of the samples with these values; `progress` hears of samples as they end."""
        ...


def compute(work: Work, store: Store, chunk: int, progress: Progress | None = None) -> None:
    """Compute a chunk and write it. May be done again, by anyone, with the same result."""
    first, last = store.bounds(chunk)
    values = work.draw(first, last)
    store.write(chunk, values, work.run(values, progress))


@dataclasses.dataclass(frozen=True)
class ScenarioWork:
    """The samples of a scenario with a table [ensemble].

    Args:
        text: The scenario as TOML.
        total: Number of samples; that of the scenario if None.
        device: Where to compute: "cpu" or "gpu".
        name: Name of the scenario.
        allow_python: Whether it may run code that it names.
    """

    text: str
    total: int | None = None
    device: str = "cpu"
    name: str = ""
    allow_python: bool = False

    def __post_init__(self):
        if self.device not in DEVICES:
            raise ScenarioError(f"Unknown device {self.device!r}. Known: {', '.join(DEVICES)}.")
        if self.total is not None and self.total < 1:
            raise ScenarioError(f"An ensemble needs at least one sample, got samples = {self.total}.")

    def __reduce__(self):
        return type(self), (self.text, self.total, self.device, self.name, self.allow_python)

    @functools.cached_property
    def scenario(self) -> Scenario:
        """The checked scenario."""
        from saltus.scenarios import loads

        return loads(self.text, self.allow_python)

    @property
    def table(self) -> EnsembleModel:
        """Its table [ensemble]."""
        table = self.scenario.ensemble
        if table is None:
            called = f"{self.name} has" if self.name else "The scenario has"
            raise ScenarioError(f"{called} no table [ensemble], so there is nothing to draw. {ADVICE}")
        return table

    @functools.cached_property
    def design(self) -> Design:
        """Where the samples lie."""
        from saltus.ensembles.design import Design
        from saltus.ensembles.design.vectors import terrain_grid

        return Design(self.table, self.total, terrain_grid(self.scenario))

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self.design.samples

    @property
    def keys(self) -> dict[str, list | None]:
        """The drawn keys, with the list of their values where these are not numbers."""
        choices = self.design.choices
        return {key: choices.get(key) for key in self.design.keys}

    def columns(self) -> Mapping[str, Column]:
        """What is kept of every sample."""
        from saltus.ensembles.compute import run_samples

        with on_device(self.device):
            return run_samples.columns(self.scenario)

    def attributes(self) -> dict[str, Any]:
        """What the store tells: enough to do it again."""
        from saltus import __version__

        model = self.table
        return {
            "scenario": self.text,
            "scenario_name": self.name,
            "scenario_hash": fingerprint(self.text),
            "kind": self.scenario.kind,
            "seed": int(model.seed),
            "design": str(model.design),
            "device": self.device,
            "saltus_version": __version__,
            "versions": json.dumps(versions()),
        }

    def draw(self, first: int, last: int) -> Mapping[str, np.ndarray]:
        """The values of samples `first` to `last` - 1."""
        return self.design.draw(first, last)

    def run(self, values: Mapping[str, np.ndarray], progress: Progress | None = None) -> Mapping[str, np.ndarray]:
        """The columns of the samples with these values."""
        from saltus.ensembles.compute import run_samples

        with on_device(self.device):
            return run_samples.run(self.scenario, dict(values), progress)


@contextlib.contextmanager
def on_device(device: str) -> Iterator[None]:
    """Compute there; `ScenarioError` where there is none."""
    import jax

    try:
        found = jax.devices(device)[0]
    except RuntimeError:
        raise ScenarioError(
            f"JAX finds no {device.upper()} on this machine. "
            + ('Use --device cpu, or install JAX for it: pip install "jax[cuda12]".' if device == "gpu" else "")
        ) from None
    with jax.default_device(found):
        yield


def fingerprint(text: str) -> str:
    """What tells two ensembles apart: their keys and values, and the contents of files they name.

    Comments, the order of keys and the number of samples do not count.
    """
    data = tomllib.loads(text)
    table = data.get("ensemble")
    if isinstance(table, dict):
        data["ensemble"] = {key: value for key, value in table.items() if key != "samples"}
    plain = json.dumps(_contents(data), sort_keys=True, default=str)
    return hashlib.sha256(plain.encode()).hexdigest()


def _contents(value: Any) -> Any:
    """`value` with the contents of files in place of their names."""
    if isinstance(value, dict):
        return {key: _contents(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_contents(item) for item in value]
    if isinstance(value, str) and os.path.isabs(value) and os.path.isfile(value):
        return {"file": hashlib.sha256(Path(value).read_bytes()).hexdigest()}
    return value


def versions() -> dict[str, str]:
    """Versions of what computes the numbers."""
    found = {"python": ".".join(str(part) for part in sys.version_info[:3])}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found
