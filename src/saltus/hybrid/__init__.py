"""The contract between systems and engines; knows no mechanics."""

from typing import TYPE_CHECKING

from saltus._late import late
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

# What runs a system stands above this package; it is reached from here, and loaded when first used.
__getattr__, __dir__ = late(
    __name__,
    {
        "saltus.diagnostics.conformance": ("check",),
        "saltus.engines.bounded": ("simulate_bounded",),
        "saltus.engines.many": ("simulate_many",),
    },
)
