"""Newton's law of restitution."""

from __future__ import annotations

import equinox as eqx
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

    restitution: Array = eqx.field(converter=numbers)

    def __check_init__(self):
        checks.between("restitution", self.restitution, 0.0, 1.0)

    def lasting_restitution(self) -> Array:
        """The coefficient of every blow [-]."""
        return self.restitution

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        closing = jnp.minimum(velocity @ normal, 0.0)
        return -(1.0 + self.restitution) * closing / (normal @ mobility @ normal) * normal
