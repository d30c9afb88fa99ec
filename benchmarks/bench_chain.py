"""The chain: cost of a right-hand side against its length, RK4 steps against numpy and MuJoCo, a whole slide.

The job shared with the others: a chain of 100 masses, 1 m and 1 kg in all, pinned at one end and let go from the
horizontal. For saltus this is a chain whose table part friction holds. Errors are those of the free end after 0.5 s
against RK4 with a step of 1e-5 s.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solveh_banded
from stamp import Report, best_of

import saltus as sl
from saltus.engines.flat import FlatSystem
from saltus.engines.steppers import stepper

import jax  # isort: skip
import jax.numpy as jnp  # isort: skip

sl.configure()

G, DURATION, LINKS = 9.81, 0.5, 100
SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
STEPS = (1e-3, 5e-4, 1e-4)


def rate_cost(report: Report) -> None:
    """Time of one right-hand side, all but one link hanging in a random shape."""
    random, times = np.random.default_rng(0), []
    for n in SIZES:
        chain = sl.systems.Chain(n, mass=1 / n, length=1 / n, gravity=G)
        angle, turning = 0.3 * random.normal(size=n - 1), random.normal(size=n - 1)
        state = chain.state_of(angle, (0.5 / n, 0.3 / n), turning, (0.1, 0.2))
        flat = FlatSystem(chain, state)
        repeats = max(20, 40_000 // n)

        def many(y, flat=flat, repeats=repeats, t=state.t):
            return jax.lax.fori_loop(0, repeats, lambda _, y: y + 1e-12 * flat.rate(t, y), y)

        compiled, y = jax.jit(many), flat.vector(state)
        compiled(y).block_until_ready()
        wall, _ = best_of(lambda compiled=compiled, y=y: compiled(y).block_until_ready())
        times.append(wall / repeats)
        report.line(f"right-hand side, {n:6d} links: {times[-1] * 1e6:9.2f} us")
    slope = np.polyfit(np.log(SIZES), np.log(times), 1)[0]
    report.line(f"exponent from {SIZES[0]} to {SIZES[-1]} links: {slope:.2f}")


def pinned(n: int):
    """The pinned chain of n masses as a chain that friction holds; the edge link is twice as long as its outer half."""
    length = np.append(np.full(n - 1, 1 / n), 2 / n)
    chain = sl.systems.Chain(n, mass=1 / n, length=length, gravity=G, table_friction=1e6)
    straight = np.full(n - 1, math.pi / 2)
    return chain, chain.hold(chain.state_of(straight, (0.0, 1 / n), np.zeros(n - 1), (0.0, 0.0)))


def free_end(chain, state) -> np.ndarray:
    """Outward and downward place of the free end [m]."""
    return np.asarray(chain.observe(state)["position"])[0, ::-1]


def ours(n: int):
    """Function from a step to the free end, wall time and link drift: compiled RK4 with nothing watched."""
    chain, start = pinned(n)
    flat, take = FlatSystem(chain, start), stepper("rk4")

    @jax.jit
    def run(y, h, count):
        def one(i, y):
            t = i * h
            return flat.project(t + h, take(flat.rate, t, y, h).y)

        return jax.lax.fori_loop(0, count, one, y)

    def measure(step: float, repeats: int = 3):
        y, count = flat.vector(start), round(DURATION / step)
        run(y, step, 2).block_until_ready()
        wall, end = best_of(lambda: run(y, step, count).block_until_ready(), repeats)
        return free_end(chain, flat.state(jnp.asarray(DURATION), end)), wall, count

    return measure


def banded(n: int, step: float):
    """The same with numpy and a banded solver."""
    m = length = 1.0 / n

    def acceleration(x, v):
        d, dv = np.diff(x, axis=0, prepend=np.zeros((1, 2))), np.diff(v, axis=0, prepend=np.zeros((1, 2)))
        bands = np.zeros((2, n))
        bands[1] = 2 * (d * d).sum(1) / m
        bands[1, 0] *= 0.5
        bands[0, 1:] = -(d[1:] * d[:-1]).sum(1) / m
        right = -(dv * dv).sum(1)
        right[0] += G * d[0, 1]
        pull = solveh_banded(bands, right, check_finite=False)[:, None] * d / m
        pull[:-1] -= pull[1:].copy()
        pull[:, 1] -= G
        return pull

    x, v = np.stack([length * np.arange(1, n + 1), np.zeros(n)], axis=1), np.zeros((n, 2))
    for _ in range(round(DURATION / step)):
        a1 = acceleration(x, v)
        v2 = v + step / 2 * a1
        a2 = acceleration(x + step / 2 * v, v2)
        v3 = v + step / 2 * a2
        a3 = acceleration(x + step / 2 * v2, v3)
        v4 = v + step * a3
        a4 = acceleration(x + step * v3, v4)
        x = x + step / 6 * (v + 2 * v2 + 2 * v3 + v4)
        v = v + step / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return np.array([x[-1, 0], -x[-1, 1]])


def hinges(n: int, step: float):
    """The same as a tree of hinges in MuJoCo, with its RK4."""
    import mujoco

    length = 1.0 / n
    bodies = "".join(
        f'<body pos="{length if i else 0} 0 0"><joint type="hinge" axis="0 1 0"/>'
        f'<inertial pos="{length} 0 0" mass="{length}" diaginertia="1e-13 1e-13 1e-13"/>'
        for i in range(n)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" integrator="RK4" gravity="0 0 {-G}"><flag contact="disable"/></option>'
        f"<worldbody>{bodies}{'</body>' * n}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)

    def run():
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, nstep=round(DURATION / step))
        mujoco.mj_forward(model, data)
        return np.array([data.xipos[-1, 0], -data.xipos[-1, 2]])

    return run


def against_others(report: Report) -> None:
    """Steps per second and error of the free end, at the same steps."""
    measure = ours(LINKS)
    exact, _, _ = measure(1e-5, 1)

    def tell(name: str, step: float, wall: float, end: np.ndarray) -> None:
        error = float(np.linalg.norm(end - exact))
        rate = round(DURATION / step) / wall
        report.line(f"{name:22s} step {step:7.0e} s {rate:10.0f} steps/s   error of the free end {error:8.1e} m")

    for step in STEPS:
        end, wall, _ = measure(step)
        tell("saltus RK4", step, wall, end)
    for step in STEPS:
        with np.errstate(all="ignore"):
            wall, end = best_of(lambda step=step: banded(LINKS, step), 2)
        tell("numpy banded RK4", step, wall, end)
    try:
        for step in STEPS:
            wall, end = best_of(hinges(LINKS, step), 2)
            tell("MuJoCo hinges RK4", step, wall, end)
    except ImportError:
        report.line("MuJoCo: not installed here")


def whole_slide(report: Report) -> None:
    """Forty links from an overhang of 1e-4 until the last particle is off."""
    chain = sl.systems.Chain(40, gravity=1.0, ends_off_table=True)
    start = chain.start(1e-4)
    sl.simulate(chain, start, math.inf, rtol=1e-10)
    wall, run = best_of(lambda: sl.simulate(chain, start, math.inf, rtol=1e-10), 3)
    report.line(
        f"whole slide, 40 links, rtol 1e-10: {wall:.2f} s after compilation, {run.trajectory.steps} steps, "
        f"{len(run.events)} events, exit at t = {run.end.t:.9f}"
    )


def main() -> None:
    report = Report("chain", "scipy", "mujoco")
    rate_cost(report)
    against_others(report)
    whole_slide(report)
    report.write()


if __name__ == "__main__":
    main()
