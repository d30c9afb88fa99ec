"""Ensembles as processes of their own, to be watched and killed; and their numbers, to be compared."""

import os
import subprocess
import sys
import time
from pathlib import Path

import xarray as xr

ROOT = Path(__file__).parents[1]


def opened(path):
    with xr.open_zarr(path) as dataset:
        return dataset.load()


def bits(path):
    """All numbers of a store, bit by bit, but not how they are cut into chunks."""
    return {name: variable.values.tobytes() for name, variable in opened(path).data_vars.items()}


def environment():
    """That of processes which find saltus, these tests, and whatever this process was told to find."""
    known = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), *([known] if known else [])])}


def started(path, *, samples=2000, chunk=100, workers=2, delay=0.05, scheduler=()):
    """A process that runs or resumes an ensemble of toys."""
    command = [sys.executable, "-m", "tests.ensemble_work", path, samples, chunk, workers, delay, *scheduler]
    return subprocess.Popen([str(word) for word in command], cwd=ROOT, env=environment(), stderr=subprocess.PIPE)


def children(process):
    """Processes started by another one, of any depth."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *children(child)]
    return found


def workers_of(process):
    """Those of them that compute chunks: others try what flags the compiler knows, say."""
    return [child for child in children(process) if b"saltus.ensembles.execute.process" in _command_of(child)]


def _command_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:  # it has ended
        return b""


def wait_for_some_done(path, process, n_files, seconds=30):
    """Wait until so many chunks are done, or the process has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        if len(list(path.glob("done/c/*"))) >= n_files:
            return
        time.sleep(0.002)


def gone(process, seconds=5):
    """Whether a process ends soon."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
