"""How the load is spread over a round contact spot, and the constants of friction that follow.

One family: pressure proportional to (1 - r^2/R^2)^(gamma - 2), with gamma = 5/2 for Hertz's elastic
contact, 2 for uniform pressure, 3/2 for a flat rigid punch, 3 for a paraboloid.
"""

from __future__ import annotations

import math

from saltus import checks

EXPONENTS = {"hertz": 2.5, "uniform": 2.0, "punch": 1.5}


def exponent(pressure: str | float) -> float:
    """Exponent gamma of a pressure given by name or by number.

    >>> exponent("hertz")
    2.5
    """
    if isinstance(pressure, str):
        checks.one_of("pressure", pressure, EXPONENTS)
        return EXPONENTS[pressure]
    gamma = float(pressure)
    if not (math.isfinite(gamma) and gamma > 1.0):
        raise ValueError(
            f"`pressure` must be > 1 as an exponent gamma, got {gamma}. "
            "Give 'hertz' (2.5), 'uniform' (2), 'punch' (1.5) or another number > 1."
        )
    return gamma


def spin_torque(gamma: float) -> float:
    """Torque of pure spin over mu N R: kappa_2 = 3 pi / 16 for Hertz, 2/3 uniform, pi/4 punch."""
    if gamma < 150.0:
        return 0.5 * math.sqrt(math.pi) * math.gamma(gamma) / math.gamma(gamma + 0.5)
    return 0.5 * math.sqrt(math.pi) * math.exp(math.lgamma(gamma) - math.lgamma(gamma + 0.5))


def drag_slope(gamma: float) -> float:
    """Slope of the force over mu N with v/u for slow sliding of a spinning spot: kappa_0 / 2."""
    return 0.5 * (2.0 * gamma - 1.0) * spin_torque(gamma)


def centre_shift(gamma: float) -> float:
    """Displacement of the centre of pressure over R for a unit shift: 1 / (2 gamma)."""
    return 0.5 / gamma
