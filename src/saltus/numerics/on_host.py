"""Roots, interpolation and rotations by NumPy: SciPy's take half a second to load, JAX's are compiled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MOST_STEPS = 120  # bisection alone needs about 60


def root_between(function: Callable[[float], float], low: float, high: float, xtol: float, rtol: float) -> float:
    """The zero between two points at which the function has opposite signs; Chandrupatla's method.

    Args:
        function: Of one number.
        low: Lower end.
        high: Upper end.
        xtol: Width of the bracket at which the search ends, absolute.
        rtol: The same, relative to the zero.
    """
    a, b, fa, fb = high, low, function(high), function(low)
    if fa == 0.0 or fb == 0.0:
        return a if fa == 0.0 else b
    if (fa > 0.0) == (fb > 0.0):
        raise ValueError(f"The function has the same sign at {low} and {high}.")
    part = 0.5
    for _ in range(MOST_STEPS):
        x = a + part * (b - a)
        value = function(x)
        same = (value > 0.0) == (fa > 0.0)
        c, fc = (a, fa) if same else (b, fb)
        b, fb = (b, fb) if same else (a, fa)
        a, fa = x, value
        best, least = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        nearest = 0.5 * (xtol + rtol * abs(best)) / abs(b - a) if b != a else 1.0
        if least == 0.0 or nearest > 0.5:
            return best
        part = min(max(_next_part((a, b, c), (fa, fb, fc)), nearest), 1.0 - nearest)
    return best


def _next_part(places: tuple[float, float, float], values: tuple[float, float, float]) -> float:
    """Where to look next between a and b: inverse quadratic where it is safe, else in the middle."""
    (a, b, c), (fa, fb, fc) = places, values
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    if not (phi**2 < xi and (1.0 - phi) ** 2 < 1.0 - xi):
        return 0.5
    return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)


class Interpolation:
    """The polynomial through values with given slopes (Hermite), by divided differences.

    Args:
        places: Where they are given, all different.
        values: One row for each.
        slopes: Derivatives there.
    """

    def __init__(self, places: np.ndarray, values: np.ndarray, slopes: np.ndarray):
        self.nodes = np.repeat(np.asarray(places, float), 2)
        table = np.repeat(np.asarray(values, float), 2, axis=0)
        count = len(self.nodes)
        self.coefficients = [table[0]]
        for order in range(1, count):
            wide = (self.nodes[order:] - self.nodes[: count - order])[:, None]
            known = table[1:] - table[:-1]
            if order == 1:
                known[::2] = slopes
                wide[::2] = 1.0
            table = known / wide
            self.coefficients.append(table[0])

    def __call__(self, x: float | np.ndarray) -> np.ndarray:
        """The values at a place, or at several: one row for each."""
        x = np.asarray(x, float)[..., None]
        found = self.coefficients[-1]
        for coefficient, node in zip(self.coefficients[-2::-1], self.nodes[-2::-1], strict=True):
            found = coefficient + (x - node) * found
        return found


def rotation_matrices(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3), body to lab, of unit quaternions (..., 4) = w, x, y, z."""
    w, x, y, z = np.moveaxis(np.asarray(quaternion, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
