"""Which model reads which kind of scenario; loaded when first used."""

from __future__ import annotations

import importlib

from saltus import checks
from saltus.errors import ScenarioError
from saltus.scenarios.base import Scenario

KINDS = {
    "bodies": "saltus.scenarios.bodies:BodiesScenario",
    "butterfly": "saltus.scenarios.butterfly:ButterflyScenario",
    "chain": "saltus.scenarios.chain:ChainScenario",
    "ground_body": "saltus.scenarios.ground_body:GroundBodyScenario",
    "plane_ball": "saltus.scenarios.plane_ball:PlaneBallScenario",
    "rails": "saltus.scenarios.rails:RailsScenario",
    "sliding": "saltus.scenarios.sliding:SlidingScenario",
}
# Code of one's own; not among the kinds, since it has no template and is refused without the user's word.
PYTHON = {"python": "saltus.scenarios.python:PythonScenario"}


def model_of(kind: object) -> type[Scenario]:
    """The model class of a kind."""
    if kind is None:
        raise ScenarioError(f"`kind` is missing. Known: {', '.join(KINDS)}.")
    if not isinstance(kind, str):
        raise ScenarioError(f"`kind` must be a word in quotes, got {kind!r}. Known: {', '.join(KINDS)}.")
    try:
        checks.one_of("kind", kind, KINDS | PYTHON)
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    module, name = (KINDS | PYTHON)[kind].split(":")
    return getattr(importlib.import_module(module), name)
