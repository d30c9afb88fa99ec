"""Both links inelastic at once."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import lax

from saltus.laws.impact.engagement.base import AbstractEngagement, Engagement, as_floats
from saltus.numerics.differentiable import by_forward_jacobian

SWEEPS = 60  # Newton needs six; the rest lets bisection close any bracket


class PlasticEngagement(AbstractEngagement):
    """One plastic impulse in the new link and one over the edge, along the direction of the final motion.

    Consistent (it never creates energy) and cheap: one scalar equation. Within 0.25 % of `limit` in
    the time a chain needs to leave the table.
    """

    name: ClassVar[str] = "plastic"

    def __call__(self, angle, table_mass, response) -> Engagement:
        return Engagement.of(_plastic(*as_floats(angle, table_mass, response)))


@by_forward_jacobian
def _plastic(angle, table_mass, response):
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    lengthening = 2 * jnp.sin((jnp.pi / 2 - angle) / 2) ** 2  # 1 - sin(angle)

    def pulled(impulse):
        """Momentum (per mass) with the link's impulse alone, its size, and size - 1 without cancellation."""
        size = jnp.sqrt((impulse * cosine) ** 2 + (1 + impulse * sine) ** 2)
        return size, impulse * (impulse + 2 * sine) / (1 + size)

    def mismatch(impulse):
        """Rate at which the link still lengthens, and its derivative; strictly falling in the impulse."""
        size, _ = pulled(impulse)
        share = (table_mass / size + 1) / (1 + table_mass)
        value = 1 - response * impulse - share * (impulse + sine)
        slope = -response - (1 + table_mass * cosine**2 / size**3) / (1 + table_mass)
        return value, slope

    def sweep(_, carry):
        low, high, impulse = carry
        value, slope = mismatch(impulse)
        low, high = jnp.where(value > 0, impulse, low), jnp.where(value > 0, high, impulse)
        newton = impulse - value / slope
        inside = (newton >= low) & (newton <= high)
        return low, high, jnp.where(inside, newton, (low + high) / 2)

    most = lengthening / response
    guess = lengthening / (1 + response)
    _, _, impulse = lax.fori_loop(0, SWEEPS, sweep, (jnp.zeros_like(most), most, guess))
    size, excess = pulled(impulse)
    share = (table_mass / size + 1) / (1 + table_mass)
    gain = excess * (1 + excess / (2 * (1 + table_mass)))
    loss = impulse - response * impulse**2 / 2 - gain
    return jnp.stack([impulse, share * impulse * cosine, share * (1 + impulse * sine), loss])
