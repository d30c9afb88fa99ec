"""saltus hazard: maps of where stored runs passed, how fast, and where they stopped."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saltus.cli.console import print_json, print_pairs
from saltus.cli.options import Debug, Json, Plot, Quiet
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr


def command(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Runs over one terrain, stored by `saltus run`.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write the maps as a GeoTIFF (.tif).")],
    plot: Plot = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Hazard maps of stored runs, on the pixels of their terrain."""
    import numpy as np

    from saltus.io import check_writable, read
    from saltus.io.hazard import Hazard, check_suffix, write_hazard
    from saltus.surfaces import named

    check_suffix(out)
    for path in (out, plot):
        if path is not None:
            check_writable(path)
    first = read(runs[0])
    description = _terrain(first, runs[0])
    terrain = named(description)
    hazard = Hazard(terrain.grid)
    for path in runs:
        dataset = first if path == runs[0] else read(path)
        if _terrain(dataset, path) != description:
            raise ScenarioError(
                f"{str(path)!r} is over another terrain than {str(runs[0])!r}. Give runs over one only."
            )
        hazard.add_run(dataset)
    write_hazard(out, hazard)
    if plot is not None:
        from saltus.views.hazard import save_figure

        save_figure(hazard, terrain, plot)
    maps = hazard.maps()
    facts = {
        "runs": hazard.runs,
        "pixels_passed": int((maps["passage_probability"] > 0).sum()),
        "largest_speed": float(np.nanmax(maps["largest_speed"])),
        "masses_stopped": float(hazard.stopped.sum()),
        "rods_broken": float(hazard.breaks.sum()),
        "files": [str(path) for path in (out, plot) if path is not None],
    }
    if json:
        print_json(facts)
    elif not quiet:
        print_pairs([
            ("runs", str(facts["runs"])),
            ("passed", f"{facts['pixels_passed']} pixels"),
            ("largest speed", f"{facts['largest_speed']:.4g} m/s"),
            ("stopped", f"{facts['masses_stopped']:.0f} masses"),
            ("broken", f"{facts['rods_broken']:.0f} rods"),
            *(("written", name) for name in facts["files"]),
        ])  # fmt: skip


def _terrain(dataset: xr.Dataset, path: Path) -> dict:
    """The table [surface] of a run, which must be a terrain."""
    surface = tomllib.loads(dataset.attrs.get("scenario", "")).get("surface", {})
    if surface.get("type") != "terrain":
        raise ScenarioError(f"{str(path)!r} is no run over a terrain, so it has no map.")
    return surface
