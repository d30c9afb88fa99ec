"""saltus check: is a scenario right, without running it."""

from __future__ import annotations

from typing import Annotated

import typer

from saltus.cli import complete
from saltus.cli.console import print_json
from saltus.cli.options import Debug, Json, Quiet


def command(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO", help="A TOML file, or a name of `saltus list`.", autocompletion=complete.scenarios
        ),
    ],
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key, such as masses.0.mass=2.0; may be repeated."),
    ] = None,
    keys: Annotated[
        bool, typer.Option("--keys", help="Keys and values only: at once, without building the start.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check a scenario without running it.

    Its keys and values are checked, and whether its start is possible.
    """
    from saltus.scenarios import load

    loaded = load(scenario, set or [])
    modes = None
    if not keys:
        system, start = loaded.scenario.assemble()
        modes = (
            [system.mode_names[int(mode)] for mode in start.mode.ravel()] if loaded.scenario.kind == "sliding" else None
        )
    facts = {"scenario": loaded.name, "kind": loaded.scenario.kind, "checked": "keys" if keys else "keys and start"}
    if modes is not None:
        facts["modes"] = modes
    if json:
        print_json(facts)
    elif not quiet:
        print(f"{loaded.name} is a right scenario of kind {facts['kind']} ({facts['checked']} checked).")
        if modes is not None:
            _tell_of_rods(loaded.scenario)
            print("At the start: " + ", ".join(f"mass {index} {_word(mode)}" for index, mode in enumerate(modes)) + ".")


def _tell_of_rods(scenario) -> None:
    """Masses that do not feel each other may be what was wanted, or a forgotten rod."""
    masses, rods = len(scenario.masses), len(scenario.rods)
    if masses > 1 and rods == 0:
        print(f"{masses} masses and no rods: they do not feel each other. To join two: [[rods]] with between = [0, 1].")


def _word(mode: str) -> str:
    return {"slip": "slips", "stick": "sticks", "free": "flies"}.get(mode, f"is {mode}")
