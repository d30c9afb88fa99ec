"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from saltus.errors import ScenarioError


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
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        _replace(temporary, target)
    finally:
        _remove(temporary)


def check_writable(path: str | os.PathLike) -> None:
    """Refuse a path that cannot be written, before any work is done for it."""
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise ScenarioError(f"Cannot write {str(path)!r}: there is no folder {str(folder)!r}.")
    if target.is_dir() and target.suffix != ".zarr":
        raise ScenarioError(f"Cannot write {str(path)!r}: it is a folder.")
    if not os.access(folder, os.W_OK):
        raise ScenarioError(f"Cannot write {str(path)!r}: the folder {str(folder)!r} is not writable.")


def _replace(temporary: Path, target: Path) -> None:
    """Put the finished file or folder in its place."""
    if not target.is_dir():
        os.replace(temporary, target)
        return
    old = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.old")
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
