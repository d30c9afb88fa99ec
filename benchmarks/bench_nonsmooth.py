"""The library of non-smooth benchmarks (`saltus verify`) through saltus, SciPy, plain diffrax and MuJoCo.

Each engine is given the same rates, guards and jumps by an adaptor of about a hundred lines (`benchmarks/nonsmooth`);
SciPy and diffrax are restarted after each event, and step 1e-9 s over a guard that is zero at its own restart. Adaptive
engines run at rtol 1e-12. An error is the largest of a case's quantities, relative to the size of the
expected number; "missed" means that an event was not found, so that a quantity does not exist or is off by more
than 1e-3. Limits of infinitely many events are asked of saltus alone. Times are the best of three, after compilation.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "nonsmooth")]

import with_diffrax  # noqa: E402
import with_mujoco  # noqa: E402
import with_scipy  # noqa: E402
from stamp import Report, best_of  # noqa: E402

from saltus.validation import nonsmooth  # noqa: E402
from saltus.validation.nonsmooth import engine  # noqa: E402

LIMITS = ("rest",)
MISSED = 1e-3


def _saltus(case):
    return engine.solve(case["model"], case["input"])


def _other(module):
    return lambda case: module.solve(nonsmooth.problem(case["model"]), case["input"])


ENGINES = {
    "saltus": _saltus,
    "scipy": _other(with_scipy),
    "diffrax": _other(with_diffrax),
    "mujoco": _other(with_mujoco),
}


def judged(case, record) -> float:
    """Largest relative error of a case."""
    found = nonsmooth.problem(case["model"]).measure(record, case["input"])
    errors = [
        abs(found[one["what"]] - one["value"]) / max(abs(one["value"]), 1e-3)
        for one in case["expected"]
        if one["what"] not in LIMITS
    ]
    return max((float("inf") if error != error else error for error in errors), default=0.0)


def cell(name: str, case) -> str:
    """Error and time of one engine on one case."""
    solve = ENGINES[name]
    began = time.perf_counter()
    try:
        record = solve(case)
    except Exception as error:
        return f"failed ({type(error).__name__})"
    first = time.perf_counter() - began
    if record is None:
        return "-"
    seconds = first if first > 20 or name == "mujoco" else best_of(lambda: solve(case), 3)[0]
    error = judged(case, record)
    told = "missed" if error > MISSED and name != "mujoco" else f"{error:.0e}"
    return f"{told:>7}  {1e3 * seconds:8.1f} ms"


def main() -> None:
    report = Report("nonsmooth", "scipy", "diffrax", "mujoco")
    cases = [case for case in nonsmooth.cases() if case["group"] == "hybrid"]
    report.line(f"{'case':24}" + "".join(f"{name:>24}" for name in ENGINES))
    for case in cases:
        report.line(f"{case['id']:24}" + "".join(f"{cell(name, case):>24}" for name in ENGINES))
    report.write()


if __name__ == "__main__":
    main()
