"""A chain of N masses joined by rods on a surface: how the cost of one step grows with N."""

from __future__ import annotations

import numpy as np
from stamp import Report, best_of

import saltus as sl
from saltus.engines.flat import FlatSystem
from saltus.engines.steppers import stepper

import jax  # isort: skip

sl.configure()

SIZES = (10, 100, 1000, 10_000)


def chain(n: int, mu: float):
    """A straight chain along a tilted trough, masses 0.1 m apart, all with one speed."""
    system = sl.systems.SlidingMasses(
        sl.surfaces.Cosine(0.4, 2.1, 0.3), np.ones(n), [(i, i + 1) for i in range(n - 1)], mu=mu
    )
    place = np.stack([0.02 * np.sin(np.arange(n)), 0.1 * np.arange(n)], axis=1)
    return system, system.start(place, np.tile([0.0, 0.3], (n, 1)), project=True)


def main() -> None:
    report = Report("masses")
    take = stepper("dopri8")
    for mu in (0.0, 0.1):
        times = []
        for n in SIZES:
            system, start = chain(n, mu)
            flat = FlatSystem(system, start)
            y = flat.vector(start)
            one = jax.jit(lambda y, flat=flat, t=start.t: flat.project(t, take(flat.rate, t, y, 1e-4).y))
            one(y).block_until_ready()
            wall, _ = best_of(lambda one=one, y=y: one(y).block_until_ready(), 9)
            times.append(wall)
            report.line(f"mu {mu}: {n:6d} masses  {wall * 1e6:10.0f} us per step (14 force evaluations and projection)")
        slope = np.polyfit(np.log(SIZES[1:]), np.log(times[1:]), 1)[0]
        report.line(f"mu {mu}: exponent from {SIZES[1]} to {SIZES[-1]} masses: {slope:.2f}")
    report.write()


if __name__ == "__main__":
    main()
