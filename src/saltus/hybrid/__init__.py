"""The contract between systems and engines; knows no mechanics."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.diagnostics.conformance import check
    from saltus.engines.bounded import simulate_bounded
    from saltus.engines.many import simulate_many
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

__getattr__, __dir__ = late(
    __name__,
    {
        "event": ("Event", "Events"),
        "functions": ("FunctionSystem", "system"),
        "guard": ("Guard", "always", "unchanged"),
        "outcome": ("OUTCOMES", "Outcome"),
        "parts": ("Parts", "part"),
        "queued": ("AbstractQueuedSystem",),
        "state": ("Rate", "State"),
        "stepped": ("AbstractSteppedSystem",),
        "system": ("AbstractSystem", "HybridSystem", "Quantity"),
        "trajectory": ("AbstractTrajectory", "Trajectory"),
        # What runs a system stands above this package, and is reached from here.
        "saltus.diagnostics.conformance": ("check",),
        "saltus.engines.bounded": ("simulate_bounded",),
        "saltus.engines.many": ("simulate_many",),
    },
)
