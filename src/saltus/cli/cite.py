"""saltus cite: the publications behind the laws that a scenario uses."""

from __future__ import annotations

import dataclasses

from saltus.cli.console import print_json
from saltus.cli.options import Debug, Json, ScenarioName

SOFTWARE = "saltus {version}: mechanics that jumps. Apache-2.0. See CITATION.cff"


def command(
    scenario: ScenarioName,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """List the publications behind a scenario."""
    from saltus import __version__
    from saltus.scenarios import load
    from saltus.scenarios.references import references

    loaded = load(scenario)
    built = loaded.scenario.possible()
    found = references(built[0]) if built else []
    software = SOFTWARE.format(version=__version__)
    if json:
        print_json(
            {"scenario": loaded.name, "software": software, "references": [dataclasses.asdict(one) for one in found]}
        )
        return
    laws = "\n\nand what its laws come from:\n" if found else ""
    print(f"If you publish results of {loaded.name}, cite\n\n  {software}{laws}")
    for one in found:
        print(f"  {one.part} ({one.about})")
        for source in one.sources:
            print(f"    {source}")
