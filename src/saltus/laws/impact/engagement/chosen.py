"""A law of the jerk chosen by a number: one compiled program for all of them."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

from saltus import checks
from saltus.laws.impact.engagement.base import AbstractEngagement, Engagement, as_floats
from saltus.laws.impact.engagement.frozen import FrozenEngagement
from saltus.laws.impact.engagement.limit import LimitEngagement
from saltus.laws.impact.engagement.plastic import PlasticEngagement
from saltus.laws.impact.engagement.printed import PrintedEngagement

LAWS = (LimitEngagement, PlasticEngagement, PrintedEngagement, FrozenEngagement)
NAMES = tuple(law.name for law in LAWS)


class ChosenEngagement(AbstractEngagement):
    """One of the four laws, as data: chains that differ in their law share what is compiled.

    >>> law = ChosenEngagement("plastic")
    >>> law.name
    'plastic'

    Args:
        law: Name of the law.
    """

    number: Int[Array, ""]

    def __init__(self, law: str):
        checks.one_of("law", law, NAMES)
        self.number = jnp.asarray(NAMES.index(law))

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Name of the law that is chosen."""
        return NAMES[int(self.number)]

    @property
    def creates_energy(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the law that is chosen creates energy."""
        return LAWS[int(self.number)].creates_energy

    def __call__(self, angle, table_mass, response, edge_friction=0.0) -> Engagement:
        return lax.switch(self.number, [law() for law in LAWS], *as_floats(angle, table_mass, response, edge_friction))
