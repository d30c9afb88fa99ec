"""Contacts per CPU second of gases of hard bodies: `python benchmarks/bench_gas.py [quick] [3:1:1 ...]`.

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
from saltus.shapes import Superellipsoid

saltus.configure()

SHAPES = {"1:1:1": (1, 1, 1), "2:1:1": (2, 1, 1), "3:1:1": (3, 1, 1), "1:3:3": (1, 3, 3), "1:1.5:2.5": (1, 1.5, 2.5)}
ROUNDED = {"cube p=3": 3.0, "cube p=4": 4.0, "cube p=8": 8.0, "drum r=6": [2.0, 2.0, 6.0]}  # axes 1:1:1
COUNTS = (64, 256, 1000, 4000)
FRACTIONS = (0.1, 0.3, 0.45)
PIECES, CONTACTS, FEWER = 12, 2500, 500
OTHERS = """
An independent event-driven program in C++ with contacts certified in the same sense, one core: 50,000 to 130,000 for
bodies of revolution, 20,000 to 60,000 for three axes, N = 64 to 4000 (its author's figures). The event queue of saltus
for general bodies (sustained contact): 60 to 130 in a box of ellipsoids. Cubes and drums are superellipsoids, whose
flats allow shorter certified steps."""


def speed(shape, n: int, fraction: float, piece: int = CONTACTS) -> tuple[float, float, HardBodies]:
    """Contacts per CPU second (best and median of the pieces), and the bodies."""
    species = Species(shape, n, mass=1.0)
    box = np.full(3, (n * float(species.shape().volume()) / fraction) ** (1 / 3))
    hard = HardBodies(random_start([species], box, temperature=1.0, seed=1), box)
    hard.advance(contacts=max(4 * n, piece))
    speeds = []
    for _ in range(PIECES):
        began = time.process_time()
        done = hard.advance(contacts=piece)
        speeds.append(float(done.contacts) / (time.process_time() - began))
    return max(speeds), float(np.median(speeds)), hard


def told(report: Report, name: str, n: int, fraction: float, best: float, median: float, hard: HardBodies) -> float:
    """One line of the report; gives the best speed."""
    tally, contacts = hard.fluid.tally, int(hard.fluid.tally.contacts)
    report.line(
        f"{name:>10} N {n:5d} phi {fraction:4.2f}  {best:8.0f} ({median:6.0f})  "
        f"{float(np.mean(np.asarray(hard.fluid.count)[:n])):5.1f}  {int(tally.forecasts) / contacts:4.2f}  "
        f"{int(tally.looks) / int(tally.forecasts):4.2f}  {int(tally.relists) / contacts:4.2f}  "
        f"{-float(tally.deepest):.1e}"
    )
    return best


def main() -> None:
    quick, chosen = "quick" in sys.argv[1:], {name for name in sys.argv[1:] if name in {*SHAPES, *ROUNDED}}
    report = Report("gas")
    report.line("contacts per CPU second on one core: best (median) of 12 pieces of 2500 contacts (500 for")
    report.line("superellipsoids); neighbours;")
    report.line(
        "forecasts per contact; looks at pairs per forecast beyond the first; new lists per contact; deepest overlap"
    )
    speeds = {}
    for name, ratios in ((name, ratios) for name, ratios in SHAPES.items() if not chosen or name in chosen):
        axes = np.asarray(ratios, float) * 0.5 / np.prod(ratios) ** (1 / 3)
        for n in (256,) if quick else COUNTS:
            for fraction in (0.3,) if quick else FRACTIONS:
                speeds[name, n, fraction] = told(report, name, n, fraction, *speed(axes, n, fraction))
    for name, exponents in ((name, powers) for name, powers in ROUNDED.items() if not chosen or name in chosen):
        shape = Superellipsoid([0.5, 0.5, 0.5], exponents)
        told(report, name, 256, 0.3, *speed(shape, 256, 0.3, FEWER))
    if not quick:
        for name in dict.fromkeys(name for name, _, _ in speeds):
            ratio = speeds[name, 64, 0.3] / speeds[name, 4000, 0.3]
            report.line(f"{name:>10} cost of a contact, N = 4000 over N = 64: {ratio:.2f}")
    report.line(OTHERS)
    if not chosen and not quick:
        report.write()


if __name__ == "__main__":
    main()
