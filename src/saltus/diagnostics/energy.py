"""Where the energy went."""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr


@dataclasses.dataclass(frozen=True)
class EnergyBalance:
    """Energy at the start and the end of a run, what was dissipated, and what is unaccounted for.

    Args:
        initial: Kinetic and potential energy at the start [J].
        final: Kinetic and potential energy at the end [J].
        dissipated: What friction and impacts took in between [J].
        residual: Largest change over the run of kinetic + potential + dissipated energy, less what was supplied [J].
        scale: Largest exchange between the three over the run, for comparison [J].
    """

    initial: float
    final: float
    dissipated: float
    residual: float
    scale: float

    @property
    def relative(self) -> float:
        """The residual in units of the exchange; 0 if nothing was exchanged or lost."""
        return self.residual / self.scale if self.scale > 0 else self.residual


def energy_balance(dataset: xr.Dataset) -> EnergyBalance:
    """Energy balance of a run: kinetic + potential (+ elastic) + dissipated energy should stay what it was.

    What a drive has put in (`supplied_energy`, where the dataset has it) is taken off.
    """
    kinetic, potential, dissipated = (
        dataset[name].values for name in ("kinetic_energy", "potential_energy", "dissipated_energy")
    )
    if "elastic_energy" in dataset:
        potential = potential + dataset["elastic_energy"].values
    supplied = dataset["supplied_energy"].values if "supplied_energy" in dataset else 0.0
    total = kinetic + potential + dissipated - supplied
    exchanged = max(np.nanmax(np.abs(kinetic)), np.nanmax(np.abs(potential - potential[0])))
    return EnergyBalance(
        initial=float(kinetic[0] + potential[0]),
        final=float(kinetic[-1] + potential[-1]),
        dissipated=float(dissipated[-1] - dissipated[0]),
        residual=float(np.nanmax(np.abs(total - total[0]))),
        scale=float(exchanged),
    )
