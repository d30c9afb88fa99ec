"""The library of non-smooth benchmarks (`saltus verify`) through saltus, SciPy, plain diffrax and MuJoCo.

Each engine is given the same rates, guards and jumps by an adaptor of about a hundred lines (`benchmarks/nonsmooth`);
SciPy and diffrax are restarted after each event, and step 1e-9 s over a guard that is zero at its own restart. Adaptive
engines run at rtol 1e-12; MuJoCo, which takes constant steps and has soft contacts, is given balls on planes alone. A
cell tells the error, the events that were missed, and the time. The error is the largest of a case's quantities,
relative to the size of the expected number; "none" where a quantity does not exist because its event was not found.
Missed are those of the case's events (the ones saltus finds, whose times are checked by closed forms) that have no
counterpart within 1e-3 s. Limits of infinitely many events are asked of saltus alone. Times are the best of
three, after compilation.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "nonsmooth")]

import saltus  # noqa: E402

saltus.configure()  # as users do: before JAX starts

import with_diffrax  # noqa: E402
import with_mujoco  # noqa: E402
import with_scipy  # noqa: E402
from stamp import Report, best_of  # noqa: E402

from saltus.validation import nonsmooth  # noqa: E402
from saltus.validation.nonsmooth import engine  # noqa: E402

LIMITS = ("rest",)
NEAR = 1e-3  # [s]; how near to its time an event counts as found


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


def missed(wanted, found) -> int:
    """How many events of a record have no counterpart of their own in another."""
    left = sorted(event.t for event in found.events)
    count = 0
    for event in wanted.events:
        if event.name.endswith("_settled"):
            continue
        near = min(left, key=lambda t: abs(t - event.t), default=float("inf"))
        if abs(near - event.t) <= NEAR:
            left.remove(near)
        else:
            count += 1
    return count


def cell(name: str, case, wanted) -> str:
    """Error, missed events and time of one engine on one case; `wanted`: the record of saltus."""
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
    told = "none" if error == float("inf") else f"{error:.0e}"
    count = sum(not event.name.endswith("_settled") for event in wanted.events)
    events = f"{missed(wanted, record)} of {count}"
    return f"{told:>6} {events:>10} {1e3 * seconds:8.1f} ms"


def main() -> None:
    report = Report("nonsmooth", "scipy", "diffrax", "mujoco")
    cases = [case for case in nonsmooth.cases() if case["group"] == "hybrid"]
    titles = (f"{name + ': error, missed, time':>30}" for name in ENGINES)
    report.line(" | ".join([f"{'case':22}", *titles]))
    for case in cases:
        wanted = _saltus(case)
        report.line(" | ".join([f"{case['id']:22}", *(f"{cell(name, case, wanted):>30}" for name in ENGINES)]))
    report.write()


if __name__ == "__main__":
    main()
