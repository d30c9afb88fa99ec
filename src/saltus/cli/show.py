"""saltus show: figures and animation of a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli import pictures, summary
from saltus.cli.console import print_json, print_pairs, print_table, progress
from saltus.cli.options import Animate, Debug, Html, Json, Plot, Quiet

if TYPE_CHECKING:
    import xarray as xr

MAX_EVENTS_SHOWN = 30


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A run stored by `saltus run --out` (.nc or .zarr).")],
    plot: Plot = None,
    animate: Animate = None,
    html: Html = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Figures and animation of a stored run, with its events.

    Without --plot, --animate and --html a figure and an animation are written beside FILE, with its name.
    """
    from saltus.io import read

    dataset = read(file)
    if plot is None and animate is None and html is None:
        plot, animate = file.with_suffix(".png"), file.with_suffix(".gif")
    pictures.check(plot, animate, html)
    with progress(quiet) as bar:
        pictures.draw(dataset, plot, animate, bar, html)
    facts = summary.summary(dataset)
    if "wall_time" in dataset.attrs:
        facts["wall_time"] = float(dataset.attrs["wall_time"])
    facts["files"] = [str(path) for path in (plot, animate, html) if path is not None]
    if json:
        print_json({**facts, "event_table": _events(dataset)})
    elif not quiet:
        print_pairs(summary.rows(facts))
        _print_events(dataset)


def _events(dataset: xr.Dataset) -> list[dict[str, Any]]:
    names = [str(name) for name, variable in dataset.data_vars.items() if variable.dims[:1] == ("event",)]
    return [
        {name.removeprefix("event_"): dataset[name].values[row].tolist() for name in names if _plain(dataset[name])}
        for row in range(dataset.sizes["event"])
    ]


def _plain(variable: xr.DataArray) -> bool:
    return variable.dtype.kind in "fiub" or variable.ndim == 1


def _print_events(dataset: xr.Dataset) -> None:
    count = dataset.sizes["event"]
    if count == 0:
        return
    shown = min(count, MAX_EVENTS_SHOWN)
    columns = ("event_time", "event_name", "event_index")
    rows = [[f"{dataset[columns[0]].values[i]:.12g}", *(str(dataset[name].values[i]) for name in columns[1:])]
            for i in range(shown)]  # fmt: skip
    print()
    print_table(["time [s]", "event", "index"], rows)
    if count > shown:
        print(f"and {count - shown} more")
