"""Equations of state to compare with."""

from __future__ import annotations

import numpy as np

from saltus.systems.gas.sizes import excluded_volume


def carnahan_starling(fraction):
    """Compressibility factor of hard spheres (Carnahan and Starling 1969); within 0.3 % of simulations up to 0.49."""
    x = np.asarray(fraction, float)
    return (1.0 + x + x**2 - x**3) / (1.0 - x) ** 3


def second_virial(axes) -> float:
    """B2 over the volume of the body, for ellipsoids of one kind: 4 for spheres, exact (Isihara 1950).

    The same for a prolate and an oblate body of inverse ratio of axes.
    """
    axes = np.asarray(axes, float)
    return 0.5 * excluded_volume(axes[None]) / (4.0 / 3.0 * np.pi * float(np.prod(axes)))


def parsons_lee(fraction, axes):
    """Compressibility factor of an isotropic fluid of ellipsoids: that of spheres with the excess scaled by B2.

    Parsons 1979 and Lee 1987; measured against simulations here within 4 % up to 3:1 and 0.3.
    """
    return 1.0 + (carnahan_starling(fraction) - 1.0) * second_virial(axes) / 4.0


def dilute_collision_rate(axes, samples: int = 1 << 18, seed: int = 0) -> tuple[float, float]:
    """Collisions per body and time over the number density, as the density goes to zero, and its standard error.

    For homogeneous ellipsoids of mass 1 at kT = 1 with smooth surfaces. A pair that touches with normal n has the
    surface element det(W1 + W2) of its excluded body per solid angle of n, W being the curvature radii, and its contact
    points approach with a normal speed of variance n . M n, M being their mobility; random orientations are drawn.
    """
    axes = np.asarray(axes, float)
    if len(set(axes.tolist())) == 1:
        return float(4.0 * np.sqrt(np.pi) * (2.0 * axes[0]) ** 2), 0.0
    random = np.random.default_rng(seed)
    inertia = (np.sum(axes**2) - axes**2) / 5.0
    radii, variance = np.zeros((samples, 3, 3)), np.full(samples, 2.0)
    for _ in range(2):
        normal = random.standard_normal((samples, 3))
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        support = np.sqrt(np.sum((normal * axes) ** 2, axis=1))
        point = normal * axes**2 / support[:, None]
        curved = (np.diag(axes**2) - point[:, :, None] * point[:, None, :]) / support[:, None, None]
        radii += _about(normal, curved, random)
        variance += np.sum(np.cross(point, normal) ** 2 / inertia, axis=1)
    areas = radii[:, 0, 0] * radii[:, 1, 1] - radii[:, 0, 1] ** 2
    rates = 4.0 * np.pi * areas * np.sqrt(variance / (2.0 * np.pi))
    return float(rates.mean()), float(rates.std() / np.sqrt(samples))


def _about(normal: np.ndarray, tensor: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A tensor of the tangent plane in a basis whose third vector is the normal and whose first is random."""
    first = random.standard_normal(normal.shape)
    first -= np.sum(first * normal, axis=1, keepdims=True) * normal
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    basis = np.stack([first, np.cross(normal, first), normal], axis=2)
    return np.swapaxes(basis, 1, 2) @ tensor @ basis
