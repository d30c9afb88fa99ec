"""Exact friction of a spot that slides, spins and rolls at once."""

from __future__ import annotations

from saltus.laws.friction import spot
from saltus.laws.friction.base import AbstractSpotLaw, Number


class Combined(AbstractSpotLaw):
    """Coulomb's law integrated over a round contact spot, exactly (Contensou, Zhuravlev, Kireenkov).

    Spin weakens the resistance to sliding and sliding the resistance to spin: a polisher drifts
    sideways easily while it turns. Near zero slip a spinning spot resists like a viscous one, so it
    creeps and cannot stick. Absolute error below 1e-15 of mu N and mu N R for every ratio of spin to
    slip, with exact first derivatives.

    Args:
        mu: Friction coefficient, >= 0 [-].
        spot_radius: Radius of the spot, >= 0 [m]; 0 is a point contact (Coulomb).
        pressure: "hertz", "uniform", "punch" or an exponent gamma > 1.
        sliding_shift: Shift of the pressure along the slip, as a share of the largest possible [-].
        rolling_shift: Shift of the pressure along the rolling direction, 0 to 1 [-]; gives rolling resistance.
        reference_load: If given, the radius grows with the cube root of load / reference_load (Hertz) [N].

    References:
        Contensou 1963; Zhuravlev 1998, J. Appl. Math. Mech. 62(5), 705-710; Kireenkov 2021, COUPLED PROBLEMS.
    """

    def coupling(self, slip_square: Number, rim_speed: Number) -> spot.Coupling:
        """The exact integrals over the spot."""
        return spot.coupling(self.pressure, slip_square, rim_speed)
