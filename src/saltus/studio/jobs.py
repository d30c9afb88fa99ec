"""Runs of the studio: one after the other in a thread that keeps its compiled programs, results kept to compare."""

from __future__ import annotations

import dataclasses
import itertools
import queue
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltus.errors import MissingExtraError, ScenarioError
from saltus.scenarios import toml
from saltus.scenarios.loader import loads
from saltus.studio.many import Many

if TYPE_CHECKING:
    import xarray as xr

KEPT = 12  # finished runs; older ones are forgotten


class Stopped(Exception):  # noqa: N818  (not an error)
    """The run was stopped by hand."""


@dataclasses.dataclass
class Job:
    """A run: waiting, running, done, failed or stopped."""

    number: int
    name: str
    data: dict[str, Any]
    state: str = "waiting"
    time: float = 0.0
    until: float = 0.0
    events: int = 0
    message: str = ""
    wall_time: float = 0.0
    dataset: xr.Dataset | None = None
    stop: bool = False

    @property
    def text(self) -> str:
        """The scenario as TOML."""
        return toml.dumps(self.data)

    def result(self) -> xr.Dataset:
        """What came out; `ScenarioError` where nothing has."""
        if self.dataset is None:
            raise ScenarioError(f"Run {self.number} has no result: it is {self.state}.")
        return self.dataset

    def describe(self) -> dict[str, Any]:
        """What the page shows of it."""
        names = ("number", "name", "state", "time", "until", "events", "message", "wall_time")
        told = {name: getattr(self, name) for name in names}
        # JSON knows no infinity; a run without an end of its own has no share that is done.
        return {**told, "until": self.until if self.until < 1e300 else 0.0}


class Jobs:
    """All runs of a studio, and the thread that makes them."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Job | Many] = queue.Queue()
        self._numbers = itertools.count(1)
        self.all: dict[int, Job] = {}
        self.many: dict[int, Many] = {}
        self._folder: Path | None = None
        threading.Thread(target=self._work, daemon=True, name="saltus runs").start()

    @property
    def busy(self) -> bool:
        """Whether a run is waiting or running."""
        return any(job.state in ("waiting", "running") for job in (*self.all.values(), *self.many.values()))

    def start(self, name: str, data: dict[str, Any]) -> Job:
        """Check a scenario, and let it run when its turn comes; `ScenarioError` if it is wrong."""
        scenario = loads(toml.dumps(data))
        job = Job(next(self._numbers), name, data, until=scenario.end_time)
        self.all[job.number] = job
        self._forget()
        self._queue.put(job)
        return job

    def start_many(self, name: str, data: dict[str, Any]) -> Many:
        """Check a scenario with a table [ensemble], and compute its samples when its turn comes."""
        if loads(toml.dumps(data)).ensemble is None:
            raise ScenarioError("An ensemble needs keys that vary. Choose one, or write a table [ensemble].")
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="saltus-studio-"))
        number = next(self._numbers)
        many = self.many[number] = Many(number, name, data, self._folder / f"{number}.zarr")
        self._queue.put(many)
        return many

    def close(self) -> None:
        """Remove what ensembles have left on the disk."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _forget(self) -> None:
        done = [number for number, job in self.all.items() if job.state in ("done", "failed", "stopped")]
        for number in done[: max(len(done) - KEPT, 0)]:
            del self.all[number]

    def _work(self) -> None:
        while True:
            job = self._queue.get()
            try:
                job.work() if isinstance(job, Many) else self._run(job)
            except Stopped:
                job.state, job.message = "stopped", "Stopped by hand."
            except (ScenarioError, MissingExtraError, ValueError) as problem:
                job.state, job.message = "failed", str(problem)
            except Exception as problem:  # whatever it is, the studio goes on and says so
                job.state, job.message = "failed", f"{type(problem).__name__}: {problem}"

    def _run(self, job: Job) -> None:
        def report(t: float, n_events: int) -> None:
            job.time, job.events = float(t), int(n_events)
            if job.stop:
                raise Stopped

        if job.stop:
            raise Stopped
        job.state = "running"
        scenario = loads(job.text)
        run = scenario.simulate(progress=report)
        job.wall_time, job.time = run.wall_time, float(run.end.t)
        attributes = {"scenario": job.text, "scenario_name": job.name, "wall_time": run.wall_time}
        job.dataset = run.to_dataset(scenario.solve.samples, attributes=attributes)
        job.message = run.outcome.message
        job.state = "done"
