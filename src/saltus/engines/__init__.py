"""Algorithms that run systems; they know no mechanics."""

import importlib
from typing import TYPE_CHECKING

from saltus.engines.event_driven import EventDriven
from saltus.engines.fixed_step import FixedStep

if TYPE_CHECKING:
    from saltus.engines.event_queue import EventQueue
    from saltus.engines.time_stepping import TimeStepping

# Loaded when first used: few runs need them.
_LATER = {"EventQueue": "saltus.engines.event_queue", "TimeStepping": "saltus.engines.time_stepping"}

__all__ = ["EventDriven", "EventQueue", "FixedStep", "TimeStepping"]


def __getattr__(name: str):
    """Load what is asked for."""
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'saltus.engines' has no attribute {name!r}")
