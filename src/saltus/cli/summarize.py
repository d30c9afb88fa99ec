"""saltus summarize: what came out of an ensemble."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli import pictures
from saltus.cli.console import print_json, print_pairs, print_table, progress
from saltus.cli.options import Debug, Force, Html, Json, Plot, Quiet

if TYPE_CHECKING:
    from saltus.ensembles.analyse.report import Summary

SHOWN = ("mean", "standard_error", "sd", "min", "q05", "q25", "q50", "q75", "q95", "max")
HEADS = {"standard_error": "± error", **{f"q{level}": f"{level} %" for level in ("05", "25", "50", "75", "95")}}
INDICES = {"first": "first-order index", "total": "total index"}


def command(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="An ensemble stored by `saltus ensemble` (.zarr).")],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="NAME", help="This column alone, such as stop_time; may be repeated."),
    ] = None,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Sobol indices: which keys the columns depend on.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Write all tables (CSV) and the figure (PNG); earlier ones there are replaced."
        ),
    ] = None,
    plot: Plot = None,
    html: Html = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """What came out of an ensemble: outcomes, statistics, histograms and exceedance curves.

    Samples that are not complete yet are left out.
    """
    from saltus.ensembles.analyse.report import summarize

    pictures.check(plot, None, html, force)
    if out is not None:
        from saltus.io.files import check_folder

        check_folder(out)
    with progress(quiet) as bar, bar.stage("summarizing") as told:
        summary = summarize(store, column, sensitivity, told)
    files = _write(summary, out, plot)
    if html is not None:
        from saltus.ensembles.analyse.page import save_page

        with progress(quiet) as bar, bar.stage("running single samples"):
            save_page(summary, html)
        files.append(str(html))
    if json:
        print_json(_data(summary, files, curves=column is not None))
    elif not quiet:
        _print(summary)
        if out is not None:
            print(f"\nwritten  {len(files) - (plot is not None) - (html is not None)} files in {out}")
        for path in (plot, html):
            if path is not None:
                print(f"\nwritten  {path}")


def _write(summary: Summary, out: Path | None, plot: Path | None) -> list[str]:
    """Write what is wanted, and name the files."""
    files = summary.write_tables(out) if out is not None else []
    for path in (out / "summary.png" if out is not None else None, plot):
        if path is not None:
            summary.save_figure(path)
            files.append(path)
    return [str(path) for path in files]


def _data(summary: Summary, files: list[str], curves: bool) -> dict[str, Any]:
    """Everything for machines; the curves only of columns that were asked for."""
    names = ("outcomes", "parameters", "choices", "categories", "columns", "sensitivity", "pairs")
    data = {**summary.facts, **{name: getattr(summary, name) for name in names}, "files": files}
    if curves:
        tables = summary.tables()
        for kind in ("histogram", "exceedance"):
            data[kind] = {one.name: tables.get(f"{kind}-{one.name}", []) for one in summary.curves}
    return data


def _print(summary: Summary) -> None:
    facts = summary.facts
    print_pairs(
        [
            ("ensemble", f"{facts['store']} ({facts['kind']}, design {facts['design']}, seed {facts['seed']})"),
            ("samples", f"{facts['done']} of {facts['samples']} complete"),
        ]
    )
    outcomes = [
        [row["outcome"], str(row["count"]), f"{row['share']:.3%}", f"{row['low']:.3%} to {row['high']:.3%}"]
        for row in summary.outcomes
    ]
    _table(["outcome", "samples", "share", "95 % confidence"], outcomes)
    choices = [[row["name"], str(row["value"]), str(row["count"]), f"{row['share']:.3%}"] for row in summary.choices]
    _table(["parameter", "value", "samples", "share"], choices)
    words = [[row["name"], row["value"], str(row["count"]), f"{row['share']:.3%}"] for row in summary.categories]
    _table(["column", "value", "samples", "share"], words)
    for title, table in (("parameter", summary.parameters), ("column", summary.columns)):
        counts = [name for name in ("missing", "censored") if any(row[name] for row in table)]
        rows = [
            [row["name"], row["units"], *(_number(row, name) for name in SHOWN), *(str(row[name]) for name in counts)]
            for row in table
        ]
        _table([title, "units", *(HEADS.get(name, name) for name in SHOWN), *counts], rows)
    _print_indices(summary)
    for remark in facts["remarks"]:
        print(f"\n{remark}")


def _number(row: dict[str, Any], name: str) -> str:
    """A statistic; a dash where censored samples hide it."""
    return "-" if row["censored"] and math.isnan(row[name]) else f"{row[name]:.5g}"


def _print_indices(summary: Summary) -> None:
    """A table for each kind of index: columns that vary downwards, keys to the right."""
    for name, title in INDICES.items():
        found: dict[str, dict[str, str]] = {}
        for row in summary.sensitivity:
            if name in row and not math.isnan(row[name]):
                found.setdefault(row["column"], {})[row["key"]] = f"{row[name]:.3f} ± {row[f'{name}_ci']:.3f}"
        if found:
            _table([title, *next(iter(found.values()))], [[column, *cells.values()] for column, cells in found.items()])


def _table(header: list[str], rows: list[list[str]]) -> None:
    if rows:
        print()
        print_table(header, rows)
