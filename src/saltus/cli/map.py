"""saltus map: what a system settles into, over one of its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saltus.cli import complete, pictures
from saltus.cli.console import note, print_json, print_pairs
from saltus.cli.options import AllowPython, Debug, Force, Json, Plot, Quiet

if TYPE_CHECKING:
    from saltus.dynamics import Diagram


def command(
    scenario: Annotated[
        str,
        typer.Argument(metavar="SCENARIO", help="A TOML file of kind python.", autocompletion=complete.scenarios),
    ],
    over: Annotated[str, typer.Option("--over", metavar="KEY=LOW:HIGH:COUNT", help="The parameter and its values.")],
    see: Annotated[str, typer.Option("--see", metavar="NAME", help="The quantity to look at, right after each event.")],
    skip: Annotated[int, typer.Option("--skip", min=1, help="Events before the first look.")] = 200,
    keep: Annotated[int, typer.Option("--keep", min=1, help="Events that are looked at.")] = 32,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the numbers (.nc or .zarr).")] = None,
    plot: Plot = None,
    force: Force = False,
    allow_python: AllowPython = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Draw a bifurcation diagram: what is seen event after event, for many values of a parameter.

    For example: saltus map table.toml --allow-python --over parameters.A=0.007:0.012:300 --see v --plot map.png
    """
    import numpy as np

    from saltus.io import check_suffix
    from saltus.io import write as write_dataset

    key, values = _values(over)
    if out is not None:
        check_suffix(out)
        pictures.check_file(out, force)
    pictures.check(plot, None, None, force)
    found = _diagram(scenario, key, values, see, skip, keep, allow_python)
    if out is not None:
        write_dataset(_dataset(found, see), out)
    if plot is not None:
        from saltus.views.dynamics import diagram
        from saltus.views.style import save

        save(diagram(found, see), plot)
    seen = found.seen[found.complete]
    branches = found.branches(1e-3 * float(np.ptp(seen) or 1.0) if seen.size else 1.0)[found.complete]
    ended = [str(outcome) for outcome in found.outcomes[~found.complete]]
    facts = {"scenario": scenario, "parameter": key, "values": len(values), "incomplete": len(ended)}
    facts["branches"] = {str(one): int((branches == one).sum()) for one in sorted(set(branches.tolist()))}
    if json:
        print_json(facts)
    elif not quiet:
        told = ", ".join(f"{number} values with {one}" for one, number in facts["branches"].items())
        print_pairs([("parameter", key), ("values", str(len(values))), ("branches", told)])
    if ended:
        why = ", ".join(f"{ended.count(name)} by {name}" for name in sorted(set(ended)))
        note(
            f"saltus: {len(ended)} of {len(values)} values ended before {skip + keep} events ({why}) and are left out."
        )
        raise typer.Exit(1)


def _values(over: str):
    """The key and its values."""
    import numpy as np

    from saltus.errors import ScenarioError

    key, equals, told = over.partition("=")
    parts = told.split(":")
    try:
        low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
    except (ValueError, IndexError):
        raise ScenarioError(
            f"--over is KEY=LOW:HIGH:COUNT, such as parameters.A=0.007:0.012:300, got {over!r}."
        ) from None
    if not equals or not key.startswith("parameters.") or len(parts) != 3 or count < 1:
        raise ScenarioError(f"--over is KEY=LOW:HIGH:COUNT with a key under `parameters.`, got {over!r}.")
    return key, np.linspace(low, high, count)


def _diagram(scenario: str, key: str, values, see: str, skip: int, keep: int, allow_python: bool) -> Diagram:
    """The diagram of a scenario."""
    from saltus.checks import one_of
    from saltus.dynamics import bifurcation
    from saltus.errors import ScenarioError
    from saltus.hybrid import FunctionSystem, State
    from saltus.scenarios import load

    loaded = load(scenario, [], allow_python)
    system, start = loaded.scenario.assemble()
    name = key.removeprefix("parameters.")
    if not isinstance(system, FunctionSystem) or not isinstance(system.parameters, dict):
        raise ScenarioError(
            "A map needs a system made of functions with parameters; sweep others with `saltus ensemble`."
        )
    try:
        one_of("parameter", name, system.parameters)
        one_of("quantity", see, system.quantities())
    except ValueError as error:
        raise ScenarioError(str(error)) from None

    def quantity(t, y, p):
        state = State(t, system.form.vector(y, "The state"), start.v, start.ledger, start.mode)
        return system.with_parameters(p).observe(state)[see]

    solve = loaded.scenario.options()
    options = {name: solve[name] for name in ("method", "rtol", "atol", "step") if solve[name] is not None}
    return bifurcation(system, name, values, quantity, skip=skip, keep=keep, start=start, **options)


def _dataset(found: Diagram, see: str):
    """The numbers of a diagram with their names."""
    import xarray as xr

    dims = ("value", "event")
    return xr.Dataset(
        {see: (dims, found.seen), "event_time": (dims, found.times, {"units": "s"})}, {"value": found.values},
        {"kind": "map", "parameter": found.parameter},
    )  # fmt: skip
