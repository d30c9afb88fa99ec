"""Checks of a finished run: energy, constraints, periods."""

from saltus.diagnostics.accuracy import Promise, assess
from saltus.diagnostics.drift import constraint_drift, length_drift, norm_drift
from saltus.diagnostics.energy import EnergyBalance, energy_balance
from saltus.diagnostics.periods import periods, upward_crossings

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
