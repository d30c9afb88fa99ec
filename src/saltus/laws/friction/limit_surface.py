"""The limit surface of a spot: what friction can bear at rest, for any load."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from saltus import checks
from saltus.laws.friction.base import Number, Tangent
from saltus.laws.friction.combined import Combined
from saltus.laws.friction.spot import coupling


class LimitSurface(eqx.Module):
    """The set of friction forces and torques that a spot at rest can bear.

    Its boundary is what friction gives in motion, and the motion that begins there is along its outward normal
    (maximal dissipation): this is all that stick tests and quasi-static pushing need. Symmetric pressure only:
    at rest nothing shifts it. `law.limit(load)` is the same set for one load, of any law.

    Args:
        law: Exact law of the contact, with a spot radius > 0.
    """

    law: Combined

    def __check_init__(self):
        if not isinstance(self.law, Combined):
            raise TypeError(f"The limit surface needs the law `Combined`, got {type(self.law).__name__}.")
        checks.positive("spot_radius", self.law.spot_radius, "A point contact bears any force up to mu N, no torque.")
        checks.positive("mu", self.law.mu, "Without friction nothing is borne.")

    def boundary(self, load: Number | float = 1.0, n: int = 181) -> tuple[Array, Array]:
        """`n` points of the boundary from pure force to pure torque: size of the force [N], torque [N m]."""
        angle = jnp.linspace(0.0, jnp.pi / 2, n)
        slip, rim = jnp.cos(angle), jnp.sin(angle)
        share = coupling(self.law.pressure, slip * slip, rim)
        limit = self.law.limit(jnp.asarray(load, float))
        return limit.capacity * share.drag * slip, limit.capacity * limit.radius * share.twist

    def use(self, force: Tangent, torque: Number, load: Number) -> Number:
        """Share of the friction that is used: < 1 inside the set (the contact holds), 1 on its boundary.

        Homogeneous of degree one; differentiable wherever force or torque is not zero.
        """
        return self.law.limit(load).use(force, torque)

    def holds(self, force: Tangent, torque: Number, load: Number) -> Bool[Array, "..."]:
        """Whether a contact at rest can give this force and torque."""
        return self.law.limit(load).holds(force, torque)

    def motion(self, force: Tangent, torque: Number, load: Number) -> tuple[Tangent, Number]:
        """Direction in which a body pushed with this force and torque begins to move: slip and spin.

        `force` and `torque` are the applied ones (against friction), of any size. Scaled so that
        |slip|^2 + (radius spin)^2 = 1.
        """
        return self.law.limit(load).motion(force, torque)
