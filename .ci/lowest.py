"""Print `name==minimum` for every requirement that pyproject.toml declares for users and tests.

`make test-lowest` installs these: what is declared to work is tried.
"""

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = ("zarr", "cluster", "sensitivity", "terrain", "studio", "test")
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(\[[^]]*\])?>=(?P<least>[0-9][0-9a-z.]*)")


def pins(project: dict) -> list[str]:
    """One line per requirement; those of one's own extras are spelt out."""
    extras = project.get("optional-dependencies", {})
    wanted = [*project["dependencies"], *(one for name in EXTRAS for one in extras.get(name, []))]
    lines = []
    for one in wanted:
        found = REQUIREMENT.fullmatch(one.split(",")[0].split(";")[0].strip())
        if found is None and not one.startswith("saltus["):
            sys.exit(f"{one!r} in pyproject.toml has no lower bound of the form name>=version.")
        if found is not None:
            lines.append(f"{found['name']}=={found['least']}")
    return lines


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "pyproject.toml"
    print("\n".join(pins(tomllib.loads(path.read_text(encoding="utf-8"))["project"])))
