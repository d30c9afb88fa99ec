"""Contacts per CPU second of gases of hard bodies: `python benchmarks/bench_gas.py [quick]`.

Each figure is the best of several pieces of a run in equilibrium, on one core, with certified contacts. Published
figures of others stand beside it.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from stamp import Report

import saltus
from saltus.gas import HardBodies, Species, random_start

saltus.configure()

SHAPES = {"1:1:1": (1, 1, 1), "2:1:1": (2, 1, 1), "3:1:1": (3, 1, 1), "1:3:3": (1, 3, 3), "1:1.5:2.5": (1, 1.5, 2.5)}
COUNTS = (64, 256, 1000, 4000)
FRACTIONS = (0.1, 0.3, 0.45)
PIECES, CONTACTS = 12, 2500
OTHERS = """
An independent event-driven program in C++ with contacts certified in the same sense, one core: 50,000 to 130,000 for
bodies of revolution, 20,000 to 60,000 for three axes, N = 64 to 4000 (its author's figures). The event queue of saltus
for general bodies (sustained contact, any convex shape): 60 to 130 in a box of ellipsoids."""


def speed(ratios, n: int, fraction: float) -> tuple[float, float, HardBodies]:
    """Contacts per CPU second (best and median of the pieces), and the bodies."""
    axes = np.asarray(ratios, float)
    axes *= 0.5 / np.prod(axes) ** (1 / 3)
    box = np.full(3, (n * np.pi / 6.0 / fraction) ** (1 / 3))
    hard = HardBodies(random_start([Species(axes, n, mass=1.0)], box, temperature=1.0, seed=1), box)
    hard.advance(contacts=max(4 * n, 4000))
    speeds = []
    for _ in range(PIECES):
        began = time.process_time()
        done = hard.advance(contacts=CONTACTS)
        speeds.append(float(done.contacts) / (time.process_time() - began))
    return max(speeds), float(np.median(speeds)), hard


def main() -> None:
    quick = "quick" in sys.argv[1:]
    report = Report("gas")
    report.line("contacts per CPU second on one core: best (median) of 12 pieces of 2500 contacts; neighbours;")
    report.line(
        "forecasts per contact; looks at pairs per forecast beyond the first; new lists per contact; deepest overlap"
    )
    speeds = {}
    for name, ratios in SHAPES.items():
        for n in (256,) if quick else COUNTS:
            for fraction in (0.3,) if quick or n in (64, 4000) else FRACTIONS:
                best, median, hard = speed(ratios, n, fraction)
                tally, contacts = hard.fluid.tally, int(hard.fluid.tally.contacts)
                speeds[name, n, fraction] = best
                report.line(
                    f"{name:>10} N {n:5d} phi {fraction:4.2f}  {best:8.0f} ({median:6.0f})  "
                    f"{float(np.mean(np.asarray(hard.fluid.count)[:n])):5.1f}  {int(tally.forecasts) / contacts:4.2f}  "
                    f"{int(tally.looks) / int(tally.forecasts):4.2f}  {int(tally.relists) / contacts:4.2f}  "
                    f"{-float(tally.deepest):.1e}"
                )
    if not quick:
        for name in SHAPES:
            ratio = speeds[name, 64, 0.3] / speeds[name, 4000, 0.3]
            report.line(f"{name:>10} cost of a contact, N = 4000 over N = 64: {ratio:.2f}")
    report.line(OTHERS)
    report.write()


if __name__ == "__main__":
    main()
