"""Checks of a finished run: energy, constraints, periods."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.diagnostics.accuracy import Promise, assess
    from saltus.diagnostics.drift import constraint_drift, length_drift, norm_drift
    from saltus.diagnostics.energy import EnergyBalance, energy_balance
    from saltus.diagnostics.recurrence import periods, upward_crossings

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

__getattr__, __dir__ = late(
    __name__,
    {
        "accuracy": ("Promise", "assess"),
        "drift": ("constraint_drift", "length_drift", "norm_drift"),
        "energy": ("EnergyBalance", "energy_balance"),
        "recurrence": ("periods", "upward_crossings"),
    },
)
