"""Which starts are possible, and in which modes masses begin; those of ready scenarios are known without building them.

To build a start takes JAX, a second, and some compilation the first time. What it shows of the texts that come with
saltus (the catalogue, the templates) is written down in `starts.json`; a test builds them all and compares.

    python -m saltus.scenarios.starts      write it anew, after a ready scenario has changed
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltus.scenarios.base import Scenario

Modes = list[str] | None
FILE = Path(__file__).with_name("starts.json")
WARNED = ("chain-printed-law",)  # what is said while these are built belongs to the answer


def modes_at_start(scenario: Scenario) -> Modes:
    """Modes of sliding masses at the start, by building it; None for other kinds.

    Raises:
        ScenarioError: If the start is impossible.
    """
    import numpy as np

    system, start = scenario.possible() or (None, None)
    masses: Any = getattr(system, "mass", None)
    if system is None or start is None or system.kind != "sliding" or masses is None:
        return None
    return [system.mode_names[int(mode)] for mode in np.asarray(start.mode)[: masses.size]]


def says_all(scenario: Scenario) -> bool:
    """Whether the text of a scenario alone decides what is built: it names no file, and no code of the user."""
    return scenario.kind != "python" and not any(_is_given(scenario, path) for path in scenario.paths)


def _is_given(scenario: Scenario, path: str) -> bool:
    value: Any = scenario
    for part in path.split("."):
        value = getattr(value, part, None)
    return value is not None


def is_ready(text: str) -> bool:
    """Whether a scenario is one that comes with saltus, letter by letter."""
    return _digest(text) in _known()


def known_modes(text: str) -> Modes:
    """What `modes_at_start` says of a ready scenario."""
    return _known()[_digest(text)]


def ready() -> Iterator[tuple[str, str]]:
    """Name and text of every scenario that comes with saltus, says all of itself and has nothing to warn of."""
    from saltus.scenarios.catalogue import entries
    from saltus.scenarios.loader import load
    from saltus.scenarios.templates import KINDS, template

    texts = {name: entry.path.read_text(encoding="utf-8") for name, entry in entries().items()}
    texts |= {f"new {kind}": template(kind) for kind in KINDS}
    for name, text in texts.items():
        if name not in WARNED and says_all(load(text).scenario):
            yield name, text


@functools.cache
def _known() -> dict[str, Modes]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _write() -> None:
    from saltus import configure
    from saltus.scenarios.loader import load

    configure()
    found = {_digest(text): modes_at_start(load(text).scenario) for _, text in ready()}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(modes)}" for key, modes in sorted(found.items()))
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
