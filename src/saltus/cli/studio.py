"""saltus studio: scenarios in the browser, on this machine alone."""

from __future__ import annotations

from typing import Annotated

import typer

from saltus.cli import complete, interrupt
from saltus.cli.options import Debug
from saltus.errors import MissingExtraError


def command(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO]", help="A TOML file, or a name of `saltus list`.", autocompletion=complete.scenarios
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on this machine; 0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    patience: Annotated[
        float, typer.Option("--patience", min=1.0, help="Seconds after the page was closed until the studio ends.")
    ] = 45.0,
    debug: Debug = False,
) -> None:
    """Pick, change, run and compare scenarios in the browser.

    Nothing leaves this machine: the studio answers on 127.0.0.1 alone, to the page with the token in its address.
    """
    try:
        from saltus.studio import serve
    except ImportError as error:
        raise MissingExtraError("The studio is not installed. To install it: pip install 'saltus[studio]'.") from error

    def tell(address: str) -> None:
        print(f"The studio is at {address}\nCtrl-C ends it.", flush=True)

    serve(scenario, port=port, browser=browser, tell=tell, patience=patience, ended_by=interrupt.as_end)
