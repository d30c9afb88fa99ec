"""The first samples of an ensemble over time, in the group `series` of its store.

They are run one by one, by the engine for single runs, so that every moment between two steps is known; stones on the
ground, whose maps need many, side by side, with the very steps that they took in the ensemble, since bounces magnify
rounding.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.ensembles.compute.building import sample_values
from saltus.ensembles.compute.task import ScenarioWork, on_device
from saltus.ensembles.errors import WriteError
from saltus.ensembles.store.layout import consolidate, zarr_package
from saltus.errors import ScenarioError
from saltus.io import stone_path
from saltus.io.dataset import observe
from saltus.io.files import atomic_write

if TYPE_CHECKING:
    from saltus.ensembles.store import Store
    from saltus.hybrid import HybridSystem
    from saltus.simulation import Run

GROUP, PATH = "series", "path"
PIECES = 8192  # of paths in a chunk of their variables
TOGETHER = 256  # samples that run side by side
HAIR = 1e-9  # share of its time by which a batch may have seen the end of a run earlier or later than a single run does


def n_series(store: Store) -> int:
    """How many samples the store has over time."""
    try:
        return int(json.loads((store.path / GROUP / "zarr.json").read_bytes())["attributes"]["samples"])
    except (OSError, KeyError, ValueError):
        return 0


def write_series(work: ScenarioWork, store: Store, count: int, tell: Callable[[int], None] | None = None) -> None:
    """Run the first samples of a finished ensemble and keep them over time, whole or not at all.

    Args:
        work: The ensemble.
        store: Its store, in which these samples are done.
        count: How many of its samples.
        tell: Called with the number of samples that have been run.
    """
    count = min(count, store.samples)
    if n_series(store) >= count:
        return
    times = _times(work, store, count)
    values = work.draw(0, count)
    try:
        with atomic_write(store.path / f"{GROUP}.zarr") as temporary, on_device(work.device):
            group = zarr_package().create_group(str(temporary), zarr_format=3, attributes={"samples": count})
            _put_axis(group, "time", times, {"units": "s", "long_name": "time"})
            paths = Paths(group, count)
            for sample in _side_by_side(group, work, values, times, tell, paths):
                run = _run(work, sample_values(values, sample))
                if run is not None:
                    _put(group, run, sample, count, times)
                    paths.put({sample: stone_path.path_of(run.system, run.trajectory, observe)})
                if tell is not None:
                    tell(sample + 1)
        _settle(store)
    except OSError as error:
        raise WriteError(f"Cannot write to {str(store.path)!r}: {error.strerror or error}.") from error


def _times(work: ScenarioWork, store: Store, count: int) -> np.ndarray:
    """Evenly from the start to just after the end of the longest run [s]."""
    chunks = range(-(-count // store.size))
    stops = np.concatenate([store.read("stop_time", chunk) for chunk in chunks])[:count]
    last = np.max(stops[np.isfinite(stops)], initial=0.0)
    return np.linspace(0.0, last * (1 + HAIR), work.scenario.solve.samples)


def _side_by_side(group: Any, work: ScenarioWork, values, times: np.ndarray, tell, paths: Paths) -> list[int]:
    """Run samples together, where that is possible, and put them down; those that are left to be run alone."""
    from saltus.ensembles.compute import run_samples

    system, _ = work.scenario.assemble()
    count, alone = len(next(iter(values.values()))), []
    if not getattr(system, "apart", ()):
        return list(range(count))
    for first in range(0, count, TOGETHER):
        some = {key: column[first : first + TOGETHER] for key, column in values.items()}
        found = run_samples.over_time(work.scenario, some, times)
        if found is None:
            return list(range(first, count))
        alone += (first + np.flatnonzero(found.alone)).tolist()
        for name, rows in found.shown.items():
            if name not in group:
                _create(group, name, rows[0], system, count, len(times))
            rows[found.alone] = group[name].fill_value
            group[name][first : first + len(rows)] = rows
        paths.put({first + sample: path for sample, path in found.paths.items()})
        if tell is not None:
            tell(min(first + TOGETHER, count))
    return alone


class Paths:
    """The paths of stones over a terrain, in the group `path` of the series: one after the other, as they come.

    Args:
        group: The group of the series.
        count: How many samples it has.
    """

    def __init__(self, group: Any, count: int):
        self._series, self._count, self._group = group, count, None

    def put(self, paths: dict[int, dict[str, np.ndarray]]) -> None:
        """Keep the paths of these samples; of what has none nothing is kept."""
        paths = {sample: path for sample, path in paths.items() if path}
        if not paths:
            return
        group = self._group = self._group if self._group is not None else self._create()
        begin = group["path_time"].shape[0]
        counts = np.array([len(path["path_time"]) for path in paths.values()])
        for name in stone_path.VARIABLES:
            group[name].append(np.concatenate([path[name] for path in paths.values()]))
        ends = begin + np.cumsum(counts)
        for sample, count, end in zip(paths, counts, ends, strict=True):
            group["first"][sample], group["count"][sample] = end - count, count

    def _create(self) -> Any:
        group = self._series.create_group(PATH)
        _put_axis(group, "first", np.full(self._count, -1), {"long_name": "first piece of the sample's path"}, "sample")
        _put_axis(group, "count", np.zeros(self._count, int), {"long_name": "pieces of its path"}, "sample")
        for name, (dims, units, phrase) in stone_path.VARIABLES.items():
            sizes = (stone_path.LOOKS, 3)[: len(dims) - 1]
            group.create_array(
                name, shape=(0, *sizes), chunks=(PIECES, *sizes), dtype=float, fill_value=np.nan,
                dimension_names=dims, attributes={"units": units, "long_name": phrase},
            )  # fmt: skip
        return group


def _run(work: ScenarioWork, values: dict[str, Any]) -> Run | None:
    """The run of a sample; None where it cannot be built."""
    from saltus.scenarios.keys import with_values

    with contextlib.suppress(ScenarioError):
        return with_values(work.scenario, values).simulate()
    return None


def _put(group: Any, run: Run, sample: int, count: int, times: np.ndarray) -> None:
    """The quantities of a run as one row of each variable."""
    last = float(run.end.t)
    inside = times <= last * (1 + 2 * HAIR)
    inside[np.searchsorted(times, last) : np.searchsorted(times, last) + 1] = True  # where it has come to, once
    observed = observe(run.system, run.states(np.minimum(times[inside], last)))
    for name, rows in observed.items():
        if name not in group:
            _create(group, name, rows, run.system, count, len(times))
        whole = np.full((len(times), *rows.shape[1:]), group[name].fill_value, group[name].dtype)
        whole[inside] = rows
        group[name][sample] = whole


def _create(group: Any, name: str, rows: np.ndarray, system: HybridSystem, count: int, n_times: int) -> None:
    quantity = system.quantities()[name]
    about: dict[str, Any] = {"units": quantity.units, "long_name": quantity.long_name}
    if name == "mode":
        about["flag_values"] = list(range(len(system.mode_names)))
        about["flag_meanings"] = " ".join(word.replace(" ", "_") for word in system.mode_names)
    group.create_array(
        name,
        shape=(count, n_times, *rows.shape[1:]),
        chunks=(1, n_times, *(max(1, size) for size in rows.shape[1:])),
        dtype=rows.dtype,
        fill_value=np.nan if rows.dtype.kind == "f" else -1,
        dimension_names=("sample", "time", *quantity.dims),
        attributes=about,
    )


def _put_axis(group: Any, name: str, values: np.ndarray, about: dict[str, str], dimension: str = "") -> None:
    dims = (dimension or name,)
    array = group.create_array(
        name, shape=values.shape, chunks=values.shape, dtype=values.dtype, dimension_names=dims, attributes=about
    )
    array[:] = values


def _settle(store: Store) -> None:
    """Give the finished group its name; the suffix was for the sake of `atomic_write`."""
    import shutil

    target = store.path / GROUP
    if target.exists():
        shutil.rmtree(target)
    (store.path / f"{GROUP}.zarr").rename(target)
    consolidate(store.path)
