"""Impact with Coulomb friction and Stronge's energetic restitution."""

from __future__ import annotations

from jaxtyping import Array

from saltus.laws.impact.base import AbstractRoughImpactLaw
from saltus.laws.impact.slip_process import Progress, impulse_with_slip


class Stronge(AbstractRoughImpactLaw):
    """Rough impact: Coulomb friction during the impact, energetic restitution along the normal.

    The contact force builds up over a very short time; its friction part opposes the slip of the
    moment, which turns and may stop and restart on the way. The work of the normal force
    regained after the greatest compression is restitution^2 of that spent before, so no choice of numbers ever
    gains energy (Newton's and Poisson's laws can, with friction).

    Args:
        restitution: Energetic coefficient, 0 to 1 [-].
        mu: Friction coefficient, >= 0 [-].

    References:
        Stronge 1990, Proc. R. Soc. Lond. A 431, 169-181; Keller 1986, J. Appl. Mech. 53, 1-4.
    """

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        def left(pressed: Progress, now: Progress) -> Array:
            return (1.0 - self.restitution**2) * pressed.work - now.work

        return impulse_with_slip(velocity, normal, mobility, self.mu, left)
