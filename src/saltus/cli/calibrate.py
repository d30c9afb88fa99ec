"""saltus calibrate: parameters of a scenario from what was observed of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli import pictures
from saltus.cli.console import error, print_json, print_pairs, progress
from saltus.cli.options import AllowPython, Debug, Force, Json, Overrides, Quiet, ScenarioName
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    from saltus.calibration import Calibration


def command(
    scenario: ScenarioName,
    observed: Annotated[
        Path, typer.Option("--observed", metavar="FILE", help="CSV with the columns what, at, index, value, sigma.")
    ],
    fit: Annotated[
        list[str],
        typer.Option("--fit", metavar="KEY[=GUESS]", help="A key to find, such as friction.mu=0.2; may be repeated."),
    ],
    min: Annotated[
        list[str] | None, typer.Option("--min", metavar="KEY=VALUE", help="Smallest value of a key; may be repeated.")
    ] = None,
    max: Annotated[
        list[str] | None, typer.Option("--max", metavar="KEY=VALUE", help="Largest value of a key; may be repeated.")
    ] = None,
    set: Overrides = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the fitted scenario (.toml).")
    ] = None,
    force: Force = False,
    allow_python: AllowPython = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Find parameters of a scenario from observations, with their uncertainty."""
    from saltus.scenarios import load

    loaded = load(scenario, set or [], allow_python)
    parameters = _parameters(fit, min or [], max or [])
    if out is not None:
        if out.suffix != ".toml":
            raise ScenarioError(f"A fitted scenario is written as .toml, got {str(out)!r}.")
        pictures.check_file(out, force)
    from saltus.calibration import calibrate

    with progress(quiet) as bar, bar.stage(f"fitting {loaded.name}") as told:

        def report(step: int, cost: float) -> None:
            told(float(step), f"step {step}, sum of squares {cost:.6g}")

        found = calibrate(loaded, observed, parameters, progress=report)
    if out is not None:
        _write(found, out)
    if json:
        print_json({"scenario": loaded.name, **found.facts(), "files": [str(out)] if out else []})
    elif not quiet:
        print_pairs([*_rows(found), *([("written", str(out))] if out else [])])
    if not found.converged:
        error(found.message)
        raise typer.Exit(1)


def _rows(found: Calibration) -> list[tuple[str, str]]:
    noise = [] if found.noise is None else [("noise (estimated)", f"{found.noise:.4g}")]
    return [
        *found.rows(),
        ("observations", str(len(found.observed))),
        ("chi square", f"{found.chi_square:.4g} for {found.degrees_of_freedom} degrees of freedom"),
        *noise,
        ("steps", f"{found.iterations}, {found.runs} runs"),
        ("verdict", found.message),
    ]


def _parameters(fit: list[str], low: list[str], high: list[str]) -> dict[str, Any]:
    """Guesses and bounds by key."""
    wanted: dict[str, dict[str, float]] = {}
    for one in fit:
        key, equals, value = one.partition("=")
        wanted[key.strip()] = {"guess": _number(one, value)} if equals else {}
    for name, bounds in (("min", low), ("max", high)):
        for one in bounds:
            key, _, value = one.partition("=")
            if key.strip() not in wanted:
                raise ScenarioError(f"--{name} {one} is for a key that is not fitted. Name it with --fit as well.")
            wanted[key.strip()][name] = _number(one, value)
    return wanted


def _number(option: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ScenarioError(f"A guess or bound is KEY=NUMBER, such as friction.mu=0.2, got {option!r}.") from None


def _write(found: Calibration, path: Path) -> None:
    from saltus.io.files import atomic_write
    from saltus.scenarios import toml

    data = found.scenario.model_dump(exclude_unset=True, exclude_none=True)
    with atomic_write(path) as temporary:
        temporary.write_text(toml.dumps(data), encoding="utf-8")
