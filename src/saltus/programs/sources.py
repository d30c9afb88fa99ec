"""The code that a kept result comes from: files of saltus and versions of the libraries; without JAX."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
from collections.abc import Iterator
from pathlib import Path

from saltus._jax_settings import STARTED

LIBRARIES = ("jax", "jaxlib", "equinox", "diffrax", "lineax", "optimistix", "numpy")
ROOT = Path(__file__).resolve().parent.parent


def changed_since_start() -> bool:
    """Whether somebody edits saltus while it runs: what is loaded is then not what the files say."""
    return any(entry.stat().st_mtime >= STARTED for entry in _files(ROOT))


@functools.cache
def sources() -> str:
    """Digest of all Python files of saltus: what is changed while one develops is made anew."""
    digest = hashlib.sha256()
    for path in sorted(entry.path for entry in _files(ROOT)):
        digest.update(f"{os.path.relpath(path, ROOT)}\0".encode())
        with open(path, "rb", buffering=0) as file:
            digest.update(file.read())
    return digest.hexdigest()


@functools.cache
def versions() -> tuple[str, ...]:
    """The libraries that saltus computes with, each with its version."""
    return tuple(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)


def _files(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    """The Python files of saltus; by `scandir`, five times as fast as `Path.rglob`, since they are asked often."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _files(entry.path)
