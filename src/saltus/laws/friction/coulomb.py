"""Coulomb's friction of a point contact."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from saltus import checks
from saltus.laws.friction.base import AbstractFrictionLaw, Number, Reaction, Tangent, direction, number


class Coulomb(AbstractFrictionLaw):
    """Force mu N against the slip, no moments: the limit of every spot law for radius 0.

    At rest the law is set-valued (any force up to mu N) and the result is zero.

    Args:
        mu: Friction coefficient, >= 0 [-].
    """

    mu: Number = eqx.field(converter=number)

    def __check_init__(self):
        checks.nonnegative("mu", self.mu)

    @property
    def plain(self) -> bool:
        """Whether the force is mu N at any speed, and not that of a subclass."""
        return type(self).reaction is Coulomb.reaction

    @property
    def proportional(self) -> bool:
        """Whether forces are proportional to the load; a subclass with forces of its own has to say so itself."""
        return self.plain

    def grip(self, speed: Number) -> Number:
        """Friction force per load at this speed: mu, also at none [-]."""
        return self.mu * jnp.ones_like(speed) if self.plain else super().grip(speed)

    def capacity(self, load: Number) -> Number:
        """Largest friction force at rest [N]."""
        return self.mu * jnp.asarray(load, float) if self.plain else super().capacity(load)

    def for_masses(self, n: int) -> AbstractFrictionLaw:
        """The law with a coefficient for each of n masses, from one for all or one per mass."""
        if not self.plain:
            return self
        if self.mu.shape not in ((), (n,)):
            raise ValueError(f"`law` must have one `mu` or {n}, one per mass, got {self.mu.size}.")
        return self.with_coefficient(jnp.broadcast_to(self.mu, (n,)))

    def radius(self, load: Number) -> Number:
        """Zero."""
        return jnp.zeros_like(load)

    def reaction(self, slip: Tangent, spin: Number, load: Number, rolling: Tangent | None = None) -> Reaction:
        """Force and moments on the body; see `AbstractFrictionLaw.reaction`."""
        slip, load = jnp.asarray(slip), jnp.asarray(load)
        force = -(self.mu * load)[..., None] * direction(slip)
        return Reaction(force, jnp.zeros_like(load * spin), jnp.zeros_like(force))
