"""Laws of impact: from the velocities at a contact to the impulse."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.laws.impact.base import AbstractImpactLaw
    from saltus.laws.impact.elastic import Elastic
    from saltus.laws.impact.newton import Newton
    from saltus.laws.impact.poisson import Poisson, RoughNewton
    from saltus.laws.impact.soil import Soil
    from saltus.laws.impact.stronge import Stronge

__all__ = ["AbstractImpactLaw", "Elastic", "Newton", "Poisson", "RoughNewton", "Soil", "Stronge"]

__getattr__, __dir__ = late(
    __name__,
    {
        "base": ("AbstractImpactLaw",),
        "elastic": ("Elastic",),
        "newton": ("Newton",),
        "poisson": ("Poisson", "RoughNewton"),
        "soil": ("Soil",),
        "stronge": ("Stronge",),
    },
)
