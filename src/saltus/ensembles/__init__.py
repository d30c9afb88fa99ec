"""Many runs of one scenario with values drawn for some of its keys: sampling, running, storing."""

import importlib
from typing import TYPE_CHECKING

from saltus.ensembles.errors import ChunkError, EnsembleError, Interrupted, WriteError

if TYPE_CHECKING:
    from saltus.ensembles.runner import ensemble
    from saltus.ensembles.store import Store

_NAMES = {"ensemble": "saltus.ensembles.runner", "Store": "saltus.ensembles.store"}

__all__ = ["ChunkError", "EnsembleError", "Interrupted", "Store", "WriteError", "ensemble"]


def __getattr__(name: str):
    """Load what is asked for; the worker processes need little."""
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'saltus.ensembles' has no attribute {name!r}")
