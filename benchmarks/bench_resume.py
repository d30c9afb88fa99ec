"""What storing and resuming an ensemble costs: memory of a million samples, scan of a finished store, interruptions.

The work is as good as free (a few functions of one drawn number), so that what is measured is the runner.
"""

from __future__ import annotations

import dataclasses
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from stamp import Report, best_of

import saltus
from saltus.ensembles.execute.runner import execute
from saltus.ensembles.store import Store

saltus.configure()

MILLION = 1_000_000
KILLS = 5
DELAY = 0.3  # seconds that a chunk takes in the interrupted ensemble
SHORT = 6400  # samples of it; 100 chunks of 64


@dataclasses.dataclass(frozen=True)
class Column:
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype = np.dtype("float64")
    units: str = ""
    long_name: str = ""


@dataclasses.dataclass(frozen=True)
class Free:
    """Twelve columns per sample (19 numbers), out of one drawn one."""

    samples: int
    delay: float = 0.0

    @property
    def keys(self):
        return {"friction.mu": None}

    def columns(self):
        return {f"number_{k}": Column((), ()) for k in range(10)} | {
            "position": Column(("mass", "axis"), (2, 3)),
            "velocity": Column(("axis",), (3,)),
        }

    def attributes(self):
        return {"scenario_hash": "free", "kind": "free", "seed": 0, "design": "random", "saltus_version": "0"}

    def draw(self, first, last):
        return {"friction.mu": np.random.default_rng([first, last]).random(last - first)}

    def run(self, values, progress=None):
        mu = values["friction.mu"]
        time.sleep(self.delay)
        return {f"number_{k}": mu**k for k in range(10)} | {
            "position": mu[:, None, None] * np.arange(6.0).reshape(2, 3),
            "velocity": mu[:, None] * np.arange(3.0),
        }


def run(path: str, samples: str, delay: str, chunk: str) -> None:
    """What the processes of this benchmark do; prints the time of the run and the largest memory [MiB]."""
    from bench_resume import Free  # not the one of __main__, which workers do not know

    began = time.perf_counter()
    execute(Free(int(samples), float(delay)), path, workers=2, chunk=int(chunk), resume=True)
    seconds = time.perf_counter() - began
    own, others = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(seconds, own, others)


def started(path: Path, samples: int, delay: float, chunk: int) -> subprocess.Popen:
    command = [sys.executable, __file__, "run", str(path), str(samples), str(delay), str(chunk)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen) -> list[float]:
    out, _ = process.communicate()
    return [float(word) for word in out.split()]


def million(report: Report, path: Path) -> None:
    seconds, own, others = ended(started(path, MILLION, 0.0, 4096))
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 2**20
    store = Store(path)
    report.line(
        f"a million samples of 12 columns by 2 workers: {seconds:.1f} s, {seconds / store.n_chunks * 1e3:.0f} ms per "
        f"chunk of {store.size}; {size:.0f} MiB on disk"
    )
    report.line(f"    largest memory: {own:.0f} MiB of the main process, {others:.0f} MiB of a worker")
    scan, _ = best_of(lambda: Store(path).pending(), 5)
    again, own, _ = ended(started(path, MILLION, 0.0, 4096))
    report.line(f"    finished, and resumed: {again * 1e3:.0f} ms ({scan * 1e3:.0f} ms to find that nothing is left)")


def interrupted(report: Report, folder: Path) -> None:
    plain, *_ = ended(started(folder / "plain.zarr", SHORT, DELAY, 64))
    path, spent = folder / "killed.zarr", 0.0
    for kill in range(KILLS):
        process = started(path, SHORT, DELAY, 64)
        began = time.perf_counter()
        goal = (kill + 1) * 100 // (KILLS + 1)
        while len(list(path.glob("done/c/*"))) < goal and process.poll() is None:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        spent += time.perf_counter() - began
        ended(process)
    last, *_ = ended(started(path, SHORT, DELAY, 64))
    same = all(
        np.array_equal(Store(path).read(name, chunk), Store(folder / "plain.zarr").read(name, chunk))
        for name in Free(1).columns()
        for chunk in range(100)
    )
    extra = (spent + last - plain) / KILLS
    report.line(
        f"100 chunks of {DELAY} s by 2 workers: {plain:.1f} s undisturbed, {spent + last:.1f} s when killed {KILLS} "
        f"times and resumed, {'the same numbers' if same else 'OTHER NUMBERS'}: {extra:.1f} s per kill, of which up "
        f"to {DELAY} s lost and the rest the start of Python"
    )


def main() -> None:
    report = Report("resume", "zarr")
    with tempfile.TemporaryDirectory() as folder:
        million(report, Path(folder) / "million.zarr")
        interrupted(report, Path(folder))
    report.write()


if __name__ == "__main__":
    run(*sys.argv[2:]) if sys.argv[1:2] == ["run"] else main()
