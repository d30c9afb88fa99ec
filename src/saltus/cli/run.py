"""saltus run: a scenario from file or catalogue."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from saltus.cli import interrupt, pictures, summary
from saltus.cli.console import Progress, error, print_json, print_pairs, progress
from saltus.cli.options import AllowPython, Animate, Debug, Force, Html, Json, Overrides, Plot, Quiet, ScenarioName
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    from saltus.scenarios import LoadedScenario, Scenario
    from saltus.simulation import Run


def command(
    scenario: ScenarioName,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the result (.nc or .zarr).")] = None,
    plot: Plot = None,
    animate: Animate = None,
    html: Html = None,
    set: Overrides = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint of an interrupted run of a gas with this --out.")
    ] = False,
    force: Force = False,
    allow_python: AllowPython = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run a scenario and say how it went."""
    from saltus.programs import ahead
    from saltus.scenarios import load

    loaded = load(scenario, set or [], allow_python)
    _refuse_impossible(loaded.scenario)
    with ahead.load_ahead(ahead.form_of(loaded.text), loaded.scenario.solve.samples):
        _check_files(out, plot, animate, html, force)
        if not ahead.under_way() and not loaded.scenario.leaves_python_free:
            # xarray, while another thread loads the programs of the last run; a first run loads it while it makes them.
            import saltus.io.dataset  # noqa: F401
        facts = _run(loaded, Files(out, plot, animate, html), resume, quiet)
    if json:
        print_json(facts)
    elif not quiet:
        print_pairs(summary.rows(facts))
    if not loaded.scenario.success(facts["outcome"]):
        expected = loaded.scenario.solve.expect
        error(facts["outcome_message"] + ("" if expected is None else f" Expected was the outcome {expected!r}."))
        raise typer.Exit(1)


def _refuse_impossible(scenario: Scenario) -> None:
    """Refuse a start that is known to be impossible before JAX is loaded."""
    if scenario.start_is_soon_known:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # building it will warn
            scenario.known_start()


class Files(NamedTuple):
    """What is written, if it is wanted."""

    out: Path | None
    plot: Path | None
    animate: Path | None
    html: Path | None


class _Libraries:
    """What results and pictures need, loaded by another thread while a run leaves Python free.

    Other libraries alone, of which such a run loads nothing: two threads must not import parts of one package.
    """

    def __init__(self, files: Files):
        self.files, self.thread = files, None

    def begin(self) -> None:
        """Start to load them, if nobody has."""
        if self.thread is None:
            self.thread = threading.Thread(target=self._load, name="saltus libraries", daemon=True)
            self.thread.start()

    def finish(self) -> None:
        """Wait until they are there."""
        if self.thread is not None:
            self.thread.join()

    def _load(self) -> None:
        with contextlib.suppress(ImportError):  # who needs what is missing will say so
            import xarray  # noqa: F401

            if self.files.out is not None and self.files.out.suffix == ".nc":
                import netCDF4  # noqa: F401
            if self.files.plot is not None or self.files.animate is not None:
                pictures.load_matplotlib()


def _run(loaded: LoadedScenario, files: Files, resume: bool, quiet: bool) -> dict[str, Any]:
    """Run a scenario and write what is wanted; the summary."""
    from saltus.io import without_dask

    options = _checkpoint(loaded, files.out, resume)
    began, libraries = time.perf_counter(), _Libraries(files)
    with progress(quiet) as bar, without_dask(), interrupt.remark_on_interrupt(lambda: _leftovers(options)):
        run = simulate(loaded, bar, options, libraries.begin if loaded.scenario.leaves_python_free else None)
        libraries.finish()
        attributes = {"scenario": loaded.text, "scenario_name": loaded.name, "wall_time": run.wall_time}
        with bar.stage("sampling"):
            dataset = run.to_dataset(times=loaded.scenario.solve.samples, attributes=attributes)
        total_time = time.perf_counter() - began
        if files.out is not None:
            from saltus.io import write

            write(dataset, files.out)
        pictures.draw(dataset, files.plot, files.animate, bar, files.html)
        facts = summary.summary(dataset, loaded.name)
    facts.update(wall_time=run.wall_time, total_time=total_time)
    facts["files"] = [str(path) for path in files if path is not None]
    return facts


def _check_files(out: Path | None, plot: Path | None, animate: Path | None, html: Path | None, force: bool) -> None:
    """Refuse a file that could not be written before the run, not after it."""
    if out is not None:
        from saltus.io import check_suffix

        check_suffix(out)
        pictures.check_file(out, force)
    pictures.check(plot, animate, html, force)


def _checkpoint(loaded: LoadedScenario, out: Path | None, resume: bool) -> dict[str, Any]:
    """Where a long run is saved now and then: beside its result."""
    can = getattr(loaded.scenario, "measure", None) is not None
    if resume and not (can and out is not None):
        raise ScenarioError("--resume goes on with a gas that is measured (a [measure] table), and needs its --out.")
    if not can or out is None:
        return {}
    return {"checkpoint": out.with_name(f"{out.name}.checkpoint.npz"), "resume": resume, "identity": loaded.text}


def _leftovers(options: dict[str, Any]) -> str:
    """What an interrupted run leaves behind."""
    saved = options.get("checkpoint")
    if saved is None or not saved.exists():
        return interrupt.NOTHING_LOST
    return f"Its state is saved in {saved.name!r}: the same command with --resume goes on from there."


def simulate(
    loaded: LoadedScenario,
    bar: Progress,
    options: dict[str, Any] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Run:
    """Run a scenario with a progress bar; `meanwhile` is called whenever it tells how far it is."""
    goal, meanwhile = getattr(loaded.scenario, "goal", None), meanwhile or (lambda: None)
    if goal is not None:
        return _run_events(loaded, bar, goal, options or {}, meanwhile)
    end = loaded.scenario.end_time
    with bar.stage(f"running {loaded.name}", total=end) as told:
        told(0.0, "compiling")

        def report(t: float, n_events: int) -> None:
            meanwhile()
            told(t, f"t = {t:.4g} s, {n_events} event{'' if n_events == 1 else 's'}")

        return loaded.scenario.simulate(progress=report, **(options or {}))


def _run_events(
    loaded: LoadedScenario, bar: Progress, goal: int, options: dict[str, Any], meanwhile: Callable[[], None]
) -> Run:
    """Run a scenario that ends after a number of events."""
    with bar.stage(f"running {loaded.name}", total=float(goal)) as told:
        told(0.0, "compiling")
        first: list[tuple[float, int]] = []

        def report(t: float, n_events: int) -> None:
            meanwhile()
            now = time.perf_counter()
            if not first:
                first.append((now, n_events))
            speed = (n_events - first[0][1]) / max(now - first[0][0], 1e-9)
            left = f", {max(goal - n_events, 0) / speed:.0f} s left" if speed > 0.0 else ""
            told(float(n_events), f"{n_events} collisions, {speed:.0f} per second{left}")

        return loaded.scenario.simulate(progress=report, **options)
