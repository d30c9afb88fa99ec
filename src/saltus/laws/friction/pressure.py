"""How the load is spread over a round contact spot, and the constants of friction that follow.

One family: pressure proportional to (1 - r^2/R^2)^(gamma - 2), with gamma = 5/2 for Hertz's elastic
contact, 2 for uniform pressure, 3/2 for a flat rigid punch, 3 for a paraboloid.
"""

from __future__ import annotations

import math

import equinox as eqx
from jaxtyping import Array, Float

from saltus import checks
from saltus.numerics.euler_integral import EulerIntegral, euler_integral
from saltus.numerics.hypergeometric import HypergeometricTable, tabulate
from saltus.programs.arrays import numbers

CONCENTRATED = 12.0  # exponent from which polynomials do not resolve the fast spin any more
EXPONENTS = {"hertz": 2.5, "uniform": 2.0, "punch": 1.5}


class TwoParts(eqx.Module):
    """Functions of concentrated pressure: those of little spin from a table, those of fast spin by quadrature."""

    slow: HypergeometricTable
    fast: EulerIntegral

    def __call__(self, x: Array) -> tuple[Array, ...]:
        """The values of all functions."""
        return (*self.slow(x), *self.fast(x))


class Pressure(eqx.Module):
    """A distribution of pressure with all that friction needs to know of it; build it with `pressure_of`.

    The numbers belong together and are not parameters to differentiate.

    Args:
        gamma: Exponent of the family.
        spin_torque: Torque of pure spin over mu N R: 3 pi / 16 for Hertz, 2/3 uniform, pi/4 punch (kappa_2).
        drag_slope: Slope of the force over mu N with slip / rim speed, for slow slip of a spinning spot (kappa_0 / 2).
        functions: 2F1(-1/2, 1/2; gamma), 2F1(1/2, 3/2; gamma + 2), 2F1(3/2 - gamma, 1/2; 2), 2F1(3/2 - gamma, 3/2; 3).
        slopes: 2F1(3/2, 5/2; gamma + 3), 2F1(5/2 - gamma, 5/2; 4), for the derivatives.
    """

    gamma: Float[Array, ""]
    spin_torque: Float[Array, ""]
    drag_slope: Float[Array, ""]
    functions: HypergeometricTable | TwoParts
    slopes: HypergeometricTable | TwoParts

    @property
    def centre_shift(self) -> Float[Array, ""]:
        """Displacement of the centre of pressure over R for a unit shift."""
        return 0.5 / self.gamma


def exponent(pressure: str | float) -> float:
    """Exponent gamma of a pressure given by name or by number.

    >>> exponent("hertz")
    2.5
    """
    if isinstance(pressure, str):
        checks.one_of("pressure", pressure, EXPONENTS)
        return EXPONENTS[pressure]
    gamma = float(pressure)
    if not 1.0 < gamma < math.inf:
        raise ValueError(
            f"`pressure` must be > 1 as an exponent gamma, got {gamma}. "
            "Give 'hertz' (2.5), 'uniform' (2), 'punch' (1.5) or another number."
        )
    return gamma


def pressure_of(pressure: str | float | Pressure) -> Pressure:
    """The pressure of this name or exponent; a `Pressure` is returned as it is."""
    if isinstance(pressure, Pressure):
        return pressure
    g = exponent(pressure)
    torque = _spin_torque(g)
    functions, slopes = _functions(g)
    return Pressure(
        gamma=numbers(g),
        spin_torque=numbers(torque),
        drag_slope=numbers(0.5 * (2.0 * g - 1.0) * torque),
        functions=functions,
        slopes=slopes,
    )


def _functions(g: float):
    slow, slow_slope = ((-0.5, 0.5, g), (0.5, 1.5, g + 2.0)), (1.5, 2.5, g + 3.0)
    if g > CONCENTRATED:
        return (
            TwoParts(tabulate(slow), euler_integral(g - 1.5, (0.5, 1.5))),
            TwoParts(tabulate((slow_slope,)), euler_integral(g - 2.5, (2.5,))),
        )
    return (
        tabulate((*slow, (1.5 - g, 0.5, 2.0), (1.5 - g, 1.5, 3.0))),
        tabulate((slow_slope, (2.5 - g, 2.5, 4.0))),
    )


def _spin_torque(gamma: float) -> float:
    """sqrt(pi) / 2 times the quotient of the gamma functions of gamma and gamma + 1/2."""
    if gamma < 150.0:
        quotient = math.gamma(gamma) / math.gamma(gamma + 0.5)
    else:
        x = 1.0 / gamma
        series = (1.0, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144)
        quotient = math.sqrt(x) / sum(c * x**k for k, c in enumerate(series))
    return 0.5 * math.sqrt(math.pi) * quotient
