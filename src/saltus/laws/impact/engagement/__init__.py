"""Laws of the jerk by which a chain's next link is taken along over a table's edge."""

from saltus.laws.impact.engagement.base import AbstractEngagement, Engagement
from saltus.laws.impact.engagement.chosen import LAWS, ChosenEngagement
from saltus.laws.impact.engagement.frozen import FrozenEngagement
from saltus.laws.impact.engagement.limit import LimitEngagement
from saltus.laws.impact.engagement.plastic import PlasticEngagement
from saltus.laws.impact.engagement.printed import PrintedEngagement

ENGAGEMENTS = {law.name: law for law in LAWS}

__all__ = [
    "ENGAGEMENTS",
    "AbstractEngagement",
    "ChosenEngagement",
    "Engagement",
    "FrozenEngagement",
    "LimitEngagement",
    "PlasticEngagement",
    "PrintedEngagement",
]
