"""Files that are on the disk when we say so, and a lock that ends with its process."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from saltus.errors import ScenarioError


def persist(paths: Sequence[Path]) -> None:
    """Have files on the disk, with their names; those that would hold the fill value alone are not there at all."""
    threads = _threads(os.getpid())  # side by side: the disk then takes them in one go
    list(threads.map(_flush, paths))
    list(threads.map(flush_folder, {path.parent for path in paths}))


@functools.lru_cache(maxsize=1)
def _threads(process: int) -> ThreadPoolExecutor:
    """The threads that write for this process, kept: to start them takes as long as to write."""
    return ThreadPoolExecutor(16, thread_name_prefix="saltus disk")


def _flush(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def flush_folder(path: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _flush(path)


def lock(path: Path) -> int | None:
    """A lock on the folder itself; None where the file system has none."""
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ScenarioError(f"Another run is writing to {str(path)!r}. Wait for it, or stop it.") from None
    except OSError:
        os.close(handle)
        return None
    return handle
