"""Results as xarray datasets: names and units, and the way to NetCDF or Zarr and back.

Nothing here imports JAX before states are evaluated, so that reading a stored run is quick.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from saltus.errors import ScenarioError
from saltus.io import ground, stone_path
from saltus.io.events import event_table
from saltus.io.files import atomic_write, check_suffix, check_writable

if TYPE_CHECKING:
    from saltus.hybrid import AbstractTrajectory, HybridSystem, Outcome, State

_BLOCK = 256  # states that are observed together, always: another number of samples compiles nothing


def to_dataset(
    system: HybridSystem,
    trajectory: AbstractTrajectory,
    times: int | Any = 1001,
    attributes: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """The observed quantities of a run over time, and its events.

    The time of a jump appears twice, with the values before and after; a sample at that very time gives
    way to them. `jump_side` tells the rows apart: 0 for a sample, -1 before and 1 after a jump. The surface of
    the system, where it has one, is kept as points around the motion (`ground_x`, `ground_y`, `ground_height`). The
    path of a stone over a terrain is kept closely whatever the `times` (`path_position`, ...): maps are made of it.

    Args:
        system: Names the quantities (`quantities`, `observe`, `coordinates`).
        trajectory: The motion, with its events and its outcome.
        times: How many samples, evenly over the run, or their times, rising [s].
        attributes: More attributes of the dataset, such as the text of the scenario.
    """
    times = _sample_times(trajectory, times)
    states, times, side = trajectory.states_with_jumps(times)
    observed = observe(system, states)
    order = list(system.quantities())
    names = sorted(observed, key=lambda name: order.index(name) if name in order else -1)
    variables = {name: _variable(name, observed[name], system) for name in names}
    variables["jump_side"] = xr.Variable(
        "time",
        side,
        {"units": "1", "long_name": "sample (0), before (-1) or after (1) a jump"},
    )
    variables.update(event_table(system, trajectory.events, _sizes(variables)))
    variables.update(ground.ground_variables(system, variables))
    variables.update(stone_path.as_variables(stone_path.path_of(system, trajectory, observe)))
    coordinates: dict[str, tuple] = {"time": ("time", times, {"units": "s", "long_name": "time"})}
    sizes = _sizes(variables)
    coordinates.update({name: (name, labels) for name, labels in system.coordinates().items() if name in sizes})
    return xr.Dataset(variables, coordinates, _attributes(system, trajectory.outcome, attributes))


def _sample_times(trajectory: AbstractTrajectory, times: int | Any) -> np.ndarray:
    if np.ndim(times) > 0:
        return np.asarray(times, float)
    if int(times) != times or times < 2:
        raise ValueError(f"`times` must be a list of times, or how many of them: a whole number >= 2, got {times}.")
    return np.linspace(float(trajectory.start.t), trajectory.until, int(times))


def observe(system: HybridSystem, states: State) -> dict[str, np.ndarray]:
    """What `system.observe` says of many states; arrays with a leading time axis."""
    import jax

    shown = system.observe_rows(states)
    if shown is not None:
        return shown
    n = len(states.t)
    parts = []
    for first in range(0, n, _BLOCK):
        rows = np.minimum(np.arange(first, first + _BLOCK), n - 1)
        part = _observer(_is_brief(system))(
            system, jax.tree.map(lambda leaf, rows=rows: np.asarray(leaf)[rows], states)
        )
        parts.append({name: np.asarray(value)[: n - first] for name, value in part.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@functools.cache
def _observer(brief: bool):
    import jax

    from saltus.programs import brief_program, program

    def observe_all(system, states):
        # One by one is a third of the code; without optimisation it takes no longer.
        return jax.lax.map(system.observe, states) if brief else jax.vmap(system.observe)(states)

    return (brief_program if brief else program)(observe_all)


def _is_brief(system: HybridSystem) -> bool:
    """Whether to observe takes little time: of many members it does not, since gaps of all pairs are looked for."""
    from saltus.hybrid import AbstractQueuedSystem

    return not isinstance(system, AbstractQueuedSystem)


def prepare(system: HybridSystem, start: State) -> None:
    """Have other threads make the programs that observe a run which is about to begin (`programs.prepare`)."""
    import jax

    from saltus.programs import ahead, prepare

    def make() -> None:
        # Asked there: to observe rows by NumPy may take programs, too.
        if system.observe_rows(jax.tree.map(lambda leaf: np.asarray(leaf)[None], start)) is None:
            like = jax.tree.map(lambda leaf: np.zeros((_BLOCK, *np.shape(leaf)), leaf.dtype), start)
            prepare(_observer(_is_brief(system)), system, like, rank=ahead.Rank.at_end)
        ground.prepare(system)

    ahead.submit(make, ahead.Rank.at_end)


def _variable(name: str, value: np.ndarray, system: HybridSystem) -> xr.Variable:
    quantity = system.quantities().get(name)
    if quantity is None:
        raise ValueError(f"{type(system).__name__}.quantities() does not name {name!r}, which observe() returns.")
    attributes: dict[str, Any] = {"units": quantity.units, "long_name": quantity.long_name}
    if name == "mode":
        attributes["flag_values"] = np.arange(len(system.mode_names))
        attributes["flag_meanings"] = " ".join(word.replace(" ", "_") for word in system.mode_names)
    return xr.Variable(("time", *quantity.dims), value, attributes)


def _sizes(variables: Mapping[str, xr.Variable]) -> dict[str, int]:
    return {str(name): int(size) for variable in variables.values() for name, size in variable.sizes.items()}


def _attributes(system: HybridSystem, outcome: Outcome, more: Mapping[str, Any] | None) -> dict[str, Any]:
    from saltus import __version__

    attributes = {
        "kind": system.kind,
        "saltus_version": __version__,
        "outcome": outcome.name,
        "outcome_ok": int(outcome.ok),
        "outcome_message": outcome.message,
        "mode_names": ", ".join(system.mode_names),
        **system.attributes(),
    }
    for name, value in (more or {}).items():
        if value is not None:
            attributes[name] = value if isinstance(value, str | int | float) else json.dumps(value)
    return attributes


def write(dataset: xr.Dataset, path: str | Path) -> None:
    """Store a run as NetCDF (.nc) or Zarr (.zarr), whole or not at all."""
    check_suffix(path)
    check_writable(path)
    with atomic_write(path) as temporary:
        if temporary.suffix == ".zarr":
            dataset.to_zarr(temporary, mode="w", consolidated=False, zarr_format=2)
        else:
            try:
                _write_netcdf(dataset, temporary)
            except (RuntimeError, OSError) as error:  # netCDF does not say why, or something untrue
                if shutil.disk_usage(temporary.parent).free < dataset.nbytes:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
                raise


def _write_netcdf(dataset: xr.Dataset, path: Path) -> None:
    """As `Dataset.to_netcdf` does, which would first load Dask, if it is there, to ask who may write."""
    from xarray.backends import NetCDF4DataStore

    store = NetCDF4DataStore.open(str(path), mode="w", format="NETCDF4", lock=threading.Lock())
    try:
        dataset.dump_to_store(store)
    finally:
        store.close()


def read(path: str | Path) -> xr.Dataset:
    """A stored run, in memory; the file can be changed or removed afterwards."""
    check_suffix(path)
    if not Path(path).exists():
        raise ScenarioError(f"There is no file {str(path)!r}.")
    try:
        dataset = _load(Path(path))
    except (OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise ScenarioError(f"Cannot read {str(path)!r} as a stored run: {reason}") from error
    if "sample" in dataset.dims and "scenario_hash" in dataset.attrs:
        raise ScenarioError(f"{str(path)!r} is an ensemble, not a single run. `saltus summarize` looks at it.")
    if "kind" not in dataset.attrs or "time" not in dataset.coords:
        raise ScenarioError(f"{str(path)!r} is not a run stored by saltus: it has no attribute 'kind' or no time.")
    return dataset


def _load(path: Path) -> xr.Dataset:
    if path.suffix == ".zarr":
        with xr.open_zarr(path, consolidated=False) as dataset:
            return dataset.load()
    return xr.load_dataset(path, engine="netcdf4")


def mode_names(dataset: xr.Dataset) -> list[str]:
    """The words that the integers of `mode` stand for."""
    return dataset.attrs["mode_names"].split(", ")
