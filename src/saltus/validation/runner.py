"""Reference files through the checkers of their topics."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from saltus.checks import suggestion
from saltus.errors import ScenarioError
from saltus.validation.check import Check

TOPICS = {
    "chain": "saltus.validation.chain",
    "impact": "saltus.validation.impact",
    "friction": "saltus.validation.friction",
    "sliding": "saltus.validation.sliding",
}
PART = 4  # cases that a process takes at a time: neighbours often share what is compiled


@dataclasses.dataclass(frozen=True)
class Topic:
    """A reference file: its topic, and its cases as they stand in it."""

    name: str
    path: Path
    cases: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class CaseResult:
    """What came out for one case."""

    topic: str
    group: str
    case: str
    checks: tuple[Check, ...]


@dataclasses.dataclass(frozen=True)
class GroupResult:
    """What came out for all cases of a group."""

    topic: str
    group: str
    results: tuple[CaseResult, ...]

    @property
    def ok(self) -> bool:
        """Whether every check of every case is within its tolerance."""
        return all(check.ok for result in self.results for check in result.checks)

    @property
    def worst(self) -> tuple[CaseResult, Check]:
        """The check that comes nearest to its tolerance, or is farthest beyond it."""
        pairs = [(result, check) for result in self.results for check in result.checks]
        return max(pairs, key=lambda pair: (not pair[1].ok, pair[1].ratio))

    def row(self) -> list[str]:
        """A line of the table."""
        result, check = self.worst
        count = sum(len(result.checks) for result in self.results)
        worst = f"{check.error:.1e} / {check.tolerance:.1e}"
        where = f"{result.case}: {check.what}"
        return [self.topic, self.group, str(len(self.results)), str(count), worst, where, "ok" if self.ok else "FAIL"]

    def failures(self) -> list[str]:
        """A line for each check that failed."""
        return [
            f"FAIL {result.topic}/{result.group} {result.case}: {check.what}, error {check.error:.3g}, "
            f"allowed {check.tolerance:.3g}"
            for result in self.results
            for check in result.checks
            if not check.ok
        ]

    def as_dict(self) -> dict[str, Any]:
        """The same for machines."""
        result, check = self.worst
        return {
            "topic": self.topic,
            "group": self.group,
            "cases": len(self.results),
            "checks": sum(len(result.checks) for result in self.results),
            "worst_case": result.case,
            "worst_check": check.what,
            "worst_error": check.error,
            "tolerance": check.tolerance,
            "ok": self.ok,
            "failures": self.failures(),
        }


def shipped() -> list[Path]:
    """The reference files of the package."""
    return sorted((Path(__file__).parent / "cases").glob("*.json"))


def read(paths: Iterable[str | Path]) -> list[Topic]:
    """Read reference files; one sentence for what cannot be used."""
    topics = [_read(Path(path)) for path in paths]
    if not any(topic.cases for topic in topics):
        raise ScenarioError("There are no reference cases to check.")
    return topics


def _read(path: Path) -> Topic:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ScenarioError(f"There is no file {str(path)!r}.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ScenarioError(f"Cannot read {str(path)!r} as JSON: {error}.") from None
    if not isinstance(data, dict) or not isinstance(data.get("cases"), list) or "topic" not in data:
        raise ScenarioError(f"{str(path)!r} is not a file of reference cases: it needs `topic` and a list `cases`.")
    name, cases = str(data["topic"]), data["cases"]
    if name not in TOPICS:
        raise ScenarioError(
            f"Unknown topic {name!r} in {str(path)!r}.{suggestion(name, TOPICS)} Known: {', '.join(TOPICS)}."
        )
    groups = list(_groups(name))
    for index, case in enumerate(cases):
        group = case.get("group") if isinstance(case, dict) else None
        if group not in groups:
            near = suggestion(str(group), groups)
            raise ScenarioError(
                f"Case {index} of {str(path)!r} has the unknown group {group!r}.{near} Known: {', '.join(groups)}."
            )
    return Topic(name, path, cases)


def _groups(topic: str) -> dict[str, Any]:
    return importlib.import_module(TOPICS[topic]).GROUPS


def run(topics: Sequence[Topic], workers: int = 1) -> Iterator[CaseResult]:
    """Check case after case, in this process or by several others; the order is that of the files."""
    parts = [
        (topic.name, first, topic.cases[first : first + PART])
        for topic in topics
        for first in range(0, len(topic.cases), PART)
    ]
    if min(workers, len(parts)) <= 1:
        for part in parts:
            yield from _run_part(part)
        return
    # Not forked: the libraries under JAX hold threads, which a fork does not carry over.
    with ProcessPoolExecutor(min(workers, len(parts)), multiprocessing.get_context("spawn")) as pool:
        for results in pool.map(_run_part, parts):
            yield from results


def _run_part(part: tuple[str, int, list[dict[str, Any]]]) -> list[CaseResult]:
    topic, first, cases = part
    groups = _groups(topic)
    return [
        CaseResult(topic, case["group"], str(case.get("id", first + k)), tuple(_checks(groups[case["group"]], case)))
        for k, case in enumerate(cases)
    ]


def _checks(checker, case: dict[str, Any]) -> list[Check]:
    """The checks of a case; a case that cannot be run is one that fails, and says why."""
    try:
        checks = checker(case)
    except KeyError as error:
        return [Check(f"the case has no {error.args[0]!r}", math.inf, 0.0)]
    except Exception as error:
        return [Check(f"raised {type(error).__name__}: {' '.join(str(error).split())}", math.inf, 0.0)]
    return checks or [Check("nothing could be checked", math.inf, 0.0)]


def by_group(results: Iterable[CaseResult]) -> list[GroupResult]:
    """Results gathered by topic and group, in the order in which they came."""
    gathered: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        gathered.setdefault((result.topic, result.group), []).append(result)
    return [GroupResult(topic, group, tuple(found)) for (topic, group), found in gathered.items()]
