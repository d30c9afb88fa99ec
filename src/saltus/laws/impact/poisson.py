"""Impact with Coulomb friction and the restitution of Poisson or of Newton."""

from __future__ import annotations

from jaxtyping import Array

from saltus.laws.impact.base import AbstractRoughImpactLaw
from saltus.laws.impact.stronge import SlipProcess


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
        process = SlipProcess.of(velocity, normal, mobility, self.mu)
        whole = (1.0 + self.restitution) * process.pressed.impulse[2]
        return process.until(lambda progress: whole - progress.impulse[2])


class RoughNewton(AbstractRoughImpactLaw):
    """Rough impact: Coulomb friction during the impact, kinematic restitution along the normal.

    The contact points part with `restitution` times the normal speed with which they met. Can gain energy with
    friction, as Kane noticed; offered for comparison. Without friction it is `Newton`.

    Args:
        restitution: Kinematic coefficient, 0 to 1 [-].
        mu: Friction coefficient, >= 0 [-].
    """

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        process = SlipProcess.of(velocity, normal, mobility, self.mu)
        parting = -self.restitution * process.start[2]
        return process.until(lambda progress: parting - progress.velocity[2])
