"""Sums over stretches of a run, in a bounded number of bins, and averages with standard errors from them."""

from __future__ import annotations

import numpy as np

MOST_BINS = 2048
BLOCKS = (64, 32, 16)  # numbers of blocks; the largest of the errors that they give is taken

COLUMNS = ("duration", "contacts", "virial", "wall_impulse", "loss", "heat", "translation", "rotation", "order")


class Series:
    """What happened in each of many stretches of equal duration.

    When there are too many bins, neighbours are joined: memory does not grow with the length of a run.
    The columns `heat` (kT), `translation`, `rotation` (temperatures) and `order` are integrals over time.
    """

    def __init__(self) -> None:
        self.bins = np.zeros((0, len(COLUMNS)))
        self.per_bin, self.pending, self.n_pending = 1, np.zeros(len(COLUMNS)), 0

    def add(self, **sums: float) -> None:
        """One more stretch."""
        self.pending = self.pending + np.array([sums[name] for name in COLUMNS])
        self.n_pending += 1
        if self.n_pending == self.per_bin:
            self.bins = np.concatenate([self.bins, self.pending[None]])
            self.pending, self.n_pending = np.zeros(len(COLUMNS)), 0
        if len(self.bins) >= MOST_BINS:
            self.bins = self.bins[0::2] + self.bins[1::2]
            self.per_bin *= 2

    def column(self, name: str) -> np.ndarray:
        """One quantity, bin by bin."""
        return self.bins[:, COLUMNS.index(name)]

    def ratio(self, above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
        """Mean of a ratio of sums, and its standard error by blocking."""
        if not len(above) or not below.sum():
            return float("nan"), float("nan")
        errors = [block_error(above, below, blocks) for blocks in BLOCKS if len(above) >= blocks]
        return float(above.sum() / below.sum()), max(errors) if errors else float("nan")

    def mean(self, name: str) -> tuple[float, float]:
        """Average over time of a quantity whose integral is kept, and its standard error."""
        return self.ratio(self.column(name), self.column("duration"))


def block_error(above: np.ndarray, below: np.ndarray, blocks: int) -> float:
    """Standard error of a ratio of sums from the scatter between so many blocks."""
    edges = np.linspace(0, len(above), blocks + 1).astype(int)[:-1]
    means = np.add.reduceat(above, edges) / np.add.reduceat(below, edges)
    return float(np.std(means, ddof=1) / np.sqrt(blocks))
