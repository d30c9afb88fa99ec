"""Ready scenarios: one TOML file each, whose first line is a comment that describes it."""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Entry:
    """A ready scenario.

    Args:
        name: Name for `saltus run`.
        kind: Kind of its system.
        description: One line.
        path: Its file.
    """

    name: str
    kind: str
    description: str
    path: Path


@functools.cache
def entries() -> dict[str, Entry]:
    """All ready scenarios by name, in alphabetical order."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.toml"), key=lambda path: path.stem):
        text = path.read_text(encoding="utf-8")
        description = text.splitlines()[0].removeprefix("#").strip()
        found[path.stem] = Entry(path.stem, tomllib.loads(text)["kind"], description, path)
    return found
