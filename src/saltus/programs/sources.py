"""The code that a kept result comes from: files of saltus and versions of the libraries; without JAX."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from pathlib import Path

from saltus._jax_settings import STARTED

LIBRARIES = ("jax", "jaxlib", "equinox", "diffrax", "lineax", "optimistix", "numpy")
ROOT = Path(__file__).resolve().parent.parent


def changed_since_start() -> bool:
    """Whether somebody edits saltus while it runs: what is loaded is then not what the files say."""
    return any(path.stat().st_mtime >= STARTED for path in _files())


@functools.cache
def sources() -> str:
    """Digest of all Python files of saltus: what is changed while one develops is made anew."""
    digest = hashlib.sha256()
    for path in _files():
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def versions() -> tuple[str, ...]:
    """The libraries that saltus computes with, each with its version."""
    return tuple(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)


def _files() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))
