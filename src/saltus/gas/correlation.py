"""How a fluid forgets: correlations over lags, from a ring of its last states."""

from __future__ import annotations

import numpy as np

from saltus.systems.gas.overlap import near_pairs

LAGS = 48


class Correlations:
    """Mean squared displacement and autocorrelations of velocity and orientation, for lags of whole samples."""

    def __init__(self) -> None:
        self.ring: tuple[np.ndarray, ...] = ()  # places, velocities, axes; the last sample first
        self.sums = np.zeros((3, LAGS + 1))
        self.counts = np.zeros(LAGS + 1)

    def add(self, place: np.ndarray, velocity: np.ndarray, axis: np.ndarray) -> None:
        """One more sample of all bodies, a fixed time after the last."""
        new = (place[None], velocity[None], axis[None])
        old = [part[:LAGS] for part in self.ring] or [part[:0] for part in new]
        self.ring = tuple(np.concatenate(parts) for parts in zip(new, old, strict=True))
        places, velocities, axes = self.ring
        n = len(places)
        moved = places - place
        self.sums[0, :n] += np.mean(np.einsum("lni,lni->ln", moved, moved), axis=1)
        self.sums[1, :n] += np.einsum("lni,ni->l", velocities, velocity) / len(velocity)
        self.sums[2, :n] += np.mean(1.5 * np.einsum("lni,ni->ln", axes, axis) ** 2 - 0.5, axis=1)
        self.counts[:n] += 1

    def means(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean squared displacement, velocity and orientation (second Legendre) autocorrelation by lag."""
        known = self.counts > 0
        moved, velocity, axis = (np.where(known, row / np.maximum(self.counts, 1), np.nan) for row in self.sums)
        return moved, velocity, axis


class PairCounts:
    """Histogram of the distances of centres."""

    def __init__(self, box: np.ndarray, reach: float, bins: int = 120):
        self.box, self.reach = box, min(reach, 0.5 * float(box.min()))
        self.edges = np.linspace(0.0, self.reach, bins + 1)
        self.counts, self.samples = np.zeros(bins), 0

    def add(self, place: np.ndarray, periodic: np.ndarray) -> None:
        """One more sample."""
        _, _, apart = near_pairs(place, self.reach, np.where(periodic, self.box, np.inf))
        distance = np.sqrt(np.einsum("ni,ni->n", apart, apart))
        self.counts += np.histogram(distance, len(self.counts), (0.0, self.reach))[0]
        self.samples += 1

    def correlation(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Middles of the bins, and g(r): 1 where bodies are as frequent as on average."""
        shells = 4.0 / 3.0 * np.pi * np.diff(self.edges**3)
        pairs = 0.5 * n * (n - 1) / float(np.prod(self.box))
        return 0.5 * (self.edges[1:] + self.edges[:-1]), self.counts / np.maximum(self.samples, 1) / (shells * pairs)


def long_axes(axes: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """The axis of each body that differs most from the other two, in the lab.

    Balls have no such axis and are left out, unless there is nothing else: then it is one that turns with them.
    """
    long = np.ptp(axes, axis=1) > 0.0
    if long.any() and not long.all():
        axes, rotation = axes[long], rotation[long]
    middle = np.sort(axes, axis=1)[:, 1:2]
    pick = np.argmax(np.abs(axes - middle), axis=1)
    return np.take_along_axis(rotation, pick[:, None, None], axis=2)[:, :, 0]


def nematic_order(axis: np.ndarray) -> float:
    """S2: largest eigenvalue of the mean of (3 u u - 1) / 2; 1 for parallel axes, near 0 for random ones."""
    tensor = 1.5 * axis.T @ axis / len(axis) - 0.5 * np.eye(3)
    return float(np.linalg.eigvalsh(tensor)[-1])
