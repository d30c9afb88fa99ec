"""Two masses and a rod in a bowl, five periods, many at once: trajectories per second at an error of 1e-6.

Every start has its own spin. Rivals on the same starts in the same run: plain `vmap` of diffrax, and
`mujoco.rollout`. Each uses all cores: saltus and diffrax as one process per core that begin together, MuJoCo by its
own threads. Compilation is left out. What scalar programs gain on a CPU, where they serve constant steps, is told by
the same steps with `jax.vmap` in their place. Errors are the largest over all starts, against saltus at 1e-12.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
from bench_bowl import END, PLACE, SPIN, G, constrained_rate
from stamp import Report

COUNT = 4096  # starts per process and pass
PASSES = 4
TOLERANCES = {"saltus": 1.5e-7, "diffrax": 3e-8}
CONSTANT, BY_VMAP = "saltus, constant steps", "the same by vmap"
STEPS = 1000  # constant ones
SPREAD = 0.05  # rad/s


def spins(process: int) -> np.ndarray:
    """The spins of one process's starts."""
    return SPIN + SPREAD * np.random.default_rng(process).normal(size=(COUNT, 3))


def scenario(**solve):
    """The pair, its velocities to be given."""
    from saltus.scenarios.loader import validate

    masses = [{"mass": 1.0, "position": list(map(float, x[:2])), "velocity": [0.0, 0.0], "mu": 0.0} for x in PLACE]
    return validate(
        {
            "kind": "sliding",
            "gravity": G,
            "surface": {"type": "sphere", "radius": 1.0},
            "masses": masses,
            "rods": [{"between": [0, 1]}],
            "solve": {"until": END, **solve},
        }
    )


def saltus_job(process: int, rtol: float):
    return job_of(process, scenario(rtol=rtol, atol=rtol))


def constant_job(process: int, _):
    return job_of(process, scenario(method="rk4", step=END / STEPS))


def vmap_job(process: int, _):
    """The same without scalar programs."""
    from saltus.engines import batch

    batch._for_kernel = lambda *given: False
    return constant_job(process, _)


def job_of(process: int, pair):
    from saltus.ensembles.compute import run_samples

    velocity = np.cross(spins(process)[:, None], PLACE)
    values = {f"masses.{i}.velocity.{k}": velocity[:, i, k] for i in range(2) for k in range(2)}
    return lambda: run_samples.run(pair, values)["final_position"][..., :2]


def diffrax_job(process: int, tol: float):
    import saltus

    saltus.configure()

    import diffrax  # isort: skip
    import jax  # isort: skip
    import jax.numpy as jnp  # isort: skip

    inner = constrained_rate(jnp, jnp.linalg.solve)
    term = diffrax.ODETerm(lambda t, y, args: inner(t, y))

    @jax.jit
    @jax.vmap
    def solve(y0):
        controller = diffrax.PIDController(rtol=tol, atol=tol)
        return diffrax.diffeqsolve(
            term, diffrax.Dopri8(), 0.0, END, None, y0, stepsize_controller=controller, max_steps=10_000,
            adjoint=diffrax.ForwardMode(),
        ).ys[0]  # fmt: skip

    velocity = np.cross(spins(process)[:, None], PLACE).reshape(COUNT, 6)
    starts = np.concatenate([np.broadcast_to(PLACE.ravel(), (COUNT, 6)), velocity], axis=1).reshape(-1, 512, 12)
    return lambda: np.concatenate([np.asarray(solve(y)) for y in starts])[:, :6].reshape(COUNT, 2, 3)[..., :2]


def one_process(name: str, process: int) -> None:
    """Get ready, say so, wait for the word, run, and tell how long it took and how good it is."""
    jobs = {"saltus": saltus_job, "diffrax": diffrax_job, CONSTANT: constant_job, BY_VMAP: vmap_job}
    job = jobs[name](process, TOLERANCES.get(name))
    found = job()
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    for _ in range(PASSES):
        job()
    wall = time.perf_counter() - began
    error = float(np.abs(found - saltus_job(process, 1e-12)()).max())
    print(json.dumps({"wall": wall, "error": error}), flush=True)


def on_all_cores(name: str) -> tuple[float, float]:
    """Trajectories per second of one process per core, and the largest error."""
    environment = {**os.environ, "NPROC": "1"}  # a process per core, one thread each
    started = [
        subprocess.Popen(
            [sys.executable, __file__, name, str(k)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        for k in range(os.cpu_count() or 1)
    ]
    for one in started:
        one.stdout.readline()
    for one in started:
        one.stdin.write(b"go\n")
        one.stdin.flush()
    told = [json.loads(one.stdout.readline()) for one in started]
    for one in started:
        one.communicate()
    return len(told) * PASSES * COUNT / max(t["wall"] for t in told), max(t["error"] for t in told)


def mujoco_rate(steps_per_period: int) -> tuple[float, float]:
    import mujoco
    from mujoco import rollout

    centre = PLACE.mean(axis=0)
    inertia = sum((x @ x) * np.eye(3) - np.outer(x, x) for x in PLACE - centre) + 1e-12 * np.eye(3)
    full = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]

    def text(values):
        return " ".join(f"{x:.17g}" for x in values)

    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{END / 5 / steps_per_period:.17g}" integrator="RK4" gravity="0 0 {-G}"/>
        <worldbody><body><joint type="ball"/>
        <inertial pos="{text(centre)}" mass="2" fullinertia="{text(full)}"/></body></worldbody></mujoco>"""
    )
    count = 256
    data = [mujoco.MjData(model) for _ in range(os.cpu_count() or 1)]
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros((count, size))
    start[:, 1] = 1.0
    start[:, 5:8] = spins(0)[:count]
    began = time.perf_counter()
    states, _ = rollout.rollout(model, data, start, nstep=5 * steps_per_period)
    wall = time.perf_counter() - began
    q = states[:, -1, 1:5]
    turned = np.stack([_rotated(q, x) for x in PLACE], axis=1)[..., :2]
    error = float(np.abs(turned - saltus_job(0, 1e-12)()[:count]).max())
    return count / wall, error


def _rotated(q: np.ndarray, x: np.ndarray) -> np.ndarray:
    cross = np.cross(q[:, 1:], x)
    return x + 2 * (q[:, :1] * cross + np.cross(q[:, 1:], cross))


def main() -> None:
    report = Report("ensemble", "diffrax", "mujoco")
    rates = {}
    for name in (*TOLERANCES, CONSTANT, BY_VMAP):
        rates[name], error = on_all_cores(name)
        report.line(f"{name:22s} {rates[name]:9.0f} trajectories/s on {os.cpu_count()} cores   error {error:.1e}")
    try:
        for steps in (200, 400):
            rate, error = mujoco_rate(steps)
            rates["mujoco"] = max(rate, rates.get("mujoco", 0.0))
            report.line(
                f"mujoco.rollout         {rate:9.0f} trajectories/s on {os.cpu_count()} cores   error {error:.1e}"
                f"   {steps} steps per period"
            )
    except ImportError:
        report.line("MuJoCo is not installed: pip install mujoco")
    report.line(f"scalar programs make constant steps {rates[CONSTANT] / rates[BY_VMAP]:.2f} x as fast as vmap")
    for name in ("diffrax", "mujoco"):
        if name not in rates:
            continue
        report.line(f"saltus is {rates['saltus'] / rates[name]:.1f} x as fast as {name}")
    report.write()


if __name__ == "__main__":
    one_process(sys.argv[1], int(sys.argv[2])) if len(sys.argv) == 3 else main()
