"""saltus ensemble: a scenario many times, with drawn values."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli import complete, interrupt
from saltus.cli.console import error, print_json, print_pairs, progress
from saltus.cli.options import AllowPython, Debug, Json, Overrides, Quiet

if TYPE_CHECKING:
    from saltus.ensembles.compute.task import ScenarioWork
    from saltus.ensembles.execute.runner import EnsembleProgress
    from saltus.ensembles.store import Store


def command(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="A TOML file with a table [ensemble], or a name of `saltus list`.",
            autocompletion=complete.scenarios,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="STORE", help="Write the result (.zarr).")],
    samples: Annotated[int | None, typer.Option("--samples", metavar="N", help="Number of samples.")] = None,
    device: Annotated[str, typer.Option("--device", metavar="cpu|gpu", help="Where to compute.")] = "cpu",
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes on this machine; one per core if not given.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler", metavar="ADDRESS", help="A Dask scheduler, or `local` for a Dask cluster of this machine."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a store that an earlier run has left.")] = False,
    set: Overrides = None,
    chunk: Annotated[
        int | None, typer.Option("--chunk", metavar="N", help="Samples computed and written together.")
    ] = None,
    series: Annotated[
        int, typer.Option("--series", metavar="K", min=0, help="Also keep the first K samples over time.")
    ] = 0,
    allow_python: AllowPython = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run a scenario many times with drawn values.

    What is done stays valid whatever happens; --resume goes on where a run was stopped.
    """
    from saltus.ensembles.compute.task import ScenarioWork
    from saltus.ensembles.errors import EnsembleError, Interruption
    from saltus.ensembles.execute.runner import execute
    from saltus.ensembles.store import Store
    from saltus.scenarios import load

    if device == "cpu":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # a GPU that is not wanted is not even looked for
    loaded = load(scenario, set or [], allow_python)
    work = ScenarioWork(loaded.text, samples, device, loaded.name, allow_python)
    try:
        with _bar(loaded.name, quiet) as tell, interrupt.remark_on_interrupt(lambda: _clean_up(Store(out))):
            standing = execute(work, out, workers=workers, scheduler=scheduler, resume=resume, chunk=chunk, tell=tell)
        if series:
            _keep_series(work, Store(out), series, quiet)
    except EnsembleError as problem:
        if debug:
            raise
        error(str(problem))
        raise typer.Exit(130 if isinstance(problem, Interruption) else 1) from None
    _tell(work, Store(out), standing, json, quiet)


def _tell(work: ScenarioWork, store: Store, standing: EnsembleProgress, json: bool, quiet: bool) -> None:
    """What came out; how many samples could not be built, and why the first. Where none could, that is an error."""
    facts = summary(store, standing)
    if json:
        print_json(facts)
    elif not quiet:
        print_pairs(rows(facts))
    failed = facts["outcomes"].get("failed", 0)
    if not failed:
        return
    none = failed == facts["samples"]
    count = "No sample" if none else f"{failed} of {facts['samples']} samples"
    error(f"{count} could {'' if none else 'not '}be built. {_why_failed(work, store)}")
    if none:
        raise typer.Exit(1)


def _clean_up(store: Store) -> str:
    """What remains after an interrupt; files of chunks that were being written are removed."""
    store.sweep()
    return store.describe_kept()


def _why_failed(work: ScenarioWork, store: Store) -> str:
    """What is wrong with the first sample that could not be built."""
    import numpy as np

    from saltus.ensembles.compute.building import sample_values
    from saltus.errors import ScenarioError
    from saltus.scenarios.keys import with_values

    code = {name: code for code, name in store.flags("outcome").items()}["failed"]
    failed = (np.flatnonzero(store.read("outcome", chunk) == code) for chunk in range(store.n_chunks))
    chunk, rows = next((chunk, rows) for chunk, rows in enumerate(failed) if rows.size)
    number = store.bounds(chunk)[0] + int(rows[0])
    try:
        with_values(work.scenario, sample_values(work.draw(number, number + 1), 0)).assemble()
    except ScenarioError as problem:
        return f"Sample {number}: {problem}"
    return f"The first of them is sample {number}."


