"""Single samples of a stored ensemble, run again to be looked at."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from saltus.ensembles.analyse.result import Column, Result
from saltus.ensembles.compute.building import sample_values
from saltus.ensembles.compute.task import ScenarioWork
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr

MOST = 5  # samples that are worth looking at
BEST = ("run_out", "stop_time", "stop_distance")  # columns by which they are chosen, where there are such


class Samples:
    """The samples of a store, each of which can be run again: it keeps the scenario and the seed.

    Args:
        path: The Zarr store, finished or not.
    """

    def __init__(self, path: str | os.PathLike):
        self.result = Result(path)
        about = self.result.attributes
        if "scenario" not in about:
            raise ScenarioError(f"{os.fspath(path)!r} does not keep its scenario, so no sample can be run again.")
        self.work = ScenarioWork(str(about["scenario"]), self.result.samples, name=str(about.get("scenario_name", "")))

    def values(self, number: int) -> dict[str, object]:
        """The drawn value of each key of a sample."""
        if not 0 <= number < self.result.samples:
            raise ScenarioError(f"There are samples 0 to {self.result.samples - 1}, there is no {number}.")
        return sample_values(self.work.draw(number, number + 1), 0)

    def run(self, number: int) -> xr.Dataset:
        """The run of a sample over time; `ScenarioError` where it cannot be built."""
        from saltus.scenarios import toml
        from saltus.scenarios.keys import with_values

        values = self.values(number)
        scenario = with_values(self.work.scenario, values)
        run = scenario.simulate()
        drawn = ", ".join(
            f"{key} = {value:.6g}" if isinstance(value, float) else f"{key} = {value}" for key, value in values.items()
        )
        text = toml.dumps(
            scenario.model_dump(mode="json", exclude={"ensemble"}, exclude_defaults=True) | {"kind": scenario.kind}
        )
        named = {"scenario_name": f"sample {number}", "scenario": f"# {drawn}\n{text}", "wall_time": run.wall_time}
        return run.to_dataset(scenario.solve.samples, attributes=named)

    def telling_samples(self) -> dict[int, str]:
        """Samples that show what came out, with what each of them is: extremes, the median, rarer outcomes."""
        found: dict[int, str] = {}
        column = _choose_column(self.result)
        if column is not None:
            values = np.where(np.isfinite(column.values), column.values.astype(float), np.nan)
            order = np.argsort(values)[: int(np.isfinite(values).sum())]
            name = column.name.replace("_", " ")
            for place, word in ((0, "least"), (len(order) // 2, "median"), (-1, "largest")):
                found.setdefault(int(self.result.numbers[order[place]]), f"{word} {name}")
        outcomes = self.result.first_of_outcomes()
        for outcome, number in outcomes.items() if len(outcomes) > 1 else ():
            found.setdefault(number, outcome.replace("_", " "))
        return dict(list(found.items())[:MOST])


def _choose_column(result: Result) -> Column | None:
    """The column by which samples are chosen: one number per sample, which varies."""
    names = [name for name in BEST if name in result.names] + [name for name in result.names if name not in BEST]
    for name in names:
        for column in result.columns([name]):
            known = column.values[np.isfinite(column.values)]
            if len(known) and np.ptp(known) > 0:
                return column
    return None
