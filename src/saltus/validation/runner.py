"""Reference files through the checkers of their topics."""

from __future__ import annotations

import dataclasses
import gc
import importlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

from saltus import _jax_settings, processes
from saltus.checks import suggestion
from saltus.errors import ScenarioError
from saltus.validation.check import Check
from saltus.validation.parts import Part, Topic, parts

# The groups of each topic; known here so that files are read before JAX is imported.
TOPICS = {
    "chain": ("closed_form", "rhs", "jerk", "crossing", "run"),
    "impact": (
        "mass_properties", "free_rotation", "signed_gap", "impulse", "first_contact", "classification",
        "paradox_event", "sustained_contact", "normal_acceleration_form", "near_paradox_from_past",
    ),
    "friction": (
        "exact_functions", "exact_functions_other_exponent", "contact_dimensional", "contact_vector",
        "pade_coefficients", "pade_values", "pade_max_error", "rails_state", "slip_to_roll_point_contact",
        "point_contact_events", "roll_stick_limit_point_contact", "pivot_spin_down", "groove_spin_down",
        "terminal_ratio", "terminal_ratio_incline", "critical_slope", "symmetric_stop", "trajectory_rails",
        "rail_contact_lost", "plane_point_contact", "trajectory_plane", "butterfly_state",
        "trajectory_butterfly_roll", "trajectory_butterfly_slip", "lift_off_circle", "butterfly_lift_off",
    ),
    "sliding": ("trajectory", "events", "instants", "illposed"),
    "nonsmooth": ("hybrid", "library", "paper"),
    "gas": ("state", "low_density"),
}  # fmt: skip
LONG_RUNS = ("chain",)  # topics of many runs of one program, which is then better compiled with some care
LONGEST_RUNS = ("gas",)  # topics whose time goes into running: compiled with all care
ONLY_ASKED_FOR = {"gas": ("state",)}  # groups that take minutes


@dataclasses.dataclass(frozen=True)
class CaseResult:
    """What came out for one case."""

    topic: str
    group: str
    case: str
    checks: tuple[Check, ...]
    number: int = 0  # in the row of all cases


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
        """What came out for the group, for machines."""
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


def shipped_files() -> list[Path]:
    """The reference files of the package."""
    return sorted((Path(__file__).parent / "cases").glob("*.json"))


def standard(names: Sequence[str] = ()) -> list[Topic]:
    """The cases of the package: all of some topics, or those of every topic that take a minute together."""
    known = {path.stem: path for path in shipped_files()}
    for name in names:
        if name not in known:
            raise ScenarioError(
                f"There are no reference cases of {name!r} in the package.{suggestion(name, known)} "
                f"Known: {', '.join(known)}."
            )
    if names:
        return read(known[name] for name in dict.fromkeys(names))
    quick = []
    for topic in read(known.values()):
        long = ONLY_ASKED_FOR.get(topic.name, ())
        quick.append(dataclasses.replace(topic, cases=[case for case in topic.cases if case["group"] not in long]))
    return quick


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
    groups = TOPICS[name]
    for index, case in enumerate(cases):
        group = case.get("group") if isinstance(case, dict) else None
        if group not in groups:
            near = suggestion(str(group), groups)
            raise ScenarioError(
                f"Case {index} of {str(path)!r} has the unknown group {group!r}.{near} Known: {', '.join(groups)}."
            )
    return Topic(name, path, cases)


def run(topics: Sequence[Topic], workers: int = 0) -> Iterator[CaseResult]:
    """Check all cases: in this process, in their order, or by so many others, as they get ready.

    Nearly all of the time goes into compilation. The other processes compile with little care, and cases
    that share a program stay together.
    """
    found = parts(topics)
    if workers < 1 or len(found) <= 1:
        for one in sorted((one for part in found for one in _count(part)), key=lambda one: one[1]):
            yield _run_case(*one)
        return
    quick = [part for part in found if part.topic not in LONGEST_RUNS]
    rest = [part for part in found if part.topic in LONGEST_RUNS]
    for some, settings in ((quick, _jax_settings.quick_to_compile()), (rest, {})):
        if some:
            with processes.pool(min(workers, len(some)), _prepare, (settings,)) as pool:
                for done in as_completed([pool.submit(_run_part, part) for part in some]):
                    yield from done.result()


def _count(part: Part) -> list[tuple[str, int, dict[str, Any]]]:
    return [(part.topic, number, case) for number, case in part.cases]


def _prepare(environment: dict[str, str]) -> None:
    """The settings of a new process, before it imports JAX."""
    os.environ.update(environment)
    _jax_settings.configure(flags=False)  # those of the environment are the ones that are wanted
    gc.set_threshold(200_000, 20, 100)  # tracing makes many objects that live on: looking at them often takes time


def _run_part(part: Part) -> list[CaseResult]:
    """The results of a part, in a process of its own."""
    import jax

    jax.config.update("jax_disable_most_optimizations", part.topic not in LONG_RUNS + LONGEST_RUNS)
    return [_run_case(*one) for one in _count(part)]


def _run_case(topic: str, number: int, case: dict[str, Any]) -> CaseResult:
    checker = importlib.import_module(f"saltus.validation.{topic}").GROUPS[case["group"]]
    return CaseResult(topic, case["group"], str(case.get("id", number)), tuple(_checks(checker, case)), number)


def _checks(checker, case: dict[str, Any]) -> list[Check]:
    """The checks of a case; a case that cannot be run is one that fails, and says why."""
    try:
        checks = checker(case)
    except KeyError as error:
        return [Check(f"the case has no {error.args[0]!r}", math.inf, 0.0)]
    except Exception as error:
        return [Check(f"raised {type(error).__name__}: {' '.join(str(error).split())}", math.inf, 0.0)]
    return checks or [Check("nothing could be checked", math.inf, 0.0)]


def worst(result: CaseResult) -> Check:
    """The check of a case that comes nearest to its tolerance, or is farthest beyond it."""
    return max(result.checks, key=lambda check: (not check.ok, check.ratio))


def case_row(result: CaseResult) -> list[str]:
    """A line of a table of cases."""
    check, ok = worst(result), all(check.ok for check in result.checks)
    return [result.case, check.what, f"{check.error:.1e}", f"{check.tolerance:.1e}", "ok" if ok else "FAIL"]


def case_facts(result: CaseResult) -> dict[str, Any]:
    """A case with all its checks, for machines."""
    checks = [{"what": one.what, "error": one.error, "tolerance": one.tolerance, "ok": one.ok} for one in result.checks]
    return {"case": result.case, "group": result.group, "ok": all(one.ok for one in result.checks), "checks": checks}


def by_group(results: Iterable[CaseResult]) -> list[GroupResult]:
    """Results gathered by topic and group, in the order of the files."""
    gathered: dict[tuple[str, str], list[CaseResult]] = {}
    for result in sorted(results, key=lambda result: result.number):
        gathered.setdefault((result.topic, result.group), []).append(result)
    return [GroupResult(topic, group, tuple(found)) for (topic, group), found in gathered.items()]
