"""Ctrl-C while XLA compiled was ignored for minutes, silent, or a segmentation fault; empty folders stayed behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from tests.ensemble_kills import children, environment, gone

# In C without Python's lock, as long as XLA at its worst; beside it a file, a folder and processes under way.
BUSY = """
import hashlib, sys, threading, time
from pathlib import Path
from saltus.cli import interrupt
interrupt.install()
from saltus.io import atomic_write
from saltus.processes import pool

if __name__ == "__main__":
    with pool(2, print) as others, atomic_write("run.nc") as file, atomic_write("run.zarr") as folder:
        for _ in range(2):
            others.submit(hashlib.pbkdf2_hmac, "sha256", b"", b"", 2_000_000_000)
        file.write_text("half")
        (folder / "c").mkdir(parents=True)
        print("busy", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
"""


@contextlib.contextmanager
def sigint(how):
    """SIGINT caught or ignored in this process, and so in its children: a script in the background ignores it."""
    before = signal.signal(signal.SIGINT, how)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def started(words, folder, how=signal.default_int_handler):
    with sigint(how):
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            env={**environment(), "SALTUS_CACHE": "off", "PYTHONSAFEPATH": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def interrupted(process, to_all=True):
    """Exit code and stderr after Ctrl-C, which a terminal sends to the process and its children."""
    others = children(process.pid) if os.path.exists("/proc/self/task") else []
    (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
    try:
        _, told = process.communicate(timeout=20)
    finally:
        process.kill()
    assert all(gone(one) for one in others)
    return process.returncode, told


@pytest.mark.parametrize("how", [signal.default_int_handler, signal.SIG_IGN])
def test_ctrl_c_ends_a_busy_process_with_one_line_and_nothing_left(tmp_path, how):
    (tmp_path / "busy.py").write_text(BUSY)
    (tmp_path / "run.nc").write_text("of an earlier run")
    process = started(["busy.py"], tmp_path, how)
    assert process.stdout.readline() == "busy\n"
    code, told = interrupted(process)
    assert code == 130
    assert told == "saltus: Interrupted. No file was left half-written.\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["busy.py", "run.nc"]
    assert (tmp_path / "run.nc").read_text() == "of an earlier run"


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.0, 6.0, 15.0])
@pytest.mark.parametrize(
    "words",
    [
        ["run", "box-of-ellipsoids", "--out", "run.nc"],
        ["validate"],
        ["reproduce", "--quick"],
        ["reproduce", "tinti-2019"],
        ["check", "box-of-ellipsoids"],
    ],
)
def test_ctrl_c_ends_every_verb_at_any_moment(tmp_path, words, seconds):
    process = started(["-m", "saltus", *words], tmp_path)
    time.sleep(seconds)
    if process.poll() is not None:  # `check` may be done
        return
    code, told = interrupted(process)
    assert (code, told) == (130, "saltus: Interrupted. No file was left half-written.\n")
    assert not list(tmp_path.iterdir())


def test_an_interrupted_ensemble_says_what_it_keeps(tmp_path):
    words = ["ensemble", "bowl-ensemble", "--samples", "2000", "--out", "a.zarr", "--workers", "2"]
    process = started(["-m", "saltus", *words], tmp_path)
    until = time.monotonic() + 60
    while not (tmp_path / "a.zarr").exists() and time.monotonic() < until:
        time.sleep(0.02)
    code, told = interrupted(process)
    assert code == 130 and len(told.splitlines()) == 1
    assert "Interrupted. 0 of 2000 samples are done and kept in" in told and "--resume goes on." in told
