"""Which papers there are; each is loaded when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from saltus.checks import suggestion
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    from saltus.papers.paper import Paper

PAPERS = {
    "tinti-2019": "saltus.papers.tinti_2019",
    "vrbik": "saltus.papers.vrbik",
    "kireenkov-2021": "saltus.papers.kireenkov_2021",
    "palffy-muhoray-2017": "saltus.papers.palffy_muhoray_2017",
}


def names() -> tuple[str, ...]:
    """The names of the papers, as on the command line."""
    return tuple(PAPERS)


def check(name: str) -> None:
    """Refuse a name that is none of a paper."""
    if name not in PAPERS:
        near = suggestion(name, PAPERS)
        raise ScenarioError(f"There is no paper {name!r}.{near} Known: {', '.join(PAPERS)}.")


def load(name: str) -> Paper:
    """A paper by its name."""
    check(name)
    return importlib.import_module(PAPERS[name]).PAPER
