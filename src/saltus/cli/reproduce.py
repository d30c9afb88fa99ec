"""saltus reproduce: every claim and figure of the papers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from saltus.cli.console import note, print_json, print_pairs, print_table, progress
from saltus.cli.options import Debug, Json, Quiet

# As in `saltus.papers.catalogue`; completion must not import more than this.
PAPER_NAMES = ("tinti-2019", "vrbik", "kireenkov-2021", "palffy-muhoray-2017")


def _complete(incomplete: str) -> list[str]:
    return [name for name in PAPER_NAMES if name.startswith(incomplete)]


def command(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER", help=f"One of {', '.join(PAPER_NAMES)}; all if none.", autocompletion=_complete
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the report; an earlier one there is replaced.")
    ] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Leave out what is slow.")] = False,
    claim: Annotated[
        str | None,
        typer.Option(
            "--claim", metavar="KEY", help="One claim of PAPER alone, as the report names it; writes nothing."
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Recompute the papers: claims, figures, errata.

    Every claim gets a verdict; all is written as one HTML report, and as Markdown with the figures beside it.
    """
    from saltus.io.files import check_folder
    from saltus.papers import catalogue, report
    from saltus.papers.reproduce import reproduce_all

    names = list(catalogue.names()) if paper is None else [paper]
    for name in names:
        catalogue.check(name)
    if claim is not None:
        _one(paper, claim, json)
        return
    check_folder(out, parents=True)
    began = time.perf_counter()
    with progress(quiet) as bar, _bars(bar, names) as told:
        found = reproduce_all(names, quick=quick, progress=told)
    files = report.write(found, out, quick)
    if json:
        print_json([report.facts(one) for one in found])
    elif not quiet:
        print_table(["paper", *report.VERDICTS, "errata", "figures"], [_row(one) for one in found])
        print(f"\nLook at {files['html']} ({time.perf_counter() - began:.0f} s; also {files['markdown']}).")
    left_out = sum(one.left_out for one in found)
    if left_out and not quiet:
        note(f"--quick left out {left_out} slow items.")


def _one(paper: str | None, key: str, json: bool) -> None:
    """Compute and print one claim."""
    import dataclasses

    from saltus.checks import suggestion
    from saltus.errors import ScenarioError
    from saltus.papers import catalogue
    from saltus.papers.claim import judge

    if paper is None:
        raise ScenarioError("`--claim` needs the paper before it, as in: saltus reproduce vrbik --claim KEY.")
    found = catalogue.load(paper)
    claims = {one.key: one for one in found.claims}
    if key not in claims:
        near = suggestion(key, claims)
        raise ScenarioError(f"{paper} has no claim {key!r}.{near} Its claims: {', '.join(claims)}.")
    finding = judge(claims[key], found.workbench(False))
    if json:
        print_json(dataclasses.asdict(finding))
        return
    names = ("where", "says", "printed", "found", "how", "verdict", "why", "source")
    print_pairs([(name, getattr(finding, name)) for name in names if getattr(finding, name)])


def _bars(bar, names):
    """One bar per paper."""
    import contextlib

    @contextlib.contextmanager
    def all_bars():
        with contextlib.ExitStack() as stack:
            stages = {name: stack.enter_context(bar.stage(name, total=1.0)) for name in names}
            yield lambda name, share, what: stages[name](share, what[:40])

    return all_bars()


def _row(one) -> list[str]:
    from saltus.papers.claim import VERDICTS

    return [one.name, *(str(one.count(name)) for name in VERDICTS), str(len(one.corrections)), str(len(one.pictures))]
