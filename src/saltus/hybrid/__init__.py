"""The contract between systems and engines; knows no mechanics."""

import importlib
from typing import TYPE_CHECKING

from saltus.hybrid.event import Event, Events
from saltus.hybrid.functions import FunctionSystem, system
from saltus.hybrid.guard import Guard, always, unchanged
from saltus.hybrid.outcome import OUTCOMES, Outcome
from saltus.hybrid.parts import Parts, part
from saltus.hybrid.queued import AbstractQueuedSystem
from saltus.hybrid.state import Rate, State
from saltus.hybrid.stepped import AbstractSteppedSystem
from saltus.hybrid.system import AbstractSystem, HybridSystem, Quantity
from saltus.hybrid.trajectory import AbstractTrajectory, Trajectory

if TYPE_CHECKING:
    from saltus.diagnostics.conformance import check
    from saltus.engines.bounded import simulate_bounded
    from saltus.engines.many import simulate_many

# What runs a system stands above this package; it is reached from here, and loaded when first used.
_ABOVE = {
    "check": "saltus.diagnostics.conformance",
    "simulate_bounded": "saltus.engines.bounded",
    "simulate_many": "saltus.engines.many",
}

__all__ = [
    "OUTCOMES",
    "AbstractQueuedSystem",
    "AbstractSteppedSystem",
    "AbstractSystem",
    "AbstractTrajectory",
    "Event",
    "Events",
    "FunctionSystem",
    "Guard",
    "HybridSystem",
    "Outcome",
    "Parts",
    "Quantity",
    "Rate",
    "State",
    "Trajectory",
    "always",
    "check",
    "part",
    "simulate_bounded",
    "simulate_many",
    "system",
    "unchanged",
]


def __getattr__(name: str):
    """Load what is asked for."""
    if name in _ABOVE:
        return getattr(importlib.import_module(_ABOVE[name]), name)
    raise AttributeError(f"module 'saltus.hybrid' has no attribute {name!r}")
