"""Impact with Coulomb friction and the restitution of Poisson or of Newton."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array

from saltus.laws.impact.base import AbstractRoughImpactLaw
from saltus.laws.impact.slip_process import Progress, impulse_with_slip


class Poisson(AbstractRoughImpactLaw):
    """Rough impact: Coulomb friction during the impact, kinetic restitution along the normal.

    The normal impulse after the greatest compression is `restitution` times that before. The slip process is that of
    `Stronge`; only its end differs. Where the impact turns the slip round, this law can gain energy; `Stronge` never
    does. Without friction, and for a ball, all three laws are one.

    Args:
        restitution: Kinetic coefficient, 0 to 1 [-].
        mu: Friction coefficient, >= 0 [-].

    References:
        Routh 1905, Dynamics of a System of Rigid Bodies, Elementary Part, 7th ed., Macmillan.
    """

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        def left(pressed: Progress, now: Progress) -> Array:
            return (1.0 + self.restitution) * pressed.impulse[2] - now.impulse[2]

        return impulse_with_slip(velocity, normal, mobility, self.mu, left)


class RoughNewton(AbstractRoughImpactLaw):
    """Rough impact: Coulomb friction during the impact, kinematic restitution along the normal.

    The contact points part with `restitution` times the normal speed with which they met. Can gain energy with
    friction, as Kane noticed; offered for comparison. Without friction it is `Newton`.

    Args:
        restitution: Kinematic coefficient, 0 to 1 [-].
        mu: Friction coefficient, >= 0 [-].
    """

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        parting = self.restitution * jnp.maximum(-(velocity @ normal), 0.0)

        def left(_: Progress, now: Progress) -> Array:
            return parting - now.velocity[2]

        return impulse_with_slip(velocity, normal, mobility, self.mu, left)
