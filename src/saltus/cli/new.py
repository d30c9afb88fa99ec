"""saltus new: a commented scenario to start from."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from saltus.cli import complete
from saltus.cli.console import note
from saltus.cli.options import Debug


def command(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help="Kind of the scenario, such as sliding.", autocompletion=complete.kinds),
    ] = None,
    debug: Debug = False,
) -> None:
    """Print a commented scenario to start from.

    For example: saltus new sliding > my.toml
    """
    from saltus.errors import ScenarioError
    from saltus.scenarios.templates import KINDS, template

    if kind is None:
        raise ScenarioError(f"Which kind? Known: {', '.join(KINDS)}. For example: saltus new sliding > my.toml")
    text = template(kind)
    print(text, end="")
    if sys.stdout.isatty():
        note(f"\nTo keep it: saltus new {kind} > my.toml; then saltus check my.toml and saltus run my.toml.")
