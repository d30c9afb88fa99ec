"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from saltus.errors import MissingExtraError, ScenarioError

SUFFIXES = (".nc", ".nc4", ".netcdf", ".zarr")  # of results

_unfinished: set[Path] = set()
_replacing = threading.RLock()  # held while a finished file takes its place


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike) -> Iterator[Path]:
    """A temporary name beside `path`; what is written there takes its place at the end.

    The temporary name keeps the suffix, from which many writers choose their format. After an error,
    or an interrupt, nothing is left behind and a file that was there before is untouched. A folder (as Zarr
    writes) works as well.

        with atomic_write("figure.png") as temporary:
            figure.savefig(temporary)
    """
    target = Path(path)
    check_writable(target)
    temporary = _beside(target, target.suffix)
    _unfinished.add(temporary)
    try:
        yield temporary
        with _replacing:
            _replace(temporary, target)
    finally:
        _remove(temporary)
        _unfinished.discard(temporary)


def discard_unfinished() -> None:
    """Remove what is written at the moment, by whatever thread, for a process that ends right after.

    A file that is just taking its place is waited for.
    """
    _replacing.acquire()  # and kept: nothing takes its place any more
    for temporary in list(_unfinished) * 3:  # the thread that writes may still be adding to a folder
        _remove(temporary)


def _beside(target: Path, suffix: str) -> Path:
    """A hidden name in the same folder that nobody else has."""
    return target.with_name(f".{target.stem}.{secrets.token_hex(4)}{suffix}")


def check_writable(path: str | os.PathLike) -> None:
    """Refuse a path that cannot be written, before any work is done for it."""
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise ScenarioError(f"Cannot write {str(path)!r}: there is no folder {str(folder)!r}.")
    if target.is_dir() and target.suffix != ".zarr":
        raise ScenarioError(f"Cannot write {str(path)!r}: it is a folder.")
    probe = _beside(target, ".probe")
    try:  # rights alone do not tell: the file system may be full, or take no files at all
        probe.touch(exist_ok=False)
    except OSError as problem:
        reason = "" if problem.errno == errno.EACCES else f" ({problem.strerror})"
        raise ScenarioError(
            f"Cannot write {str(path)!r}: the folder {str(folder)!r} is not writable{reason}."
        ) from None
    probe.unlink(missing_ok=True)


def check_folder(path: str | os.PathLike, parents: bool = False) -> None:
    """Refuse a folder that cannot be written to, or made (with its parents, where they may be); it is not made yet."""
    folder = Path(path)
    if not parents and not folder.parent.is_dir():
        raise ScenarioError(f"Cannot write {str(path)!r}: there is no folder {str(folder.parent)!r}.")
    there = next((one for one in (folder, *folder.parents) if one.exists()), Path())
    if not there.is_dir():
        raise ScenarioError(f"Cannot write to the folder {str(path)!r}: there is a file of that name, {str(there)!r}.")
    check_writable(there / (folder.name or "folder"))


def _replace(temporary: Path, target: Path) -> None:
    """Put the finished file or folder in its place."""
    if not target.is_dir():
        os.replace(temporary, target)
        return
    old = _beside(target, ".old")
    os.rename(target, old)
    try:
        os.rename(temporary, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def check_suffix(path: str | Path) -> None:
    """Refuse a name of a result file from which the format cannot be told, or whose writer is not installed."""
    if Path(path).suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise ScenarioError(f"Cannot tell the format of {str(path)!r} from its name. Known endings: {known}.")
    if Path(path).suffix == ".zarr":
        _require_zarr()


def _require_zarr() -> None:
    try:
        import zarr  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("Zarr is not installed. Use a .nc file, or: pip install 'saltus[zarr]'.") from error
