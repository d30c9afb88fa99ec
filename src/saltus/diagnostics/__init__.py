"""Checks of a finished run: energy, constraints, periods."""

import importlib
from typing import TYPE_CHECKING

from saltus.diagnostics.drift import constraint_drift, length_drift, norm_drift
from saltus.diagnostics.energy import EnergyBalance, energy_balance
from saltus.diagnostics.periods import periods, upward_crossings

if TYPE_CHECKING:
    from saltus.diagnostics.accuracy import Promise, assess

__all__ = [
    "EnergyBalance",
    "Promise",
    "assess",
    "constraint_drift",
    "energy_balance",
    "length_drift",
    "norm_drift",
    "periods",
    "upward_crossings",
]
_LATE = ("Promise", "assess")  # they need JAX, which looking at a stored run does not


def __getattr__(name: str):
    if name in _LATE:
        return getattr(importlib.import_module("saltus.diagnostics.accuracy"), name)
    raise AttributeError(f"module 'saltus.diagnostics' has no attribute {name!r}")
