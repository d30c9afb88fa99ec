"""Laws of impact: from the velocities at a contact to the impulse."""

from saltus.laws.impact.base import AbstractImpactLaw
from saltus.laws.impact.elastic import Elastic
from saltus.laws.impact.newton import Newton
from saltus.laws.impact.poisson import Poisson, RoughNewton
from saltus.laws.impact.soil import Soil
from saltus.laws.impact.stronge import Stronge

__all__ = ["AbstractImpactLaw", "Elastic", "Newton", "Poisson", "RoughNewton", "Soil", "Stronge"]
