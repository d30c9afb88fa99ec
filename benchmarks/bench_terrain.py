"""Terrain against analytic surfaces in a batch, and how the cost of a raft grows with its masses.

`python benchmarks/bench_terrain.py batch`, `ensemble` or `raft` runs one part only, on whatever device JAX finds. The
first is the bare right-hand side in steps of RK4; the second is what an ensemble does: adaptive steps, guards and
extremes.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from stamp import Report, best_of

import saltus as sl
from saltus.io import release

import jax  # isort: skip
import jax.numpy as jnp  # isort: skip

sl.configure()

SIZES = (10, 18, 32, 56)  # masses along a side
STEPS = 20
CASES = (
    (1, 1024, 1.0, "all over the map"),
    (1, 1024, 0.1, "from a release area"),
    (2, 1024, 0.1, "from a release area"),
    (1, 16384, 1.0, "all over the map"),
)


def surfaces():
    """The same bowl as formulas and as a raster of 400 x 400 pixels."""
    x, y = np.meshgrid(*[np.linspace(-2.0, 2.0, 400)] * 2)
    yield "Terrain", sl.surfaces.Terrain(0.2 * x**2 + 0.3 * y**2, 4.0 / 399, -2.0, -2.0)
    yield "Paraboloid", sl.surfaces.Paraboloid(0.2, 0.3)
    yield "Sphere", sl.surfaces.Sphere(3.0)
    yield "Expression", sl.surfaces.Expression("a*x**2 + b*y**2 + c*sin(x)*cos(y)", {"a": 0.2, "b": 0.3, "c": 0.01})


def marching(surface, n: int):
    """RK4 steps of many systems at once, one mass or a pair on a rod, with friction."""
    system = sl.systems.SlidingMasses(surface, [1.0] * n, [(0, 1)] if n == 2 else [], mu=0.1, adhesion=True)
    step = 1e-3

    def one(q, v):
        start = system.state(q, v)

        def rate(parts):
            got = system.rate(sl.hybrid.State(start.t, *parts, jnp.zeros_like(start.mode)))  # all masses slip
            return got.q, got.v, got.ledger

        def rk4(y, _):
            def moved(k, part):
                return jax.tree.map(lambda a, b: a + part * step * b, y, k)

            k1 = rate(y)
            k2 = rate(moved(k1, 0.5))
            k3 = rate(moved(k2, 0.5))
            k4 = rate(moved(k3, 1.0))
            return jax.tree.map(lambda a, b, c, d, e: a + step / 6 * (b + 2 * c + 2 * d + e), y, k1, k2, k3, k4), None

        return jax.lax.scan(rk4, (start.q, start.v, start.ledger), None, length=STEPS)[0]

    return jax.jit(jax.vmap(one))


def batch(report: Report) -> None:
    """CPU time, the surfaces in turn: ratios stay right on a machine with other work."""
    rng = np.random.default_rng(0)
    for n, size, width, where in CASES:
        q = jnp.asarray(0.5 + rng.uniform(-width, width, (size, n, 2)))
        v = jnp.asarray(rng.normal(size=(size, n, 2)))
        marches = {name: marching(surface, n) for name, surface in surfaces()}
        best = dict.fromkeys(marches, np.inf)
        for turn in range(10):
            for name, march in marches.items():
                began = time.process_time()
                jax.block_until_ready(march(q, v))
                if turn:
                    best[name] = min(best[name], time.process_time() - began)
        report.line(f"{size} x {n} mass(es) {where}:")
        for name, cpu in best.items():
            report.line(
                f"    {name:11s} {cpu / (4 * STEPS * size * n) * 1e9:6.1f} ns of CPU per mass and rate; the terrain "
                f"takes {best['Terrain'] / cpu:4.1f} x as long"
            )


def ensemble(report: Report) -> None:
    """One mass with friction from a release area, 2 s, as the engine of ensembles runs it."""
    from saltus.engines import batch
    from saltus.engines.step_control import steps_of
    from saltus.engines.steppers import stepper
    from saltus.ensembles.compute import outputs

    rng, size = np.random.default_rng(0), 2048 if jax.default_backend() == "cpu" else 1 << 17
    q, v = jnp.asarray(0.5 + rng.uniform(-0.1, 0.1, (size, 1, 2))), jnp.asarray(rng.normal(size=(size, 1, 2)))
    control = steps_of(1e-7, 1e-11, None, 0.0)
    costs = {}
    for name, surface in surfaces():
        system = sl.systems.SlidingMasses(surface, [1.0], [], mu=0.1)
        start = jax.jit(jax.vmap(system.state))(q, v)
        settings = batch.BatchSettings(stepper("dopri8"), control, outputs.watch(outputs.peaks(system)), 64, 100_000)
        same = jax.tree.map(lambda x: None, system)

        def run(same=same, system=system, start=start, settings=settings):
            return batch.run(same, system, start, 2.0, settings)

        run()
        wall, lanes = best_of(run, 5)
        costs[name] = wall / lanes.steps.sum()
        report.line(
            f"ensemble of {size}: {name:11s} {costs[name] * 1e6:5.2f} us per step, {size / wall:6.0f} samples/s; "
            f"the terrain takes {costs['Terrain'] / costs[name]:4.1f} x as long per step"
        )


def raft(report: Report) -> None:
    x, y = np.meshgrid(np.arange(201) * 10.0, np.arange(121) * 10.0)
    ground = 600 * np.exp(-x / 600) + (y - 600) ** 2 / 1500 + 8 * np.sin(x / 70) * np.sin(y / 60)
    terrain = sl.surfaces.Terrain(ground, 10.0)
    times, counts = [], []
    for side in SIZES:
        spacing = 320.0 / side
        place = release.lattice(np.array([150.0, 440.0]), np.array([470.0, 760.0]), spacing, "triangular")
        pairs = release.neighbours(place, 1.1 * spacing)
        mass = 1e3 * spacing**2
        system = sl.systems.Raft(
            terrain, np.full(len(place), mass), pairs, mu=0.3, stiffness=1e3 * mass, damping=mass, strength=8.0 * mass
        )
        start = system.start(place)
        sl.simulate(system, start, until=0.1, step=0.02)
        wall, run = best_of(lambda system=system, start=start: sl.simulate(system, start, until=20.0, step=0.02), 2)
        broken = sum(event.name == "rod_broken" for event in run.events)
        times.append(wall / run.trajectory.steps)
        counts.append(len(place))
        report.line(
            f"raft of {len(place):5d} masses, {len(pairs):5d} rods: {times[-1] * 1e3:7.2f} ms per step, 20 s in "
            f"{wall:6.1f} s, {broken} rods broken"
        )
    slope = np.polyfit(np.log(counts[1:]), np.log(times[1:]), 1)[0]
    report.line(f"exponent from {counts[1]} to {counts[-1]} masses: {slope:.2f}")


def main() -> None:
    parts = sys.argv[1:] or ["batch", "ensemble", "raft"]
    report = Report("terrain", "jaxlib", "rasterio")
    report.line(f"device: {jax.devices()[0].device_kind}")
    for part in parts:
        {"batch": batch, "ensemble": ensemble, "raft": raft}[part](report)
    report.write()


if __name__ == "__main__":
    main()
