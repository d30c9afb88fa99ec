"""Ensembles from start to end: a store made or continued, its chunks computed here, by workers or on a cluster."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus._jax_settings import remind_of_configure
from saltus.ensembles.compute.task import EXTENSIBLE, ScenarioWork, Work, compute
from saltus.ensembles.errors import ChunkError, EnsembleError, Failures, Interruption
from saltus.ensembles.execute import pool
from saltus.ensembles.store import Store, check_new, chunk_size
from saltus.ensembles.store.layout import is_store
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr

    from saltus.scenarios.loader import Source

FEW = 256  # samples that are not worth starting workers for
# A worker loads its libraries and programs in a second or two. So this process begins alone, and has others help when
# its pace, after so long, says that more than so much is left [s].
TRIAL, WORTH = 1.5, 4.0
# Samples in a chunk, the fewest and the most; a GPU has more to do at once.
CHUNK = {"cpu": (64, 4096), "gpu": (16384, 65536)}

Tell = Callable[["EnsembleProgress"], None]


@dataclasses.dataclass(frozen=True)
class EnsembleProgress:
    """How far an ensemble is.

    Args:
        samples: Samples in all.
        ended: Samples that are done or have ended in a chunk under way.
        found: Samples that were done before this run.
        seconds: Since this run began [s].
        pace: Samples per second once the first had ended, without the start and the compilation.
    """

    samples: int
    ended: int
    found: int
    seconds: float
    pace: float = 0.0

    @property
    def rate(self) -> float:
        """Samples per second in this run."""
        return (self.ended - self.found) / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float:
        """Time left at this pace [s]."""
        if self.ended == self.samples:
            return 0.0
        return (self.samples - self.ended) / self.pace if self.pace > 0 else math.inf


def ensemble(
    scenario: Source,
    out: str | os.PathLike,
    *,
    samples: int | None = None,
    workers: int | None = None,
    device: str = "cpu",
    scheduler: str | None = None,
    resume: bool = False,
    overrides: Sequence[str] = (),
    chunk: int | None = None,
    series: int = 0,
    allow_python: bool = False,
    tell: Tell | None = None,
) -> xr.Dataset:
    """Run a scenario many times with drawn values, and open the result.

    Sample i depends on the seed and i alone: the numbers are the same whatever the number of workers, the size of
    the chunks, and however often the ensemble was interrupted and resumed.

    Args:
        scenario: With a table [ensemble]: a TOML file, a name of the catalogue, TOML text, a dictionary, or a loaded
            scenario.
        out: Zarr store to write, a name ending in .zarr.
        samples: Number of samples; that of the scenario if None.
        workers: Processes on this machine; one per core if None.
        device: "cpu" or "gpu".
        scheduler: Address of a Dask scheduler, or "local" for a Dask cluster on this machine.
        resume: Go on with a store that an earlier run has left.
        overrides: `key=value` pairs such as "friction.mu=0.1".
        chunk: Samples that are computed and written together; chosen if None.
        series: How many of the first samples to keep over time as well, in the group "series" of the store.
        allow_python: Whether a scenario of kind "python" may run the code that it names.
        tell: Called now and then with how far it is.

    Raises:
        ScenarioError: What was asked for makes no sense; nothing was changed.
        EnsembleError: It could not be finished; what is done stays valid and can be resumed.
    """
    from saltus.scenarios import load

    loaded = load(scenario, overrides, allow_python)
    work = ScenarioWork(loaded.text, samples, device, loaded.name, allow_python)
    execute(work, out, workers=workers, scheduler=scheduler, resume=resume, chunk=chunk, tell=tell)
    if series:
        from saltus.ensembles.execute.series import write_series

        write_series(work, Store(out), series)
    import xarray as xr

    return xr.open_zarr(os.fspath(out))


def execute(
    work: Work,
    out: str | os.PathLike,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    chunk: int | None = None,
    tell: Tell | None = None,
) -> EnsembleProgress:
    """Compute the samples of `work` that the store `out` does not have yet. Arguments as in `ensemble`."""
    _check(workers, scheduler, chunk, getattr(work, "device", "cpu"))
    path, _ = Path(out), work.samples  # a wrong scenario is told of first
    if not resume or not path.exists():
        check_new(path)
    with _cluster(scheduler, workers) as client, _programs_ahead(work):
        sharers = client.n_workers if client is not None else _workers(work, workers)
        store, work = prepare(work, path, chunk, sharers)
        with store.lock():
            store.sweep()
            tally = Tally(store, tell or (lambda standing: None))
            try:
                _compute(work, store, tally, workers, client)
            except KeyboardInterrupt:
                raise Interruption(f"Interrupted. {store.describe_kept()}") from None
            except EnsembleError as error:
                if client is None:
                    store.sweep()  # workers were ended while they wrote; those of a cluster go on
                raise type(error)(f"{error} {store.describe_kept()}") from error
        return tally.progress()


def _programs_ahead(work: Work) -> contextlib.AbstractContextManager[None]:
    """Within it a second thread loads and makes programs, where it is known which: for scenarios."""
    from saltus.programs import ahead

    text = getattr(work, "text", None)
    if text is None or getattr(work, "allow_python", False):
        return contextlib.nullcontext()
    return ahead.load_ahead(f"ensemble on {getattr(work, 'device', 'cpu')}, {ahead.form_of(text)}")


def prepare(work: Work, path: Path, chunk: int | None = None, workers: int = 1) -> tuple[Store, Work]:
    """The store of `work`, made if it is not there; and the work, with the number of samples of the store."""
    if not path.exists():
        columns = work.columns()
        size = chunk or chunk_size(work.samples, columns, *CHUNK[getattr(work, "device", "cpu")], workers)
        store = Store.create(path, columns, work.keys, work.samples, size=size, attributes=work.attributes())
        return store, work
    if not is_store(path):
        raise ScenarioError(f"{str(path)!r} is no ensemble that could be resumed. Give another name.")
    store = Store(path)
    check_same(store, work)
    work = _as_many(work, store)
    if work.samples > store.samples:
        with store.lock():
            store = store.extend(work.samples)
    return store, work


def check_same(store: Store, work: Work) -> None:
    """Refuse to go on with the store of another ensemble."""
    ours, theirs = work.attributes(), store.attributes
    for name, said in (("kind", "of kind"), ("seed", "with seed"), ("design", "with design")):
        if ours.get(name) != theirs.get(name):
            raise ScenarioError(
                f"{str(store.path)!r} is an ensemble {said} {theirs.get(name)!r}, this one is {said} "
                f"{ours.get(name)!r}. Give another name."
            )
    if ours["scenario_hash"] != theirs["scenario_hash"]:
        raise ScenarioError(
            f"{str(store.path)!r} belongs to another scenario ({theirs.get('scenario_name') or 'unnamed'}, or the same "
            "with other values). Give the scenario it was started with, or another name."
        )
    if changed := _changes(ours, theirs):
        warnings.warn(
            f"The ensemble was started with other versions than it goes on with: {', '.join(changed)}. "
            "Its samples agree with each other to rounding at best.",
            stacklevel=2,
        )


def _changes(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """What computes differs: versions and device, as "name then and now"."""
    then, now = ({**json.loads(one.get("versions", "{}")), "device": one.get("device")} for one in (theirs, ours))
    return [
        f"{name} {then[name]} and {now[name]}"
        for name in then
        if name in now and then[name] != now[name] and name not in ("python", "zarr", "xarray")
    ]


def _as_many(work: Work, store: Store) -> Work:
    """`work` with as many samples as the store has, unless more were asked for."""
    wanted = getattr(work, "total", work.samples)
    if wanted is None:
        if work.samples == store.samples:
            return work
        if not isinstance(work, ScenarioWork):
            raise TypeError(f"The number of samples of a {type(work).__name__} cannot be changed.")
        return dataclasses.replace(work, total=store.samples)
    if wanted == store.samples:
        return work
    design = store.attributes.get("design")
    if wanted < store.samples:
        raise ScenarioError(
            f"{str(store.path)!r} has {store.samples} samples, more than the {wanted} asked for. Leave --samples out."
        )
    if design not in EXTENSIBLE:
        raise ScenarioError(
            f"{str(store.path)!r} has {store.samples} samples of the design {design!r}, which cannot be extended to "
            f"{wanted}. Leave --samples out, or give another name."
        )
    return work


class Tally:
    """Counts samples as they end, and tells."""

    def __init__(self, store: Store, tell: Tell):
        self._store, self._tell, self._began = store, tell, time.monotonic()
        finished = store.finished_chunks()
        self.pending: list[int] = np.flatnonzero(~finished).tolist()
        self._found = store.samples_in(finished)
        self._ended: dict[int, int] = {}  # chunks that were not done, and how many of their samples have ended
        self._first: tuple[float, int] | None = None  # when the first samples were heard of, and how many
        tell(self.progress())

    def __call__(self, chunk: int, ended: int) -> None:
        """So many samples of a chunk have ended."""
        self._ended[chunk] = ended
        standing = self.progress()
        if self._first is None and standing.ended > standing.found:
            self._first = (standing.seconds, standing.ended)
        self._tell(standing)

    def progress(self) -> EnsembleProgress:
        """How far it is."""
        ended, seconds = self._found + sum(self._ended.values()), time.monotonic() - self._began
        since, already = self._first or (0.0, self._found)
        pace = max(ended - already, 0) / (seconds - since) if seconds > since else 0.0
        return EnsembleProgress(self._store.samples, ended, self._found, seconds, pace)


def _compute(work: Work, store: Store, tally: Tally, workers: int | None, client: Any) -> None:
    """The chunks that are not done, in the way that fits."""
    pending = tally.pending
    if not pending:
        return
    if client is not None:
        client.run(work, store, pending, tally)
        return
    number, failures = min(_workers(work, workers), len(pending)), Failures()
    # Code of a user may end its process; a scenario's does not.
    alone = number == 1 or (isinstance(work, ScenarioWork) and not work.allow_python)
    trial = _Trial(store, tally)
    for place, chunk in enumerate(pending):
        if not alone or (number > 1 and trial.is_long()):
            pool.run(work, store, pending[place:], number, tally)
            break
        try:
            _here(work, store, chunk, tally if number == 1 else trial)
        except _LongError:
            tally(chunk, 0)
            pool.run(work, store, pending[place:], number, tally)
            break
        except ChunkError as problem:
            tally(chunk, 0)
            failures.add(problem)
    failures.tell()


class _LongError(EnsembleError):
    """An ensemble takes so long that other processes are worth starting."""


class _Trial:
    """Counts samples that end in this process, and interrupts its work where others are worth starting."""

    def __init__(self, store: Store, tally: Tally):
        self._store, self._tally = store, tally
        self._first: tuple[float, int] | None = None  # when it began to compute, and how many samples had ended then

    def __call__(self, chunk: int, ended: int) -> None:
        self._tally(chunk, ended)
        if self._first is None:
            self._first = _work_time(), self._tally.progress().ended
        first, last = self._store.bounds(chunk)
        if ended < last - first and self.is_long():
            raise _LongError("Others are worth starting.")

    def is_long(self) -> bool:
        """Whether much is left at the pace since the first samples were heard of."""
        if self._first is None:
            return False
        standing = self._tally.progress()
        passed, ended = _work_time() - self._first[0], standing.ended - self._first[1]
        return passed > TRIAL and passed * (standing.samples - standing.ended) > WORTH * ended


def _work_time() -> float:
    """Processor time of this process but for that which went into programs: other processes load those [s]."""
    from saltus.programs import waiting

    return time.process_time() - waiting.time_spent()


def _here(work: Work, store: Store, chunk: int, tally: Callable[[int, int], None]) -> None:
    """A chunk in this process."""
    remind_of_configure()
    first, last = store.bounds(chunk)
    ended = 0

    def progress(count: int) -> None:
        nonlocal ended
        ended = min(ended + count, last - first - 1)  # the last one counts when the chunk is written
        tally(chunk, ended)

    try:
        compute(work, store, chunk, progress)
    except (EnsembleError, ScenarioError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ChunkError(f"Samples {first} to {last - 1} could not be computed: {reason}") from error
    tally(chunk, last - first)


def _workers(work: Work, wanted: int | None) -> int:
    """Number of processes, this one alone where others are not worth starting."""
    if wanted is not None:
        return wanted
    if work.samples <= FEW or getattr(work, "device", "cpu") == "gpu":
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check(workers: int | None, scheduler: str | None, chunk: int | None, device: str) -> None:
    if workers is not None and workers < 1:
        raise ScenarioError(f"`workers` must be at least 1, got {workers}.")
    if chunk is not None and chunk < 1:
        raise ScenarioError(f"`chunk` must be at least 1 sample, got {chunk}.")
    if scheduler not in (None, "local") and workers is not None:
        raise ScenarioError("Give either --workers, for this machine, or --scheduler, for a cluster with its own.")
    if device == "gpu" and (workers or 1) > 1:
        raise ScenarioError(f"A GPU is served by one process, got workers = {workers}. Leave --workers out.")


@contextlib.contextmanager
def _cluster(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """The cluster to compute on, reached before anything is written; None for this machine alone."""
    if scheduler is None:
        yield None
        return
    from saltus.ensembles.execute.cluster import Cluster

    with Cluster(scheduler, workers) as cluster:
        yield cluster
