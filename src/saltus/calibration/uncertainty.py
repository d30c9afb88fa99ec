"""From the Jacobian of a fit to standard deviations, and to what the data leave open."""

from __future__ import annotations

import dataclasses

import numpy as np

OPEN = 1e-8  # singular value, relative to the largest, below which a direction counts as not determined
SHARE = 0.2  # part of a parameter in an open direction, above which it is named


@dataclasses.dataclass(frozen=True)
class Uncertainty:
    """What the data say of the parameters, for unit standard deviation of each observation.

    Args:
        covariance: Covariance matrix; infinite on the diagonal where nothing is determined.
        open: For every direction that the data leave open, which parameters take part in it.
        rank: How many directions are determined.
    """

    covariance: np.ndarray
    open: list[list[int]]
    rank: int

    @staticmethod
    def of(jacobian: np.ndarray) -> Uncertainty:
        """From the derivatives of the normalised predictions by the parameters."""
        size = np.linalg.norm(jacobian, axis=0)
        scale = np.where(size > 0.0, size, 1.0)
        _, singular, directions = np.linalg.svd(jacobian / scale, full_matrices=True)
        singular = np.pad(singular, (0, jacobian.shape[1] - singular.size))
        known = singular > OPEN * max(float(singular.max(initial=0.0)), 1e-300)
        inverse = np.where(known, 1.0 / np.where(known, singular, 1.0) ** 2, 0.0)
        covariance = (directions.T * inverse) @ directions / np.outer(scale, scale)
        found = [[int(k) for k in np.flatnonzero(np.abs(row) > SHARE)] for row in directions[~known]]
        for k in {k for several in found for k in several}:
            covariance[k, :], covariance[:, k] = np.nan, np.nan
            covariance[k, k] = np.inf
        return Uncertainty(covariance, found, int(known.sum()))

    @property
    def sigma(self) -> np.ndarray:
        """Standard deviations."""
        return np.sqrt(np.diag(self.covariance))

    def correlation(self) -> np.ndarray:
        """Correlation matrix; NaN for what is not determined."""
        sigma = self.sigma
        with np.errstate(invalid="ignore"):
            found = self.covariance / np.outer(sigma, sigma)
        np.fill_diagonal(found, np.where(np.isfinite(sigma), 1.0, np.nan))
        return found

    def sentence(self, keys: list[str]) -> str:
        """What the data do not determine; empty if they determine everything."""
        told = []
        for several in self.open:
            names = [f"`{keys[k]}`" for k in several]
            if len(names) == 1:
                told.append(f"The observations do not depend on {names[0]}, so it stays at its first guess.")
            else:
                joined = f"{', '.join(names[:-1])} and {names[-1]}"
                told.append(f"The observations do not determine {joined} apart, only a combination of them.")
        return " ".join(dict.fromkeys(told))
