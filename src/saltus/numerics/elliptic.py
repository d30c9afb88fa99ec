"""Carlson's symmetric elliptic integrals of known numbers, by duplication (Carlson 1995, Numer. Algorithms 10, 13-26).

Importing them from SciPy takes longer than most of what they are needed for.
"""

from __future__ import annotations

import math

NEAR = 1e-3  # relative spread of the arguments at which the series is left to give the rest: its error is NEAR**6


def rf(x: float, y: float, z: float) -> float:
    """Half the integral of 1 / sqrt((t + x) (t + y) (t + z)) over t > 0; at most one argument may be 0.

    >>> round(rf(0.0, 1.0, 1.0) - math.pi / 2, 15)
    0.0
    """
    while max(x, y, z) - min(x, y, z) > NEAR * (x + y + z):
        x, y, z = _halve(x, y, z)
    mean = (x + y + z) / 3.0
    dx, dy = 1.0 - x / mean, 1.0 - y / mean
    dz = -dx - dy
    e2, e3 = dx * dy - dz * dz, dx * dy * dz
    return (1.0 - e2 / 10.0 + e3 / 14.0 + e2 * e2 / 24.0 - 3.0 * e2 * e3 / 44.0) / math.sqrt(mean)


def rd(x: float, y: float, z: float) -> float:
    """As `rf`, three times, with one more factor t + z below; z > 0, and at most one of the others may be 0."""
    total, factor = 0.0, 1.0
    while max(x, y, z) - min(x, y, z) > NEAR * (x + y + z):
        near = math.sqrt(x * y) + math.sqrt(y * z) + math.sqrt(z * x)
        total += factor / (math.sqrt(z) * (z + near))
        factor *= 0.25
        x, y, z = _halve(x, y, z)
    mean = (x + y + 3.0 * z) / 5.0
    dx, dy = 1.0 - x / mean, 1.0 - y / mean
    dz = -(dx + dy) / 3.0
    square = dz * dz
    e2, e3 = dx * dy - 6.0 * square, (3.0 * dx * dy - 8.0 * square) * dz
    e4, e5 = 3.0 * (dx * dy - square) * square, dx * dy * dz * square
    series = 1.0 - 3.0 * e2 / 14.0 + e3 / 6.0 + 9.0 * e2 * e2 / 88.0 - 3.0 * e4 / 22.0 - 9.0 * e2 * e3 / 52.0
    return 3.0 * total + factor * (series + 3.0 * e5 / 26.0) / (mean * math.sqrt(mean))


def rg(x: float, y: float, z: float) -> float:
    """The mean of sqrt(x u^2 + y v^2 + z w^2) over unit vectors (u, v, w), to 1e-15 of it.

    >>> rg(4.0, 4.0, 4.0)
    2.0
    """
    low, middle, high = sorted((x, y, z))
    if middle == 0.0:
        return 0.5 * math.sqrt(high)
    # With the middle one in the last place no two terms cancel.
    rest = (high - middle) * (middle - low) * rd(low, high, middle) / 3.0
    return 0.5 * (middle * rf(low, high, middle) + rest + math.sqrt(low * (high / middle)))


def _halve(x: float, y: float, z: float) -> tuple[float, float, float]:
    """Arguments of the same integral that are four times as close to each other."""
    near = math.sqrt(x * y) + math.sqrt(y * z) + math.sqrt(z * x)
    return (x + near) / 4.0, (y + near) / 4.0, (z + near) / 4.0
