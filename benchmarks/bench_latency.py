"""How long a user waits: every command in a new process, as a multiple of R, the start of Python with JAX and xarray.

R is taken anew beside each command; wall time and processor time (user and system, of the process and those it
started) are both told. The goals are of wall time, on an otherwise idle machine of two cores; processor time depends
less on what else the machine does. How busy it was at the start and while each command was timed is told too, as the
load average of one minute, to which the commands themselves add about one. "First" is with an empty cache of programs,
"again" with the one the first left behind. Bytecode is there, as of an installed package.

    python benchmarks/bench_latency.py                    all targets, median of five
    python benchmarks/bench_latency.py --quick bowl chain   one repetition of these scenarios and of the short commands
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from stamp import Report

import saltus

YARDSTICK = "import jax, xarray, netCDF4; jax.jit(lambda x: x + 1.0)(1.0)"
BUILD = (
    "import saltus; saltus.configure()\n"
    "system = saltus.systems.SlidingMasses(saltus.surfaces.Sphere(radius=1.0), masses=[1.0, 1.0], mu=0.02)\n"
    "system.start(position=[[0.3, 0.0], [0.0, 0.3]], velocity=[[0.0, 1.0], [0.5, 0.0]])\n"
)
REFUSED = ("masses.0.mass=-1.0", "masses.0.position=[2.0,0.0]")  # a key, and a start beyond the rim of the bowl
FIRST = {"sliding": 4.0, "chain": 4.0, "plane_ball": 4.0, "rails": 6.0, "butterfly": 6.0, "ellipsoids": 6.0}
FIRST_OF_ANY, AGAIN, WITH_FIGURE = 8.0, 2.0, 2.5
SHORT = {
    "--help": 0.15,
    "list": 0.5,
    "check bowl --keys": 0.5,
    "new sliding": 0.5,
    **{f"run bowl --set {key}": 0.5 for key in REFUSED},
}
STORE = "samples.zarr"
NOT_RUN = ("bowl-ensemble",)  # an ensemble, which has targets of its own


@dataclass
class Taken:
    """Times of one command: medians of wall time and of processor time, and the yardstick's beside them [s].

    `load` is how many processes wanted to run in the minute before its end.
    """

    name: str
    wall: float
    cpu: float
    wall_of_r: float
    cpu_of_r: float
    target: float | None
    load: float

    @property
    def ratios(self) -> tuple[float, float]:
        """Wall time and processor time as multiples of the yardstick's."""
        return self.wall / self.wall_of_r, self.cpu / self.cpu_of_r

    def line(self) -> str:
        wall, cpu = self.ratios
        missed = self.target is not None and wall > self.target
        goal = "" if self.target is None else f"   goal {self.target:g}{'  MISSED' if missed else ''}"
        return f"{self.name:<44} {wall:6.2f} R (wall)  {cpu:6.2f} R (cpu)   load {self.load:4.1f}{goal}"


class Bench:
    """Runs commands in new processes and compares them with the yardstick."""

    def __init__(self, repeats: int, folder: Path):
        self.repeats, self.folder = repeats, folder
        self.report = Report("latency", "equinox", "xarray")
        self.taken: list[Taken] = []

    def measure(self, name: str, arguments: list[str], target: float | None, fresh: bool, codes=(0,)) -> None:
        """Time a command; with an empty cache each time, or with a filled one."""
        cache = self.folder / "cache"
        yard, ours = [], []
        for _ in range(self.repeats):
            if fresh:
                shutil.rmtree(cache, ignore_errors=True)
            shutil.rmtree(self.folder / STORE, ignore_errors=True)
            yard.append(timed([sys.executable, "-c", YARDSTICK], cache, (0,)))
            ours.append(timed([sys.executable, *arguments], cache, codes))
        wall, cpu = (statistics.median(one[k] for one in ours) for k in (0, 1))
        wall_of_r, cpu_of_r = (statistics.median(one[k] for one in yard) for k in (0, 1))
        self.taken.append(Taken(name, wall, cpu, wall_of_r, cpu_of_r, target, os.getloadavg()[0]))
        self.report.line(self.taken[-1].line())

    def scenario(self, name: str, first: float) -> None:
        """A scenario of the catalogue: first, again, and with its figure."""
        result, figure = self.folder / "run.nc", self.folder / "run.png"
        run = ["-m", "saltus", "run", name, "--force", "--quiet", "--out", str(result)]
        self.measure(f"run {name}, first", run, first, fresh=True, codes=(0, 1))
        self.measure(f"run {name}, again", run, AGAIN, fresh=False, codes=(0, 1))
        self.measure(
            f"run {name} with figure, again", [*run, "--plot", str(figure)], WITH_FIGURE, fresh=False, codes=(0, 1)
        )

    def write(self) -> None:
        """The lines so far, under one that tells how large R was."""
        yards = [one.wall_of_r for one in self.taken]
        size = f"# Median of {self.repeats}; R between {min(yards):.2f} and {max(yards):.2f} s"
        self.report.lines[1:] = [
            f"{size} (median {statistics.median(yards):.2f} s)",
            *(one.line() for one in self.taken),
        ]
        self.report.write()


def timed(command: list[str], cache: Path, codes: tuple[int, ...]) -> tuple[float, float]:
    """Wall and processor time of a command [s]."""
    environment = {**os.environ, "SALTUS_CACHE": str(cache / "jax")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with open(os.devnull, "w") as nowhere, tempfile.TemporaryFile("w+") as told:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=nowhere, stderr=told, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = code = os.waitstatus_to_exitcode(status)
        if code not in codes:
            told.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {code}:\n{told.read()}")
    return wall, used.ru_utime + used.ru_stime


def catalogue() -> dict[str, str]:
    """Names and kinds of the ready scenarios."""
    from saltus.scenarios.catalogue import entries

    return {name: entry.kind for name, entry in entries().items() if name not in NOT_RUN}


def short_commands(bench: Bench) -> None:
    for words, target in SHORT.items():
        command = words.split()
        codes = (2,) if command[-1] in REFUSED else (0,)
        bench.measure(f"saltus {words}", ["-m", "saltus", *command], target, fresh=False, codes=codes)
    looks = {"saltus check bowl": (["-m", "saltus", "check", "bowl"], 0.5)}
    looks["import saltus and build a system"] = (["-c", BUILD], 1.2)
    for name, (command, target) in looks.items():
        for when in ("first", "again"):
            bench.measure(f"{name}, {when}", command, target, fresh=when == "first")


def ensemble(bench: Bench) -> None:
    store = bench.folder / STORE
    words = ["-m", "saltus", "ensemble", "bowl-ensemble", "--samples", "1000", "--workers", "2", "--quiet"]
    for when, target in (("first", 10.0), ("again", 4.0)):
        bench.measure(f"ensemble of 1000, {when}", [*words, "--out", str(store)], target, fresh=when == "first")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", help="names of `saltus list`; all if none is given")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one repetition")
    parser.add_argument("--no-ensemble", action="store_true")
    options = parser.parse_args()
    kinds = catalogue()
    compileall.compile_dir(Path(saltus.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(1 if options.quick else options.repeats, Path(folder))
        bench.measure("saltus list, to fill the cache", ["-m", "saltus", "list"], None, fresh=False)
        short_commands(bench)
        for name in options.scenarios or kinds:
            goal = FIRST.get(name) or FIRST.get(kinds[name], FIRST_OF_ANY)
            bench.scenario(name, goal)
            bench.write()  # what there is, should somebody end it
        if not options.no_ensemble:
            ensemble(bench)
        bench.write()


if __name__ == "__main__":
    main()
