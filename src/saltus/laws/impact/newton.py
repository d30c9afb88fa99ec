"""Newton's law of restitution."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array

from saltus import checks
from saltus.laws.impact.base import AbstractImpactLaw
from saltus.programs.arrays import numbers


class Newton(AbstractImpactLaw):
    """Frictionless impact after which the bodies part with a fraction of their closing speed.

    Without friction the laws of Newton, Poisson and Stronge are one and the same; the energy lost
    is (1 - restitution^2) v^2 / (2 n . M n).

    Args:
        restitution: 0 (bodies do not part) to 1 (no loss) [-].
    """

    restitution: Array

    def __init__(self, restitution: Array | float):
        checks.between("restitution", restitution, 0.0, 1.0)
        self.restitution = numbers(restitution)

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        closing = jnp.minimum(velocity @ normal, 0.0)
        return -(1.0 + self.restitution) * closing / (normal @ mobility @ normal) * normal
