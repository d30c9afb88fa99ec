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
