"""A friction law of which only a share acts."""

from __future__ import annotations

import jax.numpy as jnp

from saltus.laws.friction.base import AbstractFrictionLaw, Number, Reaction, Tangent


class WeakenedFriction(AbstractFrictionLaw):
    """A share of the friction of another law; with 0 for one of many contacts, that one is smooth.

    Args:
        law: The other law.
        share: Share of its forces and moments, >= 0 [-].
    """

    law: AbstractFrictionLaw
    share: Number

    @property
    def proportional(self) -> bool:
        """As the other law."""
        return self.law.proportional

    def radius(self, load: Number) -> Number:
        """That of the other law."""
        return self.law.radius(load)

    def grip(self, speed: Number) -> Number:
        """The share of the other law's."""
        return self.share * self.law.grip(speed)

    def capacity(self, load: Number) -> Number:
        """The share of the other law's."""
        return self.share * self.law.capacity(load)

    def reaction(self, slip: Tangent, spin: Number, load: Number, rolling: Tangent | None = None) -> Reaction:
        """The share of the other law's."""
        whole, share = self.law.reaction(slip, spin, load, rolling), jnp.asarray(self.share)
        each = share[..., None]
        return Reaction(whole.force * each, whole.spin_torque * share, whole.rolling_moment * each)
