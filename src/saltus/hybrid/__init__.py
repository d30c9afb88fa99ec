"""The contract between systems and engines; knows no mechanics."""

from saltus.hybrid.event import Event, Events
from saltus.hybrid.guard import Guard, always, unchanged
from saltus.hybrid.outcome import OUTCOMES, Outcome
from saltus.hybrid.state import Rate, State
from saltus.hybrid.system import AbstractSystem, Quantity
from saltus.hybrid.trajectory import Trajectory

__all__ = [
    "OUTCOMES",
    "AbstractSystem",
    "Event",
    "Events",
    "Guard",
    "Outcome",
    "Quantity",
    "Rate",
    "State",
    "Trajectory",
    "always",
    "unchanged",
]
