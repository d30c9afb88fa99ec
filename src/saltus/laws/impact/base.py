"""What a law of impact decides."""

from __future__ import annotations

import abc

import equinox as eqx
from jaxtyping import Array, Float


class AbstractImpactLaw(eqx.Module):
    """The impulse between two bodies that meet in one point."""

    @abc.abstractmethod
    def impulse(
        self, velocity: Float[Array, " 3"], normal: Float[Array, " 3"], mobility: Float[Array, "3 3"]
    ) -> Float[Array, " 3"]:
        """Impulse on the second body [N s]; minus it acts on the first.

        Zero if the bodies are already leaving each other.

        Args:
            velocity: Velocity of the second body's contact point relative to the first's [m s-1].
            normal: Outward unit normal of the first body.
            mobility: Change of that velocity per impulse; symmetric and positive [kg-1].
        """
