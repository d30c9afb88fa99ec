"""Algorithms that run systems; they know no mechanics."""

from saltus.engines.event_driven import EventDriven
from saltus.engines.fixed_step import FixedStep

__all__ = ["EventDriven", "FixedStep"]
