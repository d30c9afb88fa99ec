"""Ensembles on a GPU by the code that runs them on a CPU: two masses in a bowl with friction, everything included.

`python benchmarks/bench_gpu_ensemble.py cpu FILE` computes a few samples on the CPU and keeps them in FILE;
`gpu FILE` runs many on the GPU and compares; a third word, `constant` or `adaptive`, runs one of the cases. Times
include drawing, building, summaries and the way back to the host; compilation is told apart.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from stamp import Report

FEW, MANY = 256, 1 << 17
KEYS = {"friction.mu": (0.01, 0.03), "masses.0.mass": (0.8, 1.2)}


def scenario(**solve):
    from saltus.scenarios.loader import load, validate

    data = load("bowl-ensemble").scenario.model_dump(exclude={"ensemble"}, exclude_none=True)
    data["solve"] = {"until": 9.6, **solve}
    return validate(data)


CASES = {
    name: solve
    for name, solve in {
        "adaptive steps (dopri8, rtol 1e-8), plain XLA": {"rtol": 1e-8, "atol": 1e-10},
        "constant steps (rk4, 1 ms), kernel": {"method": "rk4", "step": 1e-3},
    }.items()
    if name.startswith(tuple(sys.argv[3:]) or "")
}


def values(count: int) -> dict[str, np.ndarray]:
    draws = np.random.default_rng(0).uniform(size=(MANY, len(KEYS)))
    return {key: low + (high - low) * draws[:count, k] for k, (key, (low, high)) in enumerate(KEYS.items())}


def on_cpu(path: str) -> None:
    from saltus.ensembles.compute import run_samples

    kept = {}
    for case, solve in CASES.items():
        kept |= {f"{case} {name}": column for name, column in run_samples.run(scenario(**solve), values(FEW)).items()}
    np.savez(path, **kept)


def on_gpu(path: str) -> None:
    import saltus

    saltus.configure()

    import jax  # isort: skip

    from saltus.ensembles.compute import run_samples

    report = Report("gpu_ensemble", "jaxlib")
    report.line(f"device: {jax.devices()[0].device_kind}; {MANY} samples, 9.6 s of motion, two masses with friction")
    wanted = np.load(path)
    for name, solve in CASES.items():
        case, walls = scenario(**solve), []
        for _ in range(2):
            began = time.perf_counter()
            found = run_samples.run(case, values(MANY))
            walls.append(time.perf_counter() - began)
        worst = np.abs(found["final_position"][:FEW] - wanted[f"{name} final_position"]).max()
        stops = np.bincount(found["events"], minlength=1)
        same = (found["events"][:FEW] == wanted[f"{name} events"]).mean()
        report.line(f"{name}: {MANY / walls[1]:9.0f} samples/s (first call {walls[0]:.1f} s)")
        report.line(f"    samples by number of events: {stops.tolist()}")
        report.line(f"    against the CPU: final positions differ by at most {worst:.1e} m; same events {same:.1%}")
    report.write()


if __name__ == "__main__":
    {"cpu": on_cpu, "gpu": on_gpu}[sys.argv[1]](sys.argv[2])
