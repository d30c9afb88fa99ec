"""Ensembles of the studio: computed chunk by chunk, so that their distributions can be watched as they fill."""

from __future__ import annotations

import copy
import dataclasses
import math
import time
from pathlib import Path
from typing import Any

from saltus.errors import ScenarioError
from saltus.scenarios import toml
from saltus.scenarios.keys import put

CHUNKS = 16  # about so often the distributions grow
LEAST = 8  # samples of a chunk
SHOWN = 12  # columns


@dataclasses.dataclass
class Many:
    """An ensemble: waiting, running, done, failed or stopped.

    Args:
        number: Its number among the runs of the studio.
        name: Name of the scenario.
        data: The scenario, with a table [ensemble].
        store: Where its samples are kept as long as the studio runs.
    """

    number: int
    name: str
    data: dict[str, Any]
    store: Path
    state: str = "waiting"
    samples: int = 0
    ended: int = 0
    pace: float = 0.0
    message: str = ""
    stop: bool = False
    _seen: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    _again: float = dataclasses.field(default=0.0, repr=False)  # when it is worth looking at the samples again

    @property
    def text(self) -> str:
        """The scenario as TOML."""
        return toml.dumps(self.data)

    def work(self) -> None:
        """Compute it; `Interruption` when it is stopped."""
        from saltus.ensembles.compute.task import ScenarioWork
        from saltus.ensembles.errors import EnsembleError, Interruption
        from saltus.ensembles.execute.runner import EnsembleProgress, execute

        def tell(standing: EnsembleProgress) -> None:
            self.samples, self.ended, self.pace = standing.samples, standing.ended, standing.pace
            if self.stop:
                raise KeyboardInterrupt  # the runner's own way to end: what is done stays valid

        work = ScenarioWork(self.text, name=self.name)
        self.samples, self.state = work.samples, "running"
        chunk = max(math.ceil(work.samples / CHUNKS), LEAST)
        try:
            execute(work, self.store, workers=1, chunk=chunk, tell=tell)
        except Interruption:
            self.state, self.message = "stopped", f"Stopped by hand after {self.ended} samples."
        except EnsembleError as problem:
            self.state, self.message = "failed", str(problem)
        else:
            self.state = "done"

    def describe(self, curves: bool = False) -> dict[str, Any]:
        """What the page shows of it."""
        names = ("number", "name", "state", "samples", "ended", "pace", "message")
        told: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {**told, **self._current()} if curves else told

    def _current(self) -> dict[str, Any]:
        """What was found when last looked; while samples are computed, looking takes a fifth of the time at most."""
        began = time.monotonic()
        if self.state not in ("waiting", "running") or began >= self._again:
            self._seen = self._find()
            self._again = time.monotonic() + 4.0 * (time.monotonic() - began)
        return self._seen

    def _find(self) -> dict[str, Any]:
        """The outcomes and histograms of the samples that are complete, and which of them are worth a look."""
        from saltus.ensembles.analyse.report import Curves
        from saltus.ensembles.analyse.result import Result
        from saltus.ensembles.analyse.samples import Samples
        from saltus.views.pages.ensemble import label_of

        nothing = {"complete": 0, "outcomes": [], "columns": [], "telling": []}
        if not self.store.exists():
            return nothing
        try:
            result = Result(self.store)
        except ScenarioError:  # no chunk is complete yet
            return nothing
        columns = [Curves.of(one) for one in result.columns()]
        columns = [one for one in columns if len(one.values) > 1][:SHOWN]
        done = self.state not in ("waiting", "running")
        telling = Samples(self.store).telling_samples() if done else {}
        return {
            "complete": len(result.numbers),
            "outcomes": result.outcomes(),
            "columns": [
                {
                    "name": one.name,
                    "label": label_of(one.label),
                    "edges": one.edges.tolist(),
                    "counts": one.counts.tolist(),
                }
                for one in columns
            ],
            "telling": [{"sample": number, "what": what} for number, what in telling.items()],
        }

    def sample(self, number: int) -> dict[str, Any]:
        """The scenario of one sample: its drawn values in place, without [ensemble]."""
        from saltus.ensembles.analyse.samples import Samples

        data = copy.deepcopy({key: value for key, value in self.data.items() if key != "ensemble"})
        for key, value in Samples(self.store).values(number).items():
            put(data, key.split("."), value, key)
        return data

    def page(self) -> str:
        """Its page, as `saltus summarize --html` writes it."""
        from saltus.ensembles.analyse.page import page

        return page(self.store)
