"""The library of non-smooth benchmarks: problems that any engine can be given, and how saltus is checked on them.

A case of group "hybrid" names one of `MODELS`; an adaptor for another engine turns a `Problem` into a `Record`.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from saltus.validation.check import Check, difference
from saltus.validation.nonsmooth.problem import Problem, ProblemEvent, Record, Rule

__all__ = ["GROUPS", "MODELS", "Problem", "ProblemEvent", "Record", "Rule", "cases", "path", "problem"]

Case = dict[str, Any]

MODELS = {
    "impacts": (
        "bouncing_ball", "wall_ball", "ceiling_ball", "drag_ball", "slope_ball", "wedge", "beads_drop", "beads_line",
        "corner", "rocking_block", "rocking_slender", "impact_pendulum", "ball_collision",
    ),
    "friction": (
        "friction_oscillator", "belt", "weakening_belt", "incline_stop", "slide_to_roll", "across_incline",
        "thermostat", "relay", "water_tanks", "woodpecker",
    ),
    "oscillators": (
        "impact_oscillator", "grazing", "bilinear", "shaken_table", "lift_off", "narrow_dip", "spherical_pendulum",
        "dome", "cycloid",
    ),
    "billiards": ("sinai", "stadium"),
}  # fmt: skip


def path() -> Path:
    """The file of the cases that are shipped."""
    return Path(__file__).parent / "cases.json"


def cases() -> list[Case]:
    """The cases that are shipped."""
    return json.loads(path().read_text("utf-8"))["cases"]


def problem(model: str) -> Problem:
    """The problem of this name."""
    module = next((module for module, names in MODELS.items() if model in names), None)
    if module is None:
        raise ValueError(
            f"Unknown model {model!r}. Known: {', '.join(name for names in MODELS.values() for name in names)}."
        )
    return getattr(importlib.import_module(f"saltus.validation.nonsmooth.{module}"), model)


def compare(case: Case, found: dict[str, float]) -> list[Check]:
    """The checks of a case: each expected number with what was found."""
    return [
        difference(one["what"], found.get(one["what"], float("nan")), one["value"], one["tolerance"])
        for one in case["expected"]
    ]


def _hybrid(case: Case) -> list[Check]:
    """A problem through `hybrid.system` and `simulate`."""
    from saltus.validation.nonsmooth.engine import solve

    chosen = problem(case["model"])
    record = solve(case["model"], case["input"])
    return compare(case, chosen.measure(record, case["input"]))


def _library(case: Case) -> list[Check]:
    """A case that needs more than one run: derivatives, means over many runs, a friction law."""
    from saltus.validation.nonsmooth import library

    return compare(case, getattr(library, case["model"])(case["input"]))


def _paper(case: Case) -> list[Check]:
    """A reference case of `saltus validate`, by its topic and id."""
    topic, name = case["input"]["topic"], case["input"]["id"]
    module = importlib.import_module(f"saltus.validation.{topic}")
    data = json.loads((path().parents[1] / "cases" / f"{topic}.json").read_text("utf-8"))
    found = next(one for one in data["cases"] if str(one.get("id")) == name)
    return module.GROUPS[found["group"]](found)


GROUPS = {"hybrid": _hybrid, "library": _library, "paper": _paper}
