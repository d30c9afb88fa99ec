"""saltus list: the catalogue of ready scenarios."""

from __future__ import annotations

from saltus.cli.console import print_json
from saltus.cli.options import Debug, Json


def command(json: Json = False, debug: Debug = False) -> None:
    """List the ready scenarios, with one line each."""
    from saltus.scenarios.catalogue import entries

    found = entries().values()
    if json:
        print_json([{"name": one.name, "kind": one.kind, "description": one.description} for one in found])
        return
    name_width, kind_width = (max(len(getattr(one, key)) for one in found) for key in ("name", "kind"))
    for one in found:
        print(f"{one.name:<{name_width}}  {one.kind:<{kind_width}}  {one.description}")
