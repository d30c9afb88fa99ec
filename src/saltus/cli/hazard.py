"""saltus hazard: maps of where stored runs passed, how fast, and where they stopped."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli import pictures, stones
from saltus.cli.console import error, print_json, print_pairs
from saltus.cli.options import Debug, Force, Json, Plot, Quiet
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Runs over one terrain, stored by `saltus run`; or ensembles with runs over time (--series).",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write the maps as a GeoTIFF (.tif).")],
    plot: Plot = None,
    barrier: Annotated[
        str | None,
        typer.Option(
            "--barrier",
            metavar="LINE",
            help="For stones: what arrives at a line, given as a GeoJSON file or as 'LINESTRING (x y, x y)'.",
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            "--profile",
            metavar="FILE",
            help="What arrives where along the barrier, with its exceedance, as CSV.",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Hazard maps of stored runs, on the pixels of their terrain."""
    from saltus.io.hazard import check_suffix

    check_suffix(out)
    pictures.check_file(out, force)
    pictures.check(plot, None, None, force)
    if profile is not None:
        _check_profile(profile, barrier, force)
    first = next(_stored(runs[0]), None)
    if first is not None and first.attrs.get("kind") == "ground_body":
        files = stones.Files(out, plot, profile)
        facts = stones.write_maps(_over_one(runs), _terrain(first, runs[0]), files, barrier)
        _tell(facts, stones.rows(facts), json, quiet)
        return
    if barrier is not None:
        raise ScenarioError("`--barrier` is for runs of stones (kind ground_body). Leave it out.")
    facts = _write_maps(runs, out, plot)
    _tell(facts, _rows(facts), json, quiet)


def _check_profile(profile: Path, barrier: str | None, force: bool) -> None:
    if barrier is None:
        raise ScenarioError("`--profile` tells what arrives at a line. Give the line with --barrier.")
    if profile.suffix != ".csv":
        raise ScenarioError(f"A profile is written as .csv, got {str(profile)!r}.")
    pictures.check_file(profile, force)


def _write_maps(runs: list[Path], out: Path, plot: Path | None) -> dict[str, Any]:
    """Write the maps of runs of masses over one terrain; what there is to say of them."""
    import numpy as np

    from saltus.io.hazard import Hazard, write_hazard
    from saltus.surfaces.named import named_terrain

    hazard = terrain = None
    tells_of_breaks = False
    for path, dataset in _over_one(runs):
        if hazard is None:
            terrain = named_terrain(_terrain(dataset, path))
            hazard = Hazard(terrain.grid)
        hazard.add_run(dataset)
        tells_of_breaks |= "event_name" in dataset
    if hazard is None or terrain is None or hazard.runs == 0:
        raise ScenarioError(f"No run of {str(runs[0])!r} over time could be built, so there is nothing to map.")
    write_hazard(out, hazard)
    if plot is not None:
        from saltus.views.hazard import save_figure

        save_figure(hazard, terrain, plot)
    return {
        **hazard.facts(),
        "largest_speed": float(np.nanmax(hazard.maps()["largest_speed"])),
        "rods_broken": float(hazard.breaks.sum()) if tells_of_breaks else None,
        "files": [str(path) for path in (out, plot) if path is not None],
    }


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts of masses as lines for people."""
    broken = facts["rods_broken"]
    return [
        ("runs", str(facts["runs"])),
        ("passed", f"{facts['pixels_passed']} pixels"),
        ("largest speed", f"{facts['largest_speed']:.4g} m/s"),
        ("stopped", f"{facts['masses_stopped']:.0f} masses"),
        *stones.lacking(facts, "masses"),
        ("broken", "not known: series keep no events" if broken is None else f"{broken:.0f} rods"),
        *(("written", name) for name in facts["files"]),
    ]


def _tell(facts: dict[str, Any], rows: list[tuple[str, str]], json: bool, quiet: bool) -> None:
    """Tell what maps show, for machines or for people, and what they lack."""
    if json:
        print_json(facts)
    elif not quiet:
        print_pairs(rows)
    if facts["incomplete"]:
        error(facts["incomplete"] + " The maps show too little of what they would have done.")
    if facts["interpolated"]:
        error(facts["interpolated"] + " Store runs again, with more `solve.samples` if they are of masses.")


def _over_one(runs: list[Path]) -> Iterator[tuple[Path, xr.Dataset]]:
    """All runs with their files, which must be over the terrain of the first."""
    description = None
    for path in runs:
        for dataset in _stored(path):
            surface = _terrain(dataset, path)
            description = surface if description is None else description
            if surface != description:
                raise ScenarioError(
                    f"{str(path)!r} is over another terrain than {str(runs[0])!r}. Give runs over one only."
                )
            yield path, dataset


def _stored(path: Path) -> Iterator[xr.Dataset]:
    """The run of a file, or one after the other those that an ensemble keeps over time."""
    from saltus.io import read

    if not (path / "done").is_dir():
        yield read(path)
        return
    from saltus.ensembles.analyse.series import series_runs

    yield from series_runs(path)


def _terrain(dataset: xr.Dataset, path: Path) -> dict:
    """The table [surface] of a run, which must be a terrain."""
    surface = tomllib.loads(dataset.attrs.get("scenario", "")).get("surface", {})
    if surface.get("type") != "terrain":
        raise ScenarioError(f"{str(path)!r} is no run over a terrain, so it has no map.")
    return surface
