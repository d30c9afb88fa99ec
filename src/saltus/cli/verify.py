"""saltus verify: the library of non-smooth benchmarks."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from saltus.cli.console import print_json, print_pairs, print_table, progress
from saltus.cli.options import Debug, Json, Quiet


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[CASE ...]", help="Names of cases; all of them if none.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Name the cases, and run none.")] = False,
    about: Annotated[bool, typer.Option("--about", help="Tell what the cases ask and where they come from.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run the benchmarks of non-smooth mechanics: the error of each case.

    Every number is known from a closed form or more digits, and proved by a second formulation.
    """
    from saltus.checks import one_of
    from saltus.errors import ScenarioError
    from saltus.validation import nonsmooth, runner

    known = {case["id"]: case for case in nonsmooth.cases()}
    for name in names or ():
        try:
            one_of("case", name, known)
        except ValueError as error:
            raise ScenarioError(str(error)) from None
    chosen = [known[name] for name in names or known]
    if list_ or about:
        _tell(chosen, about, json)
        return
    (topic,) = runner.read([nonsmooth.path()])
    topic.cases[:] = chosen
    results = []
    with progress(quiet) as bar, bar.stage("verifying", total=float(len(chosen))) as told:
        for done, result in enumerate(runner.run([topic], workers=os.cpu_count() or 1)):
            results.append(result)
            told(done + 1.0, result.case)
    results.sort(key=lambda result: result.number)
    failed = [result for result in results if not all(check.ok for check in result.checks)]
    if json:
        print_json([runner.case_facts(result) for result in results])
    elif not quiet:
        print_table(
            ["case", "worst quantity", "error", "tolerance", ""], [runner.case_row(result) for result in results]
        )
    if failed:
        raise typer.Exit(1)


def _tell(chosen: list[dict], about: bool, json: bool) -> None:
    """The cases in words."""
    if json:
        print_json(chosen)
        return
    if not about:
        print_pairs([(case["id"], case["title"]) for case in chosen])
        return
    for case in chosen:
        rows = [("case", case["id"]), ("title", case["title"]), ("statement", case["statement"])]
        rows += [("source", case["source"]), ("checked by", case["second"]["by"])]
        rows += [("wrong in source", case["wrong_in_source"])] if "wrong_in_source" in case else []
        rows += [(one["what"], f"{one['value']!r} (to {one['tolerance']:g})") for one in case["expected"]]
        print_pairs(rows)
        print()
