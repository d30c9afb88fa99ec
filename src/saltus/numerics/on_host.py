"""What NumPy does where SciPy would take half a second to load, and JAX would compile: roots, rotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MOST_STEPS = 120  # bisection alone needs about 60
LEAST = 1e-300  # width of a bracket that has closed


def library(*values: Any) -> Any:
    """What computes with these arrays: NumPy, where all are its own or plain numbers; else JAX's NumPy."""
    if all(isinstance(value, np.ndarray | np.generic | float | int) for value in values):
        return np
    import jax.numpy as jnp

    return jnp


def root_between(function: Callable[[Any], Any], low: Any, high: Any, xtol: float, rtol: float) -> Any:
    """The zero between two points at which the function has opposite signs; Chandrupatla's method.

    Args:
        function: Of one number, or of an array number by number.
        low: Lower end; an array where several zeros are wanted.
        high: Upper end.
        xtol: Width of the bracket at which the search ends, absolute.
        rtol: The same, relative to the zero.
    """
    a, b, fa, fb = high, low, function(high), function(low)
    if np.any((np.sign(fa) * np.sign(fb)) > 0.0):
        raise ValueError(f"The function has the same sign at {low} and {high}.")
    best, part, found = np.where(fa == 0.0, a, b), 0.5, (fa == 0.0) | (fb == 0.0)
    for _ in range(MOST_STEPS):
        if np.all(found):
            break
        x = np.where(found, best, a + part * (b - a))[()]
        value = function(x)
        same = (value > 0.0) == (fa > 0.0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, value
        nearer = np.abs(fa) < np.abs(fb)
        best = np.where(found, best, np.where(nearer, a, b))
        nearest = 0.5 * (xtol + rtol * np.abs(best)) / np.maximum(np.abs(b - a), LEAST)
        found = found | (np.where(nearer, fa, fb) == 0.0) | (nearest > 0.5)
        part = np.clip(_next_part((a, b, c), (fa, fb, fc)), np.minimum(nearest, 0.5), np.maximum(1.0 - nearest, 0.5))
    return best[()]


def _next_part(places: tuple, values: tuple) -> np.ndarray:
    """Where to look next between a and b: inverse quadratic where it is safe, else in the middle."""
    (a, b, c), (fa, fb, fc) = places, values
    with np.errstate(all="ignore"):  # where a zero was found already
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        part = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        return np.where((phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi), part, 0.5)


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


def quaternion_rates(quaternion: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Time derivatives of stacked quaternions, body to lab, for lab angular velocities `omega`."""
    scalar, vector = quaternion[:, :1], quaternion[:, 1:]
    along = -np.sum(omega * vector, axis=-1, keepdims=True)
    return 0.5 * np.concatenate([along, scalar * omega + np.cross(omega, vector)], axis=-1)
