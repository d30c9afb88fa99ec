"""saltus show: a stored run: its summary, its events, and pictures of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli import pictures, summary
from saltus.cli.console import note, print_json, print_pairs, print_table, progress
from saltus.cli.options import Animate, Debug, Force, Html, Json, Plot, Quiet

if TYPE_CHECKING:
    import xarray as xr

MAX_EVENTS_SHOWN = 30


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A run stored by `saltus run --out` (.nc or .zarr).")],
    plot: Plot = None,
    animate: Animate = None,
    html: Html = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show a stored run: its summary and its events, and figures on request.

    --plot writes a figure, --animate an animation, --html a page; without them no file is written.
    """
    from saltus.io import read

    dataset = read(file)
    pictures.check(plot, animate, html, force)
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
        if not facts["files"] and sys.stderr.isatty():
            note("For pictures: --plot FILE.png, --animate FILE.gif.")


def _columns(dataset: xr.Dataset) -> list[str]:
    """The columns of the events that can be printed."""
    found = [str(name) for name, variable in dataset.data_vars.items() if variable.dims[:1] == ("event",)]
    return [name for name in found if dataset[name].dtype.kind in "fiub" or dataset[name].ndim == 1]


def _events(dataset: xr.Dataset) -> list[dict[str, Any]]:
    names = _columns(dataset)
    return [
        {name.removeprefix("event_"): dataset[name].values[row].tolist() for name in names}
        for row in range(dataset.sizes["event"])
    ]


def _print_events(dataset: xr.Dataset) -> None:
    """What is known of each event; columns without a word are left out."""
    count = dataset.sizes["event"]
    if count == 0:
        return
    shown = min(count, MAX_EVENTS_SHOWN)
    columns = {name: [_cell(dataset[name].values[row]) for row in range(shown)] for name in _columns(dataset)}
    columns["event_time"] = [f"{time:.12g}" for time in dataset["event_time"].values[:shown]]
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    print()
    print_table([_head(dataset[name]) for name in columns], [list(row) for row in zip(*columns.values(), strict=True)])
    if count > shown:
        print(f"and {count - shown} more (--json gives all)")


def _head(variable: xr.DataArray) -> str:
    name = str(variable.name).removeprefix("event_").replace("_", " ")
    units = variable.attrs.get("units", "")
    return f"{'event' if name == 'name' else name}{f' [{units}]' if units not in ('', '1') else ''}"


def _cell(value: Any) -> str:
    """A value for people; nothing where the event does not have it."""
    if getattr(value, "ndim", 0):
        inner = [_cell(one) for one in value]
        return f"({', '.join(one or '-' for one in inner)})" if any(inner) else ""
    if isinstance(value, str):
        return value
    if value.dtype.kind == "f":
        return "" if value != value else f"{value:.6g}"
    return "" if value == -1 else str(value)
