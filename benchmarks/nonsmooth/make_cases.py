"""Write the benchmark cases: numbers from `closed_forms`, each proved again by SciPy's integrator or as its entry says.

`python benchmarks/nonsmooth/make_cases.py` writes src/saltus/validation/nonsmooth/cases.json; it fails where the two
formulations differ by more than a case's tolerance.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import closed_forms  # noqa: E402
import with_scipy  # noqa: E402
from catalogue import CASES, PAPERS  # noqa: E402

from saltus.validation.nonsmooth import path, problem  # noqa: E402

LIBRARY = ("bouncing_ball_gradient", "stadium_mean_time", "sinai_mean_time", "sliding_disc")


def expected(case: dict) -> list[dict]:
    """The numbers of a case with their tolerances."""
    exact = getattr(closed_forms, case["model"])(closed_forms.numbers(case["input"]))
    tolerance, only = case.pop("tolerance"), case.pop("only", tuple(exact))
    default = tolerance.get("*", 1e-10)
    return [
        {"what": what, "value": float(value), "tolerance": tolerance.get(what, default)}
        for what, value in exact.items()
        if what in only
    ]


def second(case: dict) -> dict:
    """How far SciPy's integration of the same problem is from the closed form; None where it cannot tell."""
    chosen = problem(case["model"])
    # Straight flights are so smooth that SciPy's steps leap over a disc: the proof takes short ones.
    short = 0.02 if case["model"] in ("sinai", "stadium") else math.inf
    record = with_scipy.solve(chosen, case["input"], short)
    found = chosen.measure(record, case["input"])
    skipped = case.get("not_by_scipy", {})
    differences = {
        one["what"]: abs(found[one["what"]] - one["value"]) for one in case["expected"] if one["what"] not in skipped
    }
    for one in case["expected"]:
        limit = max(one["tolerance"], 1e-8 * max(1.0, abs(one["value"])))
        if one["what"] in differences and not differences[one["what"]] <= limit:
            raise SystemExit(
                f"{case['id']}: {one['what']} differs by {differences[one['what']]:.3g} between formulations"
            )
    return {
        "by": "SciPy DOP853, terminal events, restarts",
        "largest_difference": max(differences.values(), default=None),
    }


def main() -> None:
    """Make all cases."""
    made = []
    for case in CASES:
        case = dict(case)
        case["group"] = "library" if case["model"] in LIBRARY else "hybrid"
        case["expected"] = expected(case)
        if case["group"] == "hybrid" and "second" not in case:
            case["second"] = second(case)
        made.append(case)
        print(case["id"], case["second"], flush=True)
    made += [dict(case, group="paper") for case in PAPERS]
    text = json.dumps({"topic": "nonsmooth", "about": "Benchmarks of non-smooth mechanics.", "cases": made}, indent=1)
    path().write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
