"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saltus.cli import complete

ScenarioName = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A TOML file, or a name of `saltus list`.", autocompletion=complete.scenarios
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, such as masses.0.mass=2.0; may be repeated."),
]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Write a figure (.png, .pdf or .svg).")]
Animate = Annotated[Path | None, typer.Option("--animate", metavar="FILE", help="Write an animation (.gif or .mp4).")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write one web page that plays the run (.html), offline.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no summary.")]
AllowPython = Annotated[
    bool,
    typer.Option("--allow-python", help="Run the code that a scenario of kind python names; only if you trust it."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
