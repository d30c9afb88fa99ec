"""Impact on soft ground."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from saltus import checks
from saltus.laws.impact.base import AbstractRoughImpactLaw
from saltus.numerics.components import Sym, Vec
from saltus.programs.arrays import numbers

REFERENCE_SPEED = 9.144  # [m/s], 30 ft/s


class Soil(AbstractRoughImpactLaw):
    """Rough impact on ground that gives way the more, the harder it is hit.

    The restitution falls with the normal speed v and with the mass m that the ground feels at the contact (for a
    ball its mass, less for an impact beside the centre of mass):

        e = restitution / (1 + (m / reference_mass) (v / reference_speed)^2).

    For blocks of the reference mass this is the velocity scaling of Pfeiffer and Bowen, with their speed of 30 ft/s.
    That the mass enters as the energy m v^2 does is a closure of this library, not theirs: it makes restitution a
    function of the impact's energy alone, as craters are. Friction is the algebraic law of Chatterjee and Ruina: the
    tangential impulse would stop the slip (tangential_restitution 0) unless it exceeds mu times the normal impulse.
    No choice of numbers gains energy, and the impulse follows in closed form.

    Args:
        restitution: For slow impacts, 0 to 1 [-].
        mu: Friction coefficient, >= 0 [-].
        reference_speed: Normal speed at which a block of the reference mass has half the restitution, > 0 [m/s].
        reference_mass: > 0 [kg].
        tangential_restitution: Share of the slip that is reversed where friction could stop it, -1 to 1 [-];
            -1 is no friction, 0 stops the slip.

    References:
        Pfeiffer & Bowen 1989, Computer simulation of rockfalls, Bull. Assoc. Eng. Geol. 26(1), 135-146;
        Chatterjee & Ruina 1998, A new algebraic rigid-body collision law based on impulse space considerations,
        J. Appl. Mech. 65, 939-951.
    """

    reference_speed: Array = eqx.field(converter=numbers, default=REFERENCE_SPEED, kw_only=True)
    reference_mass: Array = eqx.field(converter=numbers, default=1000.0, kw_only=True)
    tangential_restitution: Array = eqx.field(converter=numbers, default=0.0, kw_only=True)

    def __check_init__(self):
        checks.positive("reference_speed", self.reference_speed)
        checks.positive("reference_mass", self.reference_mass)
        checks.between("tangential_restitution", self.tangential_restitution, -1.0, 1.0)

    def restitution_of(self, closing: Array, mass: Array) -> Array:
        """Restitution for this normal speed [m/s] and this mass at the contact [kg]."""
        return self.restitution / (1.0 + mass / self.reference_mass * (closing / self.reference_speed) ** 2)

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        closing = -velocity @ normal
        mass = 1.0 / (normal @ mobility @ normal)
        # Without friction and rebound; and with all motion of the contact stopped.
        plain = mass * closing * normal
        stopping = -Sym.of(mobility).solve(Vec.of(velocity)).array()
        pushed = (1.0 + self.restitution_of(closing, mass)) * plain
        rub = stopping - plain
        share = jnp.minimum(1.0 + self.tangential_restitution, self._share(pushed @ normal, rub, normal))
        return jnp.where(closing > 0.0, pushed + share * rub, 0.0)

    def _share(self, press: Array, rub: Array, normal: Array) -> Array:
        """How much of `rub` friction can give: |tangential| = mu normal, for press + share rub along the normal."""
        lift = rub @ normal
        across = rub - lift * normal
        size = jnp.sqrt(jnp.maximum(jnp.sum(across * across), 1e-300))
        room = size - self.mu * lift
        return jnp.where(room > 0.0, self.mu * press / jnp.where(room > 0.0, room, 1.0), jnp.inf)
