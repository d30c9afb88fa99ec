"""Two masses and a rod in a bowl, five periods of a general motion: error against wall time.

Rivals on the same motion in the same run: SciPy's DOP853 with a numpy right-hand side, plain diffrax
with a generic 3x3 solve for the reactions, and MuJoCo (rigid body on a ball joint, and three
constrained slides). The reference is the rigid body's own equations (Euler) at 1e-13.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
from scipy.integrate import solve_ivp
from stamp import Report, best_of

import saltus as sl

import jax  # isort: skip
import jax.numpy as jnp  # isort: skip

sl.configure()

G = 9.81
ANGLES = np.deg2rad([17.5, 23.6])
PLACE = np.stack([np.sin(ANGLES), 0 * ANGLES, -np.cos(ANGLES)], axis=1)  # from the centre of the sphere
SPIN = np.array([0.9, -0.6, 2.2])
END = 5 * 1.9370598991499401
OURS = "saltus dopri8, events watched"
REPEATS = 100  # of runs of a millisecond: the speed of a machine changes within tenths of a second
TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-12)


def reference() -> np.ndarray:
    """Positions at the end, from Euler's equations of the rigid pair about the centre of the sphere."""
    inertia = sum((x @ x) * np.eye(3) - np.outer(x, x) for x in PLACE)
    inverse, moment = np.linalg.inv(inertia), PLACE.sum(axis=0)

    def rate(_, y):
        w, q = y[:3], y[3:]
        down = rotation(q).T @ np.array([0.0, 0.0, -G])
        turn = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return np.concatenate([inverse @ (np.cross(moment, down) - np.cross(w, inertia @ w)), turn])

    y = solve_ivp(rate, (0, END), [*SPIN, 1, 0, 0, 0], method="DOP853", rtol=2.3e-14, atol=1e-15).y[:, -1]
    return PLACE @ rotation(y[3:] / np.linalg.norm(y[3:])).T


def rotation(q: np.ndarray) -> np.ndarray:
    w, v = q[0], q[1:]
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def constrained_rate(xp, solve):
    """Cartesian right-hand side with the three reactions from a 3x3 system, in numpy or JAX."""
    weight = xp.asarray(np.tile([0.0, 0.0, -G], 2))

    def rate(t, y):
        r, v = y[:6].reshape(2, 3), y[6:].reshape(2, 3)
        d, dv, zero = r[0] - r[1], v[0] - v[1], xp.zeros(3)
        rows = xp.stack([xp.concatenate([r[0], zero]), xp.concatenate([zero, r[1]]), xp.concatenate([d, -d])])
        wanted = -xp.stack([v[0] @ v[0], v[1] @ v[1], dv @ dv])
        return xp.concatenate([y[6:], weight + rows.T @ solve(rows @ rows.T, wanted - rows @ weight)])

    return rate


def bench_saltus(report: Report, exact: np.ndarray) -> dict[str, list]:
    system = sl.systems.SlidingMasses(sl.surfaces.Sphere(1.0), [1.0, 1.0], [(0, 1)], mu=0.0)
    start = system.start(PLACE[:, :2], np.cross(SPIN, PLACE)[:, :2])
    for cache, what in (("off", "nothing compiled before"), ("", "compiled in an earlier process")):
        environment = {**os.environ, "SALTUS_CACHE": cache}
        told = subprocess.run([sys.executable, __file__, "first"], env=environment, capture_output=True, check=True)
        report.line(f"saltus: first call, start and compilation included, {what}: {float(told.stdout):.2f} s")
    rows = []
    for tol in TOLERANCES:

        def run(tol=tol):
            return sl.simulate(system, start, END, rtol=tol, atol=tol)

        run()
        wall, result = best_of(run, REPEATS)
        error = np.abs(np.asarray(result.end.q) - exact[:, :2]).max()
        rows.append((wall, error, f"tol {tol:.0e}, {result.trajectory.steps} steps"))
    return {OURS: rows}


def first_call() -> float:
    """Seconds that the first run of a process takes, imports left out."""
    began = time.perf_counter()
    system = sl.systems.SlidingMasses(sl.surfaces.Sphere(1.0), [1.0, 1.0], [(0, 1)], mu=0.0)
    sl.simulate(system, system.start(PLACE[:, :2], np.cross(SPIN, PLACE)[:, :2]), END).end.q.block_until_ready()
    return time.perf_counter() - began


