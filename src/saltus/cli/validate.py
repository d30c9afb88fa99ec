"""saltus validate: reference cases through the public library."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from saltus.cli.console import print_json, print_table, progress
from saltus.cli.options import Debug, Json, Quiet
from saltus.errors import ScenarioError


def command(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE.json ...]", help="Reference cases; those shipped if none.")
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="All shipped cases of a topic, gases too, which take minutes; repeatable."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare with reference cases: the worst error per group."""
    from saltus.validation import runner

    if files and topic:
        raise ScenarioError("Both files and --topic are given. Give files, or topics of the shipped cases.")
    topics = runner.read(files) if files else runner.standard(topic or ())
    results = []
    with progress(quiet) as bar:
        total = sum(len(topic.cases) for topic in topics)
        with bar.stage("validating", total=float(total)) as told:
            for done, result in enumerate(runner.run(topics, workers=os.cpu_count() or 1)):
                results.append(result)
                told(done + 1.0, f"{result.topic}/{result.group} {result.case}")
    groups = runner.by_group(results)
    failed = [group for group in groups if not group.ok]
    if json:
        print_json([group.as_dict() for group in groups])
    elif not quiet:
        header = ["topic", "group", "cases", "checks", "worst error / tolerance", "worst case", ""]
        print_table(header, [group.row() for group in groups])
        for group in failed:
            for line in group.failures():
                print(line)
    if failed:
        raise typer.Exit(1)
