"""Which reference cases go together: those that share a compiled program. Nothing here imports JAX."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Case = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Topic:
    """A reference file: its topic, and its cases as they stand in it."""

    name: str
    path: Path
    cases: list[Case]


@dataclasses.dataclass(frozen=True)
class Part:
    """Cases that one process takes in one go, each with its number in the row of all cases."""

    topic: str
    cases: list[tuple[int, Case]]


def parts(topics: Sequence[Topic]) -> list[Part]:
    """All cases, alike ones together; of a topic the parts that take longest come first."""
    found, number = [], 0
    for topic in topics:
        alike: dict[str, list[tuple[int, Case]]] = {}
        for case in topic.cases:
            alike.setdefault(_key(topic.name, case), []).append((number, case))
            number += 1
        found += sorted((Part(topic.name, cases) for cases in alike.values()), key=_effort, reverse=True)
    return found


def _key(topic: str, case: Case) -> str:
    """What the program of a case is known by."""
    group = case["group"]
    if topic == "impact":
        return "motion" if group == "sustained_contact" else "pair"
    if topic == "nonsmooth":
        return case.get("model", "paper")
    if topic == "friction":
        return _ball(group, case.get("input", {}))
    if topic == "gas":
        return str(case.get("id"))
    if topic == "sliding" and "m" in case:
        built = {name: case.get(name) for name in ("rods", "model", "friction_law")}
        surface = case.get("surface", {})
        kind = surface.get("kind") if isinstance(surface, dict) else None
        friction = any(case["mu"]) if isinstance(case.get("mu"), list) else bool(case.get("mu"))
        return json.dumps([kind, len(case["m"]), friction, built], sort_keys=True, default=str)
    return group if topic == "sliding" else topic


def _ball(group: str, given: Case) -> str:
    """The system that a case of friction is about."""
    if "butterfly" in group or group == "lift_off_circle":
        return "butterfly"
    if "plane" in group or ("alpha" in given and given["alpha"] == 0.0 and "rails" not in group):
        return "plane"
    return "rails" if "alpha" in given else "law"


def _effort(part: Part) -> float:
    """How long a part takes, roughly: larger networks are larger programs."""
    return max(len(case.get("rods") or case.get("states") or ()) for _, case in part.cases)
