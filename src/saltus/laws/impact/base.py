"""What a law of impact decides."""

from __future__ import annotations

import abc
from typing import Self

import equinox as eqx
from jaxtyping import Array, Float

from saltus import checks
from saltus.programs.arrays import numbers


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

    @property
    def lossless(self) -> bool:
        """Whether no impact takes energy, by the form of the law and not by its numbers: losses are then exactly 0."""
        return False

    def with_coefficients(self, restitution: Float[Array, ""], mu: Float[Array, ""]) -> Self:
        """The law with other coefficients, such as those of the ground at a place."""
        if not (hasattr(self, "restitution") and hasattr(self, "mu")):
            raise TypeError(
                f"{type(self).__name__} has no `restitution` and `mu` that the ground could give. Use a law with both, "
                "such as Soil(0.4, 0.5)."
            )
        return eqx.tree_at(lambda law: (law.restitution, law.mu), self, (restitution, mu))

    def lasting_friction(self) -> Float[Array, ""]:
        """Friction coefficient of a contact that lasts [-]: that of the blows, 0 where they have none."""
        return numbers(0.0)

    def lasting_restitution(self) -> Float[Array, ""]:
        """Share of the closing speed that is left after each of a row of ever weaker blows [-]."""
        return numbers(1.0)


class AbstractRoughImpactLaw(AbstractImpactLaw):
    """Impact with Coulomb friction.

    Args:
        restitution: 0 (bodies do not part) to 1 [-]; each law says of what.
        mu: Friction coefficient, >= 0 [-].
    """

    restitution: Array = eqx.field(converter=numbers)
    mu: Array = eqx.field(converter=numbers)

    def __check_init__(self):
        checks.between("restitution", self.restitution, 0.0, 1.0)
        checks.nonnegative("mu", self.mu)

    def lasting_friction(self) -> Float[Array, ""]:
        """The coefficient of the blows [-]."""
        return self.mu

    def lasting_restitution(self) -> Float[Array, ""]:
        """The coefficient of weak blows [-]."""
        return self.restitution
