"""Friction laws of one contact."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.laws.friction.approximations import FirstOrder, PowerNorm, SecondOrder
    from saltus.laws.friction.base import AbstractFrictionLaw, AbstractSpotLaw, Reaction
    from saltus.laws.friction.combined import Combined
    from saltus.laws.friction.compare import LargestError, maximal_errors
    from saltus.laws.friction.cone import EllipticCone
    from saltus.laws.friction.coulomb import Coulomb
    from saltus.laws.friction.limit import PointLimit, SpotLimit
    from saltus.laws.friction.limit_surface import LimitSurface
    from saltus.laws.friction.pade import Pade
    from saltus.laws.friction.pressure import Pressure, pressure_of
    from saltus.laws.friction.spot import SpotFunctions, spot_functions

__all__ = [
    "AbstractFrictionLaw",
    "AbstractSpotLaw",
    "Combined",
    "Coulomb",
    "EllipticCone",
    "FirstOrder",
    "LargestError",
    "LimitSurface",
    "Pade",
    "PointLimit",
    "PowerNorm",
    "Pressure",
    "Reaction",
    "SecondOrder",
    "SpotFunctions",
    "SpotLimit",
    "maximal_errors",
    "pressure_of",
    "spot_functions",
]

__getattr__, __dir__ = late(
    __name__,
    {
        "approximations": ("FirstOrder", "PowerNorm", "SecondOrder"),
        "base": ("AbstractFrictionLaw", "AbstractSpotLaw", "Reaction"),
        "combined": ("Combined",),
        "compare": ("LargestError", "maximal_errors"),
        "cone": ("EllipticCone",),
        "coulomb": ("Coulomb",),
        "limit": ("PointLimit", "SpotLimit"),
        "limit_surface": ("LimitSurface",),
        "pade": ("Pade",),
        "pressure": ("Pressure", "pressure_of"),
        "spot": ("SpotFunctions", "spot_functions"),
    },
)
