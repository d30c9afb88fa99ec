"""Two masses and a rod in a bowl, on one GPU in float64: Runge-Kutta steps per second of many runs at once.

The motion is that of the bowl benchmark, with friction coefficients and spins that differ from lane to lane.
Compared: the right-hand side under `vmap` in a plain `lax.scan`, and the kernel that saltus makes of the same
right-hand side: bare (no friction, no summaries), and full (friction and its work, guards for sticking, change
of sign of the reaction, border of the bowl and loss of uniqueness, largest speed and largest rod force at
every step). Measured elsewhere on the same chip for the same motion without friction, guards and summaries: a
hand-written CUDA kernel, 17.4 billion steps per second. Only steps that were taken are counted.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from stamp import Report, best_of

import saltus as sl

import equinox as eqx  # isort: skip
import jax  # isort: skip
import jax.numpy as jnp  # isort: skip
from saltus.engines import EventDriven, FixedStep  # isort: skip
from saltus.engines.trial import Status  # isort: skip
from saltus.engines.flat import FlatSystem  # isort: skip
from saltus.engines.kernel import flow_lanes  # isort: skip
from saltus.engines.batch_constant import run_lanes  # isort: skip

sl.configure()

CUDA = 17.4e9  # steps per second of the hand-written kernel
ANGLES = np.deg2rad([17.5, 23.6])
PLACE = np.stack([np.sin(ANGLES), 0 * ANGLES, -np.cos(ANGLES)], axis=1)
SPIN = np.array([0.9, -0.6, 2.2])
STEP = 1.9370598991499401 / 2000
VARYING = (False, False, True, False, False)  # the leaves of a pair: radius, masses, mu, gravity, restitution


def watch(system, state):
    """What a summary keeps: largest speed and largest rod force."""
    return jnp.stack([jnp.max(system.places(state).speed), jnp.max(jnp.abs(system.forces(state).rod_force))])


def nothing(system, state):
    return jnp.zeros(0)


def pair(mu: float):
    return sl.systems.SlidingMasses(sl.surfaces.Sphere(1.0), [1.0, 1.0], [(0, 1)], mu=mu)


def lanes(like, count: int, friction: bool, between=(0.01, 0.05)):
    """Many pairs with their own friction and spin, and their states at the start."""
    draws = np.random.default_rng(7)
    mu = jnp.asarray(draws.uniform(*between, count) if friction else np.zeros(count))
    spin = jnp.asarray(SPIN + 0.1 * draws.normal(size=(count, 3)))
    place = jnp.asarray(PLACE)

    def one(mu, spin):
        system = eqx.tree_at(lambda s: s.mu, like, jnp.full(2, mu))
        return system, system.state(place[:, :2], jnp.cross(spin, place)[:, :2])

    return eqx.filter_jit(eqx.filter_vmap(one))(mu, spin)


def kernel_rate(count: int, steps: int, friction: bool, all_vary: bool = False, threads: int = 128):
    """Steps per second of the kernel alone."""
    like = pair(0.02 if friction else 0.0)
    system, start = lanes(like, count, friction)
    seen = watch if friction else nothing
    begin = jnp.zeros((count, 2 if friction else 0))
    status = jnp.zeros(count, jnp.int32)
    varying = (True,) * 5 if all_vary else VARYING if friction else (False,) * 5

    def run():
        return jax.block_until_ready(
            flow_lanes(system, start, status, begin, seen, until=steps * STEP, step=STEP, like=like, varying=varying,
                       threads=threads)
        )  # fmt: skip

    began = time.perf_counter()
    run()
    first = time.perf_counter() - began
    wall, end = best_of(run, 5)
    taken = int(np.asarray(end.steps, np.int64).sum())
    reached = int((np.asarray(end.status) == Status.reached).sum())
    return taken / wall, first, reached, (system, start, end)


def scan_rate(count: int, steps: int):
    """Steps per second of the rate under `vmap`, in a plain scan."""
    like = pair(0.02)
    system, start = lanes(like, count, True)

    def one(system, state):
        flat = FlatSystem(system, state)

        def step(y, _):
            k1 = flat.rate(0.0, y)
            k2 = flat.rate(0.0, y + 0.5 * STEP * k1)
            k3 = flat.rate(0.0, y + 0.5 * STEP * k2)
            k4 = flat.rate(0.0, y + STEP * k3)
            return y + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        return jax.lax.scan(step, flat.vector(state), None, length=steps)[0]

    run = eqx.filter_jit(eqx.filter_vmap(one))
    jax.block_until_ready(run(system, start))
    wall, _ = best_of(lambda: jax.block_until_ready(run(system, start)), 3)
    return count * steps / wall


def worst_error(system, start, end, until: float, count: int = 4) -> float:
    """Largest difference to single runs on the CPU."""
    worst = 0.0
    with jax.default_device(jax.devices("cpu")[0]):
        for lane in range(count):
            one, state, last = _alone((system, start, end.state), lane)
            run = FixedStep(STEP).run(one, state, until)
            gaps = jax.tree.map(lambda a, b: np.abs(np.asarray(a) - np.asarray(b)).max(), run.end, last)
            worst = max(worst, *map(float, jax.tree.leaves(gaps)))
    return worst


def to_rest(report: Report, count: int, until: float, friction=(0.05, 0.1)) -> None:
    """Whole runs, from the start until friction holds both masses: events, jumps and summaries included."""
    like = pair(0.02)
    system, start = lanes(like, count, True, friction)

    def run():
        return jax.block_until_ready(
            run_lanes(system, start, watch, until=until, step=STEP, like=like, varying=VARYING)
        )

    began = time.perf_counter()
    run()
    first = time.perf_counter() - began
    wall, ends = best_of(run, 2)
    taken = int(np.asarray(ends.steps, np.int64).sum())
    held = int((np.asarray(ends.state.mode) == 2).all(axis=1).sum())
    rate, events = taken / wall, np.mean(np.asarray(ends.events))
    report.line(
        f"{'whole runs to rest, with their events':44s} {count:8d} lanes {rate / 1e9:7.2f} billion steps/s: "
        f"{count / wall:.3g} runs/s, {taken / count:.0f} steps and {events:.2f} events a run, {held} stick, "
        f"first call {first:.1f} s"
    )
    worst = 0.0
    with jax.default_device(jax.devices("cpu")[0]):
        for lane in range(3):
            one, state = _alone((system, start), lane)
            single = EventDriven().run(one, state, until)
            worst = max(worst, float(np.abs(np.asarray(single.end.q) - np.asarray(ends.state.q[lane])).max()))
    report.line(f"  largest difference of resting places to adaptive single runs: {worst:.1e} m")


def _alone(trees, lane: int):
    """One lane of stacked trees."""
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x[lane])) if eqx.is_array(x) else x, trees)


def main(counts=(1 << 18, 1 << 20), steps: int = 4000, rest: int = 0) -> None:
    report = Report("gpu")
    report.line(f"{jax.devices()[0].device_kind}, float64, step {STEP:.6f} s, {steps} steps a lane")
    rate = scan_rate(counts[0], steps // 8)
    report.line(f"{'plain vmap in lax.scan, friction':44s} {counts[0]:8d} lanes {rate / 1e9:7.2f} billion steps/s "
                f"= {rate / CUDA:5.2f} of CUDA")  # fmt: skip
    for count in counts:
        for name, options in (
            ("kernel, bare", {"friction": False}),
            ("kernel, friction, guards, summaries", {"friction": True}),
            ("the same, every number its own in each lane", {"friction": True, "all_vary": True}),
        ):
            rate, first, reached, told = kernel_rate(count, steps, **options)
            report.line(f"{name:44s} {count:8d} lanes {rate / 1e9:7.2f} billion steps/s = {rate / CUDA:5.2f} of CUDA"
                        f"  ({reached} reached the end, first call {first:.1f} s)")  # fmt: skip
            if name == "kernel, friction, guards, summaries" and count == counts[0]:
                report.line(f"  largest difference to single runs on the CPU: {worst_error(*told, steps * STEP):.1e}")
    if rest:
        to_rest(report, rest, 20.0)
    report.write()


if __name__ == "__main__":
    if "-tiny" in sys.argv:
        main((256,), 64, 8)
    elif jax.default_backend() != "gpu":
        print("No GPU: what is kept under results/ stays as it is.", file=sys.stderr)
    else:
        main(rest=1 << 18 if "-rest" in sys.argv else 0)
