"""saltus check: is a scenario right, without running it."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli.console import print_json
from saltus.cli.options import AllowPython, Debug, Json, Overrides, Quiet, ScenarioName

if TYPE_CHECKING:
    from saltus.scenarios.base import KnownStart, Scenario
    from saltus.scenarios.ensemble import EnsembleModel
    from saltus.scenarios.loader import LoadedScenario

FEW = 8  # masses that are named one by one


def command(
    scenario: ScenarioName,
    set: Overrides = None,
    keys: Annotated[
        bool, typer.Option("--keys", help="Keys and values only: at once, without building the start.")
    ] = False,
    allow_python: AllowPython = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check a scenario without running it.

    Its keys and values are checked, and whether its start is possible.
    """
    from saltus.scenarios import load

    loaded = load(scenario, set or [], allow_python)
    start = None if keys else _check_start(loaded)
    facts: dict[str, Any] = {
        "scenario": loaded.name,
        "kind": loaded.scenario.kind,
        "checked": "keys" if keys else "keys and start",
    }
    if start is not None and start.modes is not None:
        facts["modes"] = start.modes
    if start is not None and start.left:
        facts["left"] = start.left
    if loaded.scenario.ensemble is not None and not keys:
        facts["ensemble"] = _ensemble(loaded.scenario, loaded.scenario.ensemble)
    if json:
        print_json(facts)
    elif not quiet:
        print(f"{loaded.name} is a valid scenario of kind {facts['kind']} ({facts['checked']} checked).")
        if "modes" in facts:
            _tell_of_rods(loaded.scenario)
            print(f"At the start: {_describe_modes(facts['modes'])}.")
        if "left" in facts:
            print(f"Only the run finds {facts['left']}.")
        if "ensemble" in facts:
            print("An ensemble of {samples} samples ({design}) varies {keys}.".format(**facts["ensemble"]))


def _check_start(loaded: LoadedScenario) -> KnownStart:
    """What is known of the start, after it has been found possible.

    Where only building the start tells, which needs JAX, one that was found possible is remembered beside the
    programs, by the text of its scenario and the code that looked at it, unless files or code of the user decide too.
    """
    known_start = loaded.scenario.known_start()
    if known_start is not None:
        return known_start
    from saltus._jax_settings import programs_directory
    from saltus.programs import store
    from saltus.programs.sources import changed_since_start, sources, versions
    from saltus.scenarios.base import KnownStart

    folder, name = programs_directory(), None
    if folder is not None and _says_all(loaded.scenario) and not changed_since_start():
        told = "\0".join((sources(), *versions(), loaded.text))
        name = f"checked-{hashlib.sha256(told.encode()).hexdigest()[:40]}"
        known = store.read(folder, name)
        if known is not None:
            return KnownStart(known[0]["modes"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        modes = modes_at_start(loaded.scenario)
    for one in said:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if folder is not None and name is not None and not said:
        store.write(folder, name, {"modes": modes}, b"")
    return KnownStart(modes)


def _says_all(scenario: Scenario) -> bool:
    """Whether the text of a scenario alone decides what is built: it names no file, and no code of the user."""
    return scenario.kind != "python" and not any(_is_given(scenario, path) for path in scenario.paths)


def _is_given(scenario: Scenario, path: str) -> bool:
    value: Any = scenario
    for part in path.split("."):
        value = getattr(value, part, None)
    return value is not None


def modes_at_start(scenario: Scenario) -> list[str] | None:
    """Modes of sliding masses as the start is built; None for other kinds."""
    import numpy as np

    system, start = scenario.possible() or (None, None)
    masses: Any = getattr(system, "mass", None)
    if system is None or start is None or system.kind != "sliding" or masses is None:
        return None
    return [system.mode_names[int(mode)] for mode in np.asarray(start.mode)[: masses.size]]


def _ensemble(scenario: Scenario, table: EnsembleModel) -> dict[str, Any]:
    """What an ensemble of it would be; files with values are read."""
    from saltus.ensembles.design import Design
    from saltus.ensembles.design.vectors import terrain_grid

    # How many samples may be left to `saltus ensemble`.
    counted = table.samples is not None or table.design == "grid"
    samples = Design(table, grid=terrain_grid(scenario)).samples if counted else "any number of"
    return {"samples": samples, "design": table.design, "keys": ", ".join(table.parameters)}


def _tell_of_rods(scenario) -> None:
    """Masses that do not feel each other may be what was wanted, or a forgotten rod."""
    masses = len(scenario.masses)
    if masses > 1 and not scenario.rods:
        print(f"{masses} masses and no rods: they do not feel each other. To join two: [[rods]] with between = [0, 1].")


def _describe_modes(modes: list[str]) -> str:
    """What the masses do: each by itself if they are few."""
    one = {"slip": "slips", "stick": "sticks", "free": "flies", "pulled": "is pulled"}
    many = {"slip": "slip", "stick": "stick", "free": "fly", "pulled": "are pulled"}
    if len(modes) <= FEW:
        return ", ".join(f"mass {index} {one[mode]}" for index, mode in enumerate(modes))
    return ", ".join(f"{count} masses {many[mode]}" for mode, count in Counter(modes).items())
