"""Points and weights on the unit sphere."""

from __future__ import annotations

import numpy as np


def sphere_rule(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions (2 n^2, 3) and weights of a quadrature over the unit sphere.

    Gauss-Legendre in the height, equidistant in the angle: exact for polynomials of degree
    2 n - 1, so it converges exponentially for smooth integrands.
    """
    heights, weights = np.polynomial.legendre.leggauss(n)
    angles = (np.arange(2 * n) + 0.5) * np.pi / n
    z = np.repeat(heights, 2 * n)
    angle = np.tile(angles, n)
    ring = np.sqrt(1.0 - z * z)
    points = np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=1)
    return points, np.repeat(weights, 2 * n) * np.pi / n
