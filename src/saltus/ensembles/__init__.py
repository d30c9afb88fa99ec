"""Many runs of one scenario with values drawn for some of its keys: sampling, running, storing."""

import importlib

from saltus.ensembles.errors import ChunkError, EnsembleError, Interrupted, WriteError

_NAMES = {
    "ensemble": "saltus.ensembles.runner",
    "Store": "saltus.ensembles.store",
    "gas_boxes": "saltus.ensembles.boxes",
}

__all__ = ["ChunkError", "EnsembleError", "Interrupted", "WriteError", *_NAMES]


def __getattr__(name: str):
    """Load what is asked for; the worker processes need little."""
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'saltus.ensembles' has no attribute {name!r}")
