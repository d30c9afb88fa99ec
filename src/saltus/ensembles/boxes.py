"""Many boxes of one gas side by side: one process per core, one seed per box, errors from the scatter between boxes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from saltus import processes
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr

AVERAGES = (
    "compressibility",
    "collision_rate",
    "pressure",
    "temperature_translation",
    "temperature_rotation",
    "mean_order",
    "diffusion",
)


def gas_boxes(
    scenario: str | Path, seeds: Iterable[int], overrides: Sequence[str] = (), *, workers: int | None = None
) -> xr.Dataset:
    """The averages of boxes that differ in their seed, and the averages over these boxes.

    Boxes do not know of each other, so the scatter between them gives a standard error that assumes nothing about how
    long a gas remembers. With one worker per core the collisions per second of all boxes add up.

    Args:
        scenario: A scenario file or a name of the catalogue, with [measure].
        seeds: `fill.seed` of each box, two at least.
        overrides: Further `key=value` changes.
        workers: Number of processes; one per core if not given.

    Returns:
        Each average over the dimension `box` (coordinate: the seed), its mean over boxes as `<name>_over_boxes`
        with `<name>_over_boxes_error`.
    """
    from saltus.scenarios import load

    numbers = list(dict.fromkeys(int(seed) for seed in seeds))
    if len(numbers) < 2:
        raise ValueError(f"`seeds` must be two different numbers at least, got {numbers}. Give one for each box.")
    loaded = [load(scenario, [*overrides, f"fill.seed={seed}"]) for seed in numbers]
    if getattr(loaded[0].scenario, "measure", None) is None:
        raise ScenarioError(f"Scenario {loaded[0].name!r} measures no gas. Give it [measure] and [fill].")
    count = min(workers or os.cpu_count() or 1, len(numbers))
    with processes.pool(count, _prepare) as pool:
        found = list(pool.map(_box, [one.text for one in loaded]))
    return _gather(numbers, found)


def _prepare() -> None:
    """The settings of the command line for each process; one core is enough for a box."""
    from saltus import configure

    configure()


def _box(text: str) -> tuple[dict[str, tuple[float, dict]], dict]:
    """The averages of one box with their units, and how its run ended."""
    from saltus.scenarios import loads

    dataset = loads(text).simulate().to_dataset()
    averages = {name: (float(dataset[name]), dict(dataset[name].attrs)) for name in AVERAGES}
    ended = {name: dataset.attrs[name] for name in ("outcome", "outcome_message", "collisions", "deepest_overlap")}
    return averages, ended


def _gather(seeds: list[int], found: list) -> xr.Dataset:
    import numpy as np
    import xarray as xr

    variables = {}
    for name in AVERAGES:
        attributes = found[0][0][name][1]
        values = np.array([averages[name][0] for averages, _ in found])
        mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
        text = attributes["long_name"]
        variables[name] = ("box", values, attributes)
        variables[f"{name}_over_boxes"] = ((), mean, {**attributes, "long_name": f"mean over boxes: {text}"})
        variables[f"{name}_over_boxes_error"] = ((), error, {**attributes, "long_name": f"standard error: {text}"})
    for name in ("collisions", "deepest_overlap", "outcome"):
        units = {"units": "m" if name == "deepest_overlap" else "1", "long_name": name.replace("_", " ")}
        variables[name] = ("box", np.array([ended[name] for _, ended in found]), units)
    return xr.Dataset(variables, {"box": ("box", np.array(seeds), {"units": "1", "long_name": "seed of the box"})})
