"""Scenario files: read, checked and ready to run; nothing here imports JAX before a run."""

from saltus.scenarios.base import Scenario
from saltus.scenarios.catalogue import entries
from saltus.scenarios.loader import Loaded, load, loads

__all__ = ["Loaded", "Scenario", "entries", "load", "loads"]
