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
SIZES = (64, 128, 192)
TIMES = (5.0, 10.0, 20.0)
# Small ellipsoids thrown onto the valley's floor: few impacts each.
THROWN = """
kind = "ground_body"
surface = { type = "terrain", file = "alpine-valley.tif", origin = [640000.0, 5190000.0] }
friction = { mu = 0.6, model = "coulomb", rolling_friction = 0.08 }
impact = { law = "soil", restitution = 0.3, reference_mass = 200.0, settle_height = 1e-3 }
solve = { until = "rest", rtol = 1e-6, atol = 1e-7 }
[body]
shape = { axes = [0.3, 0.25, 0.2] }
density = 2700.0
position = [1106.0, 885.0]
velocity = [5.0, 0.0, 0.0]
height = 1.0
quaternion = [0.9, 0.3, 0.2, 0.1]
angular_velocity = [0.5, 0.5, 0.0]
[ensemble]
samples = 200
design = "random"
"body.position" = { polygon = [[1096.0, 880.0], [1116.0, 880.0], [1116.0, 890.0], [1096.0, 890.0]] }
"body.quaternion" = { rotation = "random" }
"body.shape.axes.0" = { uniform = [0.2, 0.4] }
"body.shape.axes.2" = { uniform = [0.15, 0.25] }
"body.angular_velocity.0" = { normal = [0.0, 0.5] }
"""


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
        f"{name:28s} {count:4d} stones ({told}): {cpu:6.2f} s of CPU, {count / cpu:6.1f} stones per CPU second "
        f"({GOAL * cpu / count:.0f} times too slow), {events:5.1f} events each, "
        f"{1e3 * cpu / count / events:.2f} ms per event"
    )


def main() -> None:
    os.environ["SALTUS_CACHE"] = tempfile.mkdtemp()
    import saltus as sl
    from saltus.scenarios.loader import load, loads

    sl.configure()
    report = Report("ground", "jaxlib")
    rockfall = load("rockfall")
    cold, _ = run(rockfall.scenario, rockfall.text, SIZES[0])
    cpu, found = run(rockfall.scenario, rockfall.text, SIZES[0])
    report.line(f"compilation of the programs of an ensemble: {cold - cpu:.0f} s of CPU; later processes load them")
    tell(report, "rockfall", SIZES[0], cpu, found)
    for count in SIZES[1:]:
        run(rockfall.scenario, rockfall.text, count)
        tell(report, "rockfall", count, *run(rockfall.scenario, rockfall.text, count))
    for until in TIMES:
        text = rockfall.text.replace('until = "rest"', f"until = {until}")
        run(loads(text), text, SIZES[0])
        tell(report, f"rockfall until {until:g} s", SIZES[0], *run(loads(text), text, SIZES[0]))
    for count in SIZES:
        run(loads(THROWN), THROWN, count)
        tell(report, "thrown onto the valley floor", count, *run(loads(THROWN), THROWN, count))
    report.write()


if __name__ == "__main__":
    main()