def _keep_series(work: ScenarioWork, store: Store, count: int, quiet: bool) -> None:
    from saltus.ensembles.execute.series import write_series

    with progress(quiet) as bar, bar.stage("over time", total=float(count)) as told:
        write_series(work, store, count, lambda done: told(done, f"{done} of {count} samples"))


def summary(store: Store, standing: EnsembleProgress) -> dict[str, Any]:
    """What is said of an ensemble."""
    from saltus.ensembles.execute.series import n_series

    about = store.attributes
    computed = standing.ended - standing.found
    return {
        "scenario": about.get("scenario_name", ""),
        "kind": about.get("kind"),
        "design": about.get("design"),
        "seed": about.get("seed"),
        "samples": store.samples,
        "computed": computed,
        "found": standing.found,
        "outcomes": outcomes(store),
        "incomplete": incomplete(store),
        "wall_time": standing.seconds,
        "rate": standing.rate,
        "series": n_series(store),
        "store": str(store.path),
        "saltus_version": about.get("saltus_version"),
    }


def outcomes(store: Store) -> dict[str, int]:
    """How many samples ended in which way, the commonest first."""
    import numpy as np

    flags = store.flags("outcome")
    if not flags:
        return {}
    counts: Counter[str] = Counter()
    for chunk in range(store.n_chunks):
        codes, numbers = np.unique(store.read("outcome", chunk), return_counts=True)
        for code, number in zip(codes.tolist(), numbers.tolist(), strict=True):
            counts[flags.get(code, str(code))] += number
    return dict(counts.most_common())


def incomplete(store: Store) -> str:
    """What samples did not show to the end: runs that were cut off, masses that left; "" if there is nothing."""
    from saltus.hybrid.outcome import OUTCOMES

    cut = {name: count for name, count in outcomes(store).items() if not OUTCOMES.get(name, True)}
    missing = [f"{sum(cut.values())} of {store.samples} runs were cut off ({', '.join(cut)})"] if cut else []
    if "masses_left" in store.columns:
        left = sum(int(store.read("masses_left", chunk).clip(0).sum()) for chunk in range(store.n_chunks))
        missing += [f"{left} mass{'es' * (left > 1)} left the region of the surface"] if left else []
    return ", ".join(missing)


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """A summary as lines for people."""
    found = f", {facts['found']} were there" if facts["found"] else ""
    ended = ", ".join(f"{count} {name}" for name, count in facts["outcomes"].items())
    over_time = [("over time", f"the first {facts['series']}, in the group series")] if facts["series"] else []
    return [
        ("scenario", facts["scenario"] or f"(kind {facts['kind']})"),
        ("samples", f"{facts['samples']} ({facts['design']}, seed {facts['seed']})"),
        ("outcomes", ended or "none"),
        *([("incomplete", facts["incomplete"])] if facts["incomplete"] else []),
        ("computed", f"{facts['computed']} in {facts['wall_time']:.3g} s, {facts['rate']:.4g} per second{found}"),
        *over_time,
        ("written", facts["store"]),
    ]


@contextlib.contextmanager
def _bar(name: str, quiet: bool) -> Iterator[Callable[[EnsembleProgress], None] | None]:
    """A bar on stderr with rate and time left, while it is a terminal; gone afterwards."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar, interrupt.doing(bar.stop):
        task = bar.add_task(name, total=None, rate="starting")

        def tell(standing: EnsembleProgress) -> None:
            compiling = standing.ended == standing.found
            rate = "compiling" if compiling else f"{standing.pace:.4g} per second, {clock(standing.left)} left"
            bar.update(task, total=standing.samples, completed=standing.ended, rate=rate)

        yield tell


def clock(seconds: float) -> str:
    """A duration for people."""
    if not math.isfinite(seconds):
        return "some time"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
