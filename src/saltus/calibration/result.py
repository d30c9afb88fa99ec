"""What a calibration found, and how far it can be trusted."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.calibration.observation import Sighting
from saltus.hybrid.tables import table

if TYPE_CHECKING:
    from saltus.scenarios.base import Scenario
    from saltus.simulation import Run


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Fitted parameters with their uncertainty.

    Args:
        values: The parameters by key.
        sigma: Their standard deviations; infinite where the data do not determine them.
        covariance: Their covariance matrix, in the order of `values`.
        correlation: Their correlation matrix.
        residuals: Observed minus predicted, number by number, in the units of the data.
        normalised: The same in standard deviations of the data.
        observed: The numbers that were fitted, in the same order.
        chi_square: Sum of the squares of `normalised`.
        degrees_of_freedom: Number of observations less the number of determined parameters.
        noise: Standard deviation of the data, if it was not given but estimated from the residuals.
        undetermined: Keys that the data say nothing about, alone or together.
        converged: Whether a best fit was found.
        message: One or more sentences on how it went.
        iterations: Steps that were taken.
        runs: Runs that were simulated.
        derivatives: "replay" (exact, through events) or "differences" (of runs that cannot be replayed).
        scenario: The scenario with the fitted values.
        run: Its run.
    """

    values: dict[str, float]
    sigma: dict[str, float]
    covariance: np.ndarray
    correlation: np.ndarray
    residuals: np.ndarray
    normalised: np.ndarray
    observed: tuple[Sighting, ...]
    chi_square: float
    degrees_of_freedom: int
    noise: float | None
    undetermined: tuple[str, ...]
    converged: bool
    message: str
    iterations: int
    runs: int
    derivatives: str
    scenario: Scenario
    run: Run

    def __getitem__(self, key: str) -> float:
        return self.values[key]

    def facts(self) -> dict[str, Any]:
        """The result as plain data, for JSON; numbers that are not finite are None."""
        return {
            "values": self.values,
            "sigma": {key: value if np.isfinite(value) else None for key, value in self.sigma.items()},
            "correlation": [[None if np.isnan(one) else float(one) for one in row] for row in self.correlation],
            "chi_square": self.chi_square,
            "degrees_of_freedom": self.degrees_of_freedom,
            "noise": self.noise,
            "undetermined": list(self.undetermined),
            "converged": self.converged,
            "message": self.message,
            "iterations": self.iterations,
            "runs": self.runs,
            "derivatives": self.derivatives,
            "observations": len(self.observed),
        }

    def rows(self) -> list[tuple[str, str]]:
        """Each parameter with its value and standard deviation, as texts."""
        return [(key, _with_sigma(value, self.sigma[key])) for key, value in self.values.items()]

    def __repr__(self) -> str:
        found = ", ".join(f"{key} = {text}" for key, text in self.rows())
        return f"Calibration({found}; {self.message})"

    def _repr_html_(self) -> str:
        rows = [
            (key, f"{value:.9g}", "not determined" if not np.isfinite(self.sigma[key]) else f"{self.sigma[key]:.3g}")
            for key, value in self.values.items()
        ]
        told = [
            ("observations", str(len(self.observed))),
            ("chi square / degrees of freedom", f"{self.chi_square:.4g} / {self.degrees_of_freedom}"),
            ("iterations", f"{self.iterations}, {self.runs} runs"),
            ("verdict", self.message),
        ]
        if self.noise is not None:
            told.insert(1, ("standard deviation of the data (estimated)", f"{self.noise:.4g}"))
        return table(("parameter", "value", "standard deviation"), rows) + table(("calibration", ""), told)


def _with_sigma(value: float, sigma: float) -> str:
    if not np.isfinite(sigma):
        return f"{value:.6g} (not determined)"
    return f"{value:.9g} ± {sigma:.2g}"
