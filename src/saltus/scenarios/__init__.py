"""Scenario files: read, checked and ready to run; nothing here imports JAX before a run."""

from saltus.scenarios.base import Scenario
from saltus.scenarios.catalogue import entries
from saltus.scenarios.loader import LoadedScenario, load, loads

__all__ = ["LoadedScenario", "Scenario", "entries", "load", "loads"]

Loaded = LoadedScenario  # its name before, for code of users
