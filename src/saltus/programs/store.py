"""The files of kept programs: each whole or not there, damaged ones thrown away, the oldest thrown out.

A file is a line that names the form, a digest of all that follows, the length of a JSON header, the header and the
program as JAX serialises it (machine code, or StableHLO). It holds no pickle and is never run as Python.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAGIC = b"saltus program 1\n"
SUFFIX, CODE, FACTS = ".program", ".code", ".facts"  # traced programs, their machine code, and what else is found
KEPT = (SUFFIX, CODE, FACTS)  # all that counts towards the limit
PART, LOCK = ".part", ".lock"  # files that are being written; programs that are being made
LIMIT = 512 * 2**20  # bytes of all kept programs; the oldest in use go first
FRESH = 86_400.0  # seconds during which a use is not noted again


def read(folder: Path, name: str, suffix: str = SUFFIX) -> tuple[Any, bytes] | None:
    """Header and contents of the file of this name; None where there is none, or none that is whole."""
    path = folder / f"{name}{suffix}"
    try:
        data = path.read_bytes()
    except OSError:
        return None
    found = unpack(data)
    if found is None:
        throw_away(path)
        return None
    try:
        if time.time() - path.stat().st_mtime > FRESH:
            os.utime(path)
    except OSError:
        pass  # a folder that can be read but not written serves as well
    return found


def pack(header: Any, program: bytes) -> bytes:
    """The contents of a file."""
    head = json.dumps(header, separators=(",", ":")).encode()
    body = len(head).to_bytes(8, "little") + head + program
    return MAGIC + hashlib.sha256(body).digest() + body


def unpack(data: bytes) -> tuple[Any, bytes] | None:
    """Header and program out of a file; None if it is damaged or something else."""
    start = len(MAGIC) + 32
    if not data.startswith(MAGIC) or len(data) < start + 8:
        return None
    body = data[start:]
    if hashlib.sha256(body).digest() != data[len(MAGIC) : start]:
        return None
    length = int.from_bytes(body[:8], "little")
    return json.loads(body[8 : 8 + length]), body[8 + length :]


def write(folder: Path, name: str, header: Any, program: bytes, *, limit: int = LIMIT, suffix: str = SUFFIX) -> None:
    """Keep a program; where there is no room or no right to write, nothing is kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("wb", dir=folder, prefix=".", suffix=PART, delete=False) as file:
            file.write(pack(header, program))
        os.replace(file.name, folder / f"{name}{suffix}")
        _throw_out(folder, limit)
    except OSError:
        return


@contextlib.contextmanager
def alone(folder: Path, name: str) -> Iterator[None]:
    """Within it no other process makes the program of this name: who comes second waits, and finds it made.

    Where that cannot be arranged (Windows, a folder that cannot be written), both make it, which does no harm. A
    process that dies lets the others go on.
    """
    path = folder / f"{name}{LOCK}"
    try:
        import fcntl

        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except (ImportError, OSError):
        yield
        return
    with file:
        with contextlib.suppress(OSError):  # of a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            throw_away(path)


def throw_away(path: Path) -> None:
    """Remove a file, if it is there and may be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def _throw_out(folder: Path, limit: int) -> None:
    """Remove the programs not used for longest until the rest fits, and what interrupted writers left."""
    seen = []
    for entry in os.scandir(folder):
        try:
            facts = entry.stat()
        except FileNotFoundError:  # another process was quicker
            continue
        if entry.name.endswith(KEPT):
            seen.append((facts.st_mtime, facts.st_size, entry.path))
        elif entry.name.endswith((PART, LOCK)) and time.time() - facts.st_mtime > FRESH:
            throw_away(Path(entry.path))
    total = sum(size for _, size, _ in seen)
    for _, size, path in sorted(seen):
        if total <= limit:
            return
        throw_away(Path(path))
        total -= size