def bench_scipy(exact: np.ndarray) -> dict[str, list]:
    rate = constrained_rate(np, np.linalg.solve)
    y0 = np.concatenate([PLACE.ravel(), np.cross(SPIN, PLACE).ravel()])
    rows = []
    for tol in TOLERANCES:
        wall, result = best_of(lambda tol=tol: solve_ivp(rate, (0, END), y0, method="DOP853", rtol=tol, atol=tol), 3)
        rows.append((wall, np.abs(result.y[:6, -1].reshape(2, 3) - exact).max(), f"tol {tol:.0e}"))
    return {"SciPy DOP853, numpy": rows}


def bench_diffrax(exact: np.ndarray) -> dict[str, list]:
    import diffrax

    inner = constrained_rate(jnp, jnp.linalg.solve)
    term = diffrax.ODETerm(lambda t, y, args: inner(t, y))
    y0 = jnp.concatenate([jnp.asarray(PLACE).ravel(), jnp.asarray(np.cross(SPIN, PLACE)).ravel()])

    @jax.jit
    def run(tol):
        controller = diffrax.PIDController(rtol=tol, atol=tol)
        return diffrax.diffeqsolve(
            term, diffrax.Dopri8(), 0.0, END, None, y0, stepsize_controller=controller, max_steps=100_000,
            adjoint=diffrax.ForwardMode(),
        ).ys[0]  # fmt: skip

    rows = []
    for tol in TOLERANCES:
        run(tol).block_until_ready()
        wall, y = best_of(lambda tol=tol: run(tol).block_until_ready(), REPEATS)
        rows.append((wall, np.abs(np.asarray(y)[:6].reshape(2, 3) - exact).max(), f"tol {tol:.0e}, no events"))
    return {"diffrax Dopri8, 3x3 solve": rows}


def bench_mujoco(exact: np.ndarray) -> dict[str, list]:
    import mujoco

    centre = PLACE.mean(axis=0)
    arm = PLACE - centre
    inertia = sum((x @ x) * np.eye(3) - np.outer(x, x) for x in arm) + 1e-12 * np.eye(3)
    full = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]

    def text(values):
        return " ".join(f"{x:.17g}" for x in values)

    rows = []
    for n in (200, 2000):
        xml = f"""<mujoco><option timestep="{END / 5 / n:.17g}" integrator="RK4" gravity="0 0 {-G}"/>
        <worldbody><body><joint type="ball"/>
        <inertial pos="{text(centre)}" mass="2" fullinertia="{text(full)}"/>
        <site name="a" pos="{text(PLACE[0])}"/><site name="b" pos="{text(PLACE[1])}"/></body></worldbody></mujoco>"""
        model = mujoco.MjModel.from_xml_string(xml)
        data = mujoco.MjData(model)

        def run(model=model, data=data, n=n):
            mujoco.mj_resetData(model, data)
            data.qvel[:] = SPIN
            mujoco.mj_step(model, data, nstep=5 * n)
            mujoco.mj_kinematics(model, data)
            return data.site_xpos.copy()

        wall, place = best_of(run, 3)
        rows.append((wall, np.abs(place - exact).max(), f"{n} steps per period"))
    return {"MuJoCo RK4, ball joint": rows}


def time_at(rows: list, error: float) -> float:
    """Wall time at which a method reaches an error, on the line between its neighbours (logarithmic)."""
    points = sorted((np.log(e), np.log(w)) for w, e, _ in rows if e > 0)
    return float(np.exp(np.interp(np.log(error), [p[0] for p in points], [p[1] for p in points])))


def main() -> None:
    report = Report("bowl", "scipy", "diffrax", "mujoco")
    exact = reference()
    tables = bench_saltus(report, exact)
    tables |= bench_scipy(exact)
    tables |= bench_diffrax(exact)
    try:
        tables |= bench_mujoco(exact)
    except ImportError:
        report.line("MuJoCo is not installed: pip install mujoco")
    for name, rows in tables.items():
        for wall, error, note in rows:
            report.line(f"{name:38s} {wall * 1e3:9.2f} ms   error {error:8.1e}   {note}")
    ours = time_at(tables[OURS], 1e-9)
    for name, rows in tables.items():
        wall = time_at(rows, 1e-9)
        report.line(f"at error 1e-9: {name:38s} {wall * 1e3:9.2f} ms = {wall / ours:6.1f} x ours")
    report.write()


if __name__ == "__main__":
    print(first_call()) if sys.argv[1:] == ["first"] else main()
