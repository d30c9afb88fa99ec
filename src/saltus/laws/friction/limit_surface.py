"""What friction can bear at rest: the closed convex set of force and torque of a contact spot."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from saltus import checks
from saltus.laws.friction.base import Number, Tangent
from saltus.laws.friction.combined import Combined
from saltus.laws.friction.pressure import Pressure
from saltus.laws.friction.spot import coupling

_HALVINGS = 52  # of the angle between slip and spin: down to rounding level


class LimitSurface(eqx.Module):
    """The set of friction forces and torques that a spot at rest can bear.

    Its boundary is what friction gives in motion, and the motion that begins there is along its outward normal
    (maximal dissipation): this is all that stick tests and quasi-static pushing need. Symmetric pressure only:
    at rest nothing shifts it.

    Args:
        law: Exact law of the contact, with a spot radius > 0.
    """

    law: Combined

    def __check_init__(self):
        if not isinstance(self.law, Combined):
            raise TypeError(f"The limit surface needs the law `Combined`, got {type(self.law).__name__}.")
        checks.positive("spot_radius", self.law.spot_radius, "A point contact bears any force up to mu N, no torque.")
        checks.positive("mu", self.law.mu, "Without friction nothing is borne.")

    def boundary(self, load: Number = 1.0, n: int = 181) -> tuple[Array, Array]:
        """`n` points of the boundary from pure force to pure torque: size of the force [N], torque [N m]."""
        angle = jnp.linspace(0.0, jnp.pi / 2, n)
        slip, rim = jnp.cos(angle), jnp.sin(angle)
        share = coupling(self.law.pressure, slip * slip, rim)
        strength = self.law.mu * load
        return strength * share.drag * slip, strength * self.law.radius(jnp.asarray(load)) * share.twist

    def use(self, force: Tangent, torque: Number, load: Number) -> Number:
        """Share of the friction that is used: < 1 inside the set (the contact holds), 1 on its boundary.

        Homogeneous of degree one; differentiable wherever force or torque is not zero.
        """
        force, torque, load = jnp.asarray(force, float), jnp.asarray(torque, float), jnp.asarray(load, float)
        strength = self.law.mu * load
        square = jnp.sum(force * force, -1)
        some = square > 0.0
        size = jnp.where(some, jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
        return _gauge(self.law.pressure, size / strength, torque / (strength * self.law.radius(load)))

    def holds(self, force: Tangent, torque: Number, load: Number) -> Bool[Array, "..."]:
        """Whether a contact at rest can give this force and torque."""
        return self.use(force, torque, load) <= 1.0

    def motion(self, force: Tangent, torque: Number, load: Number) -> tuple[Tangent, Number]:
        """Direction in which a body pushed with this force and torque begins to move: slip and spin.

        `force` and `torque` are the applied ones (against friction), of any size. Scaled so that
        |slip|^2 + (radius spin)^2 = 1.
        """
        force, torque, load = jnp.asarray(force, float), jnp.asarray(torque, float), jnp.asarray(load, float)
        radius = self.law.radius(load)
        size = jnp.sqrt(jnp.sum(force * force, -1))
        angle = _angle(self.law.pressure, size, jnp.abs(torque) / radius)
        unit = jnp.where(size > 0.0, 1.0 / jnp.where(size > 0.0, size, 1.0), 0.0)
        return (jnp.cos(angle) * unit)[..., None] * force, jnp.sin(angle) * jnp.sign(torque) / radius


def _angle(pressure: Pressure, force: Number, torque: Number) -> Number:
    """Angle atan(rim speed / slip) of the boundary point on the ray through (force, torque), both >= 0."""

    def excess(angle):
        slip, rim = jnp.cos(angle), jnp.sin(angle)
        share = coupling(pressure, slip * slip, rim)
        return force * share.twist - torque * share.drag * slip

    def halve(_, ends):
        low, high = ends
        middle = 0.5 * (low + high)
        above = excess(middle) > 0.0
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    ends = jnp.zeros_like(force + torque), jnp.full_like(force + torque, jnp.pi / 2)
    low, _ = jax.lax.fori_loop(0, _HALVINGS, halve, ends)
    # The ends themselves are never reached by halving.
    low = jnp.where(torque <= 0.0, 0.0, low)
    return jnp.where(force <= 0.0, jnp.pi / 2, low)


@jax.custom_jvp
def _gauge(pressure: Pressure, force: Number, torque: Number) -> Number:
    """Factor by which (force, torque) exceeds the boundary on its ray; even in the torque."""
    return _gauge_and_normal(pressure, force, torque)[0]


@_gauge.defjvp
def _gauge_jvp(primals, tangents):
    value, slip, rim = _gauge_and_normal(*primals)
    return value, slip * tangents[1] + rim * tangents[2]


def _gauge_and_normal(pressure: Pressure, force: Number, torque: Number) -> tuple[Number, Number, Number]:
    """The factor and its gradient: the motion (slip, rim speed) that dissipates at unit power on the boundary."""
    angle = _angle(pressure, force, jnp.abs(torque))
    slip, rim = jnp.cos(angle), jnp.sin(angle) * jnp.where(torque < 0.0, -1.0, 1.0)
    share = coupling(pressure, slip * slip, rim)
    power = share.drag * slip * slip + share.twist * rim
    return (force * slip + torque * rim) / power, slip / power, rim / power
