"""What every benchmark shares: the machine and versions it ran on, the best of several timings, its results file."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def stamp(*packages: str) -> str:
    """Machine and versions in one line."""
    versions = []
    for name in ("saltus", "jax", "numpy", *packages):
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} (source tree)")
    load = os.getloadavg()[0]
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores {platform.machine()}, load {load:.1f} "
        f"when started; {', '.join(versions)}"
    )


def best_of(function: Callable, repeats: int = 7) -> tuple[float, object]:
    """Shortest wall time of several calls [s], and the last result."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - began)
    return min(times), result


class Report:
    """Lines that are printed and kept as a text file under results/."""

    def __init__(self, name: str, *packages: str):
        self.path = RESULTS / f"{name}.txt"
        self.lines: list[str] = []
        self.line(f"# {stamp(*packages)}")

    def line(self, text: str = "") -> None:
        """Print a line and keep it."""
        print(text, flush=True)
        self.lines.append(text)

    def write(self) -> None:
        """Write the file."""
        RESULTS.mkdir(exist_ok=True)
        self.path.write_text("\n".join(self.lines) + "\n")
