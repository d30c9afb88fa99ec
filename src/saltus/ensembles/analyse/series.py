"""The runs that an ensemble keeps over time, one after the other as datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import xarray as xr

from saltus.errors import ScenarioError
from saltus.io.stone_path import VARIABLES


def series_runs(path: Path) -> Iterator[xr.Dataset]:
    """The samples in the group `series` of a store; one that could not be built has no times.

    `ScenarioError` where there is no such group.
    """
    if not (path / "series").is_dir():
        raise ScenarioError(
            f"The ensemble {str(path)!r} keeps no runs over time. The command that made it, with --resume --series K, "
            "keeps the first K."
        )
    store = xr.open_zarr(path)
    attributes, outcomes = store.attrs, _outcomes(store)
    series, paths = xr.open_zarr(path, group="series"), _paths(path)
    names = series["mode"].attrs["flag_meanings"].replace(" ", ", ").replace("_", " ")
    for sample in range(series.sizes["sample"]):
        run = series.isel(sample=sample).load()
        mode = run["mode"].values
        ended = (mode.reshape(len(mode), -1) < 0).any(axis=1)  # of one body, or of many
        run = run.isel(time=~ended).assign(paths(sample))
        yield run.assign_attrs(attributes | {"mode_names": names} | outcomes(sample))


def _paths(path: Path) -> Callable[[int], dict[str, xr.Variable]]:
    """The closely kept path of a sample, as variables of its run, where the store has any."""
    if not (path / "series" / "path").is_dir():
        return lambda sample: {}
    kept = xr.open_zarr(path, group="series/path")
    first, count = kept["first"].values, kept["count"].values

    def one(sample: int) -> dict[str, xr.Variable]:
        pieces = kept.isel(piece=slice(int(first[sample]), int(first[sample] + count[sample])))
        return {name: pieces[name].variable.load() for name in VARIABLES} if count[sample] else {}

    return one


def _outcomes(store: xr.Dataset) -> Callable[[int], dict[str, str]]:
    """How a sample ended, as an attribute of its run."""
    if "outcome" not in store:
        return lambda sample: {}
    words = store["outcome"].attrs["flag_meanings"].split()
    codes = store["outcome"].values
    return lambda sample: {"outcome": words[int(codes[sample])]}
