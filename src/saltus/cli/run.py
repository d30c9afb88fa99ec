"""saltus run: a scenario from file or catalogue."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saltus.cli import complete, pictures, summary
from saltus.cli.console import Progress, error, print_json, print_pairs, progress
from saltus.cli.options import Animate, Debug, Force, Json, Plot, Quiet

if TYPE_CHECKING:
    from saltus.scenarios import Loaded
    from saltus.simulation import Run


def command(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO", help="A TOML file, or a name of `saltus list`.", autocompletion=complete.scenarios
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the result (.nc or .zarr).")] = None,
    plot: Plot = None,
    animate: Animate = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key, such as masses.0.mass=2.0; may be repeated."),
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run a scenario and say how it went."""
    from saltus.scenarios import load

    loaded = load(scenario, set or [])
    _check_files(out, plot, animate, force)
    began = time.perf_counter()
    with progress(quiet) as bar:
        run = simulate(loaded, bar)
        attributes = {"scenario": loaded.text, "scenario_name": loaded.name, "wall_time": run.wall_time}
        with bar.stage("sampling"):
            dataset = run.to_dataset(times=loaded.scenario.solve.samples, attributes=attributes)
        total_time = time.perf_counter() - began
        if out is not None:
            from saltus.io import write

            write(dataset, out)
        pictures.draw(dataset, plot, animate, bar)
    facts = summary.summary(dataset, loaded.name)
    facts.update(wall_time=run.wall_time, total_time=total_time)
    facts["files"] = [str(path) for path in (out, plot, animate) if path is not None]
    if json:
        print_json(facts)
    elif not quiet:
        print_pairs(summary.rows(facts))
    if not loaded.scenario.success(facts["outcome"]):
        expected = loaded.scenario.solve.expect
        error(facts["outcome_message"] + ("" if expected is None else f" Expected was the outcome {expected!r}."))
        raise typer.Exit(1)


def _check_files(out: Path | None, plot: Path | None, animate: Path | None, force: bool) -> None:
    """Refuse a file that could not be written before the run, not after it."""
    if out is not None:
        from saltus.io import check_suffix

        check_suffix(out)
        pictures.check_file(out, force)
    pictures.check(plot, animate, force)


def simulate(loaded: Loaded, bar: Progress) -> Run:
    """Run a scenario with a progress bar."""
    end = loaded.scenario.end_time
    with bar.stage(f"running {loaded.name}", total=end) as told:
        told(0.0, "compiling")

        def report(t: float, n_events: int) -> None:
            told(t, f"t = {t:.4g} s, {n_events} event{'' if n_events == 1 else 's'}")

        return loaded.scenario.simulate(progress=report)
