"""Where the energy went."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

# Rounding of an energy, as a share of its size: a sum over masses whose parts are larger than the sum.
ROUNDING = 64 * np.finfo(float).eps

STORED = ("kinetic_energy", "potential_energy", "elastic_energy")
ENERGIES = (*STORED, "dissipated_energy", "supplied_energy")


@dataclasses.dataclass(frozen=True)
class EnergyBalance:
    """Energy at the start and the end of a run, what was dissipated, and what is unaccounted for.

    Args:
        initial: Kinetic and potential energy at the start [J].
        final: Kinetic and potential energy at the end [J].
        dissipated: What friction and impacts took in between [J].
        residual: Largest change over the run of kinetic + potential + dissipated energy, less what was supplied [J].
        scale: Largest exchange between them over the run, for comparison [J].
        rounding: Residual that rounding of the energies themselves explains [J].
    """

    initial: float
    final: float
    dissipated: float
    residual: float
    scale: float
    rounding: float = 0.0

    @property
    def relative(self) -> float:
        """The residual in units of the exchange; 0 if it is rounding, or if nothing was exchanged or lost.

        NaN or infinite where the energies are.
        """
        if self.residual <= self.rounding:
            return 0.0
        return self.residual / self.scale if self.scale > 0 else self.residual


def energy_balance(dataset: xr.Dataset) -> EnergyBalance:
    """Energy balance of a run: kinetic + potential (+ elastic) + dissipated energy should stay what it was.

    What a drive has put in (`supplied_energy`, where the dataset has it) is taken off.
    """
    return balance_of({name: dataset[name].values for name in ENERGIES if name in dataset})


def balance_of(energies: Mapping[str, np.ndarray]) -> EnergyBalance:
    """The balance of energies over time, by the names of `ENERGIES`; elastic and supplied ones may be missing."""
    with np.errstate(invalid="ignore", over="ignore"):
        stored = _total([energies[name] for name in STORED if name in energies])
        residual, scale, rounding = residual_of(energies, np)
    dissipated = energies["dissipated_energy"]
    return EnergyBalance(
        initial=float(stored[0]),
        final=float(stored[-1]),
        dissipated=float(dissipated[-1] - dissipated[0]),
        residual=float(residual),
        scale=float(scale),
        rounding=float(rounding),
    )


def residual_of(energies: Mapping[str, Any], xp: Any) -> tuple[Any, Any, Any]:
    """Residual, scale and rounding of an `EnergyBalance`, by NumPy or by JAX's (`xp`).

    Args:
        energies: Energies over time, by the names of `ENERGIES`; elastic and supplied ones may be missing [J].
        xp: The module to compute with.
    """
    changes = {name: energies[name] - energies[name][0] for name in ENERGIES if name in energies}
    total = _total([changes[name] for name in (*STORED, "dissipated_energy") if name in changes])
    total = total - changes.get("supplied_energy", 0.0)
    exchanged = [energies["kinetic_energy"], *(changes[name] for name in changes if name != "kinetic_energy")]

    def largest(columns):
        return xp.max(xp.stack([xp.max(xp.abs(column)) for column in columns]))  # NaN if one of them is none

    return largest([total]), largest(exchanged), ROUNDING * largest([energies[name] for name in changes])


def _total(columns: list[Any]) -> Any:
    """Their sum, added one after the other."""
    return functools.reduce(operator.add, columns)
