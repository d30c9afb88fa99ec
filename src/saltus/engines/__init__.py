"""Algorithms that run systems; they know no mechanics."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.engines.event_driven import EventDriven
    from saltus.engines.event_queue import EventQueue
    from saltus.engines.fixed_step import FixedStep
    from saltus.engines.time_stepping import TimeStepping

__all__ = ["EventDriven", "EventQueue", "FixedStep", "TimeStepping"]

__getattr__, __dir__ = late(
    __name__,
    {
        "event_driven": ("EventDriven",),
        "event_queue": ("EventQueue",),
        "fixed_step": ("FixedStep",),
        "time_stepping": ("TimeStepping",),
    },
)
