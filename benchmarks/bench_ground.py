"""Stones on terrain: how many come to rest per second of CPU, how that grows, and what compilation takes.

`python benchmarks/bench_ground.py` compiles everything anew: it takes some minutes.
"""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np
from stamp import Report

GOAL = 2000.0 / 2  # stones per second of one core
SIZES = (64, 256)
TIMES = (5.0, 10.0, 20.0)
RELEASE = "[[1190.0, 1445.0], [1210.0, 1440.0], [1215.0, 1455.0], [1195.0, 1460.0]]"
FLOOR = "[[1096.0, 880.0], [1116.0, 880.0], [1116.0, 890.0], [1096.0, 890.0]]"  # of the valley: few impacts there


def run(scenario, text: str, count: int) -> tuple[float, dict]:
    """CPU time of so many samples of a scenario, all in one batch [s], and what is kept of them."""
    from saltus.ensembles.compute import run_samples
    from saltus.ensembles.compute.task import ScenarioWork

    values = ScenarioWork(text).draw(0, count)
    began = time.process_time()
    found = run_samples.run(scenario, values)
    return time.process_time() - began, found


def tell(report: Report, name: str, count: int, cpu: float, found: dict) -> None:
    """One line about an ensemble."""
    from saltus.ensembles.compute.outputs import OUTCOME_NAMES

    ends, numbers = np.unique(found["outcome"], return_counts=True)
    told = ", ".join(f"{number} {OUTCOME_NAMES[end]}" for end, number in zip(ends, numbers, strict=True))
    events = found["events"].mean()
    report.line(
        f"{name:29s} {count:4d} stones ({told}): {cpu:6.2f} s of CPU, {count / cpu:6.1f} stones per CPU second "
        f"({GOAL * cpu / count:.0f} times too slow), {events:5.1f} events each, "
        f"{1e3 * cpu / count / events:.2f} ms per event"
    )


def main() -> None:
    os.environ["SALTUS_CACHE"] = tempfile.mkdtemp()
    import saltus as sl
    from saltus.scenarios.loader import load, loads

    sl.configure()
    report = Report("ground", "jaxlib")
    text = load("rockfall").text.replace("samples = 200\n", f"samples = {SIZES[-1]}\n")
    rockfall = loads(text)
    cold, _ = run(rockfall, text, SIZES[0])
    cpu, found = run(rockfall, text, SIZES[0])
    report.line(f"compilation of the programs of an ensemble: {cold - cpu:.0f} s of CPU; later processes load them")
    tell(report, "rockfall", SIZES[0], cpu, found)
    for count in SIZES[1:]:
        run(rockfall, text, count)
        tell(report, "rockfall", count, *run(rockfall, text, count))
    for until in TIMES:
        until_then = text.replace('until = "rest"', f"until = {until}")
        run(loads(until_then), until_then, SIZES[0])
        tell(report, f"rockfall until {until:g} s", SIZES[0], *run(loads(until_then), until_then, SIZES[0]))
    on_floor = text.replace(RELEASE, FLOOR)
    for count in SIZES:
        run(loads(on_floor), on_floor, count)
        tell(report, "dropped onto the valley floor", count, *run(loads(on_floor), on_floor, count))
    report.write()


if __name__ == "__main__":
    main()
