"""Cheap work for tests of the runner: no mechanics and no JAX, but numbers that tell every sample apart.

As a program (`python -m tests.ensemble_work OUT SAMPLES CHUNK WORKERS DELAY [SCHEDULER]`) it runs or resumes an
ensemble of such work, to be killed by tests.
"""

import dataclasses
import os
import signal
import sys
import time

import numpy as np

WORDS = ["exact", "pade", "coulomb"]


@dataclasses.dataclass(frozen=True)
class Column:
    """What is kept of a sample."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    units: str
    long_name: str
    attributes: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Toy:
    """A drawn number and a drawn word per sample; some functions of them come out.

    Args:
        samples: Number of samples.
        seed: Another seed gives other numbers.
        delay: Seconds that a chunk takes.
        deadly: The first sample of a chunk that kills its process.
        deaths: File that counts the deaths; after `mortal` of them the chunk is harmless.
        mortal: How often it kills.
        broken: The first sample of a chunk that raises an error; -1 for all of them.
    """

    samples: int
    seed: int = 0
    delay: float = 0.0
    deadly: int | None = None
    deaths: str = ""
    mortal: int = 1
    broken: int | None = None
    design: str = "random"

    @property
    def keys(self):
        return {"friction.mu": None, "friction.model": WORDS, "number": None}

    def columns(self):
        flags = {"flag_values": [0, 1], "flag_meanings": "finished failed"}
        return {
            "outcome": Column((), (), np.dtype("int8"), "", "how it ended", flags),
            "stop_time": Column((), (), np.dtype("float64"), "s", "time of the end"),
            "position": Column(("mass", "axis"), (2, 3), np.dtype("float64"), "m", "where"),
            "rod_force": Column(("rod",), (0,), np.dtype("float64"), "N", "of no rods"),
            "never": Column((), (), np.dtype("float64"), "", "nothing but the fill value"),
        }

    def attributes(self):
        return {
            "scenario": "",
            "scenario_name": "toy",
            "scenario_hash": f"toy of {self.seed}",
            "kind": "toy",
            "seed": self.seed,
            "design": self.design,
            "saltus_version": "0",
        }

    def draw(self, first, last):
        numbers = np.arange(first, last)
        return {
            "friction.mu": np.sin(numbers * 12.9898 + self.seed),
            "friction.model": np.array(WORDS, dtype=object)[numbers % 3],
            "number": numbers.astype(float),
        }

    def run(self, values, progress=None):
        mu = values["friction.mu"]
        first = round(float(values["number"][0]))
        if self.deadly == first:
            self._die()
        if self.broken is not None and self.broken in (-1, first):
            raise FloatingPointError("The toy is broken.")
        for _ in range(10):
            time.sleep(self.delay / 10)
            if progress is not None:
                progress(len(mu) // 10)
        return {
            "outcome": (mu > 0.9).astype(np.int8),
            "stop_time": np.exp(mu),
            "position": mu[:, None, None] * np.arange(6.0).reshape(2, 3),
            "rod_force": np.zeros((len(mu), 0)),
            "never": np.full(len(mu), np.nan),
        }

    def _die(self):
        with open(self.deaths, "a+b", buffering=0) as file:
            file.write(b"x")
            died = file.tell()
        if died <= self.mortal:
            os.kill(os.getpid(), signal.SIGKILL)


def main(out, samples, chunk, workers, delay, scheduler=None):
    from saltus.ensembles.execute.runner import execute
    from tests.ensemble_work import Toy  # not that of __main__, which workers do not know

    toy = Toy(int(samples), delay=float(delay))
    number = None if scheduler not in (None, "local") else int(workers)
    execute(toy, out, workers=number, chunk=int(chunk), scheduler=scheduler, resume=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background hand it on ignored
    main(*sys.argv[1:])
