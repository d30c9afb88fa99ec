"""Many runs of one scenario with values drawn for some of its keys: sampling, running, storing."""

import importlib
from typing import TYPE_CHECKING

from saltus.ensembles.errors import ChunkError, EnsembleError, Interrupted, WriteError

if TYPE_CHECKING:
    from saltus.ensembles.analyse.report import summarize
    from saltus.ensembles.boxes import gas_boxes
    from saltus.ensembles.design import Design
    from saltus.ensembles.execute.runner import ensemble
    from saltus.ensembles.store import Store

_NAMES = {
    "Design": "saltus.ensembles.design",
    "Store": "saltus.ensembles.store",
    "ensemble": "saltus.ensembles.execute.runner",
    "gas_boxes": "saltus.ensembles.boxes",
    "summarize": "saltus.ensembles.analyse.report",
}

__all__ = [
    "ChunkError",
    "Design",
    "EnsembleError",
    "Interrupted",
    "Store",
    "WriteError",
    "ensemble",
    "gas_boxes",
    "summarize",
]


def __getattr__(name: str):
    """Load what is asked for; the worker processes need little."""
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'saltus.ensembles' has no attribute {name!r}")
