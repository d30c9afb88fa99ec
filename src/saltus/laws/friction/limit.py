"""What a contact at rest can bear under a given load: forces of a point, forces and torques of a spot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float

from saltus.laws.friction.pressure import Pressure
from saltus.laws.friction.spot import coupling
from saltus.numerics.roots import bisect

if TYPE_CHECKING:
    Number = Tangent = Array  # what they are inside; plain numbers and lists are welcome
else:
    Number = Float[ArrayLike, "..."]
    Tangent = Float[ArrayLike, "... 2"]

LEAST = 1e-100  # stands for none in a denominator, in SI units: derivatives ask for its square, which is a number yet
_HALVINGS = 52  # of the angle between slip and spin: down to rounding level


class PointLimit(eqx.Module):
    """A point contact at rest bears any force up to its capacity, and no torque.

    Args:
        capacity: Largest friction force [N].
    """

    capacity: Number

    def use(self, force: Tangent, torque: Number) -> Number:
        """Share of the friction that is used: < 1 where the contact holds, 1 at its limit; torque is not looked at."""
        return _share(_size(force), self.capacity)

    def margin(self, force: Tangent, torque: Number) -> Number:
        """Friction that is left, > 0 where the contact holds [N]."""
        return self.capacity - _size(force)

    def holds(self, force: Tangent, torque: Number) -> Bool[Array, "..."]:
        """Whether the contact at rest can give this force."""
        return self.margin(force, torque) >= 0.0

    def motion(self, force: Tangent, torque: Number) -> tuple[Tangent, Number]:
        """Slip and spin with which motion begins under this applied force: along it, of size 1, and none."""
        size = _size(force)
        return jnp.asarray(force) * _inverse(size)[..., None], jnp.zeros_like(size)


class SpotLimit(eqx.Module):
    """The closed convex set of forces and torques that a round spot at rest can bear.

    Its boundary is what the exact law gives in motion, and the motion that begins there is along its outward normal
    (maximal dissipation). Symmetric pressure: at rest nothing shifts it.

    Args:
        capacity: Largest friction force without torque [N].
        radius: Radius of the spot, > 0 [m].
        pressure: How the load is spread over it.
    """

    capacity: Number
    radius: Number
    pressure: Pressure

    def use(self, force: Tangent, torque: Number) -> Number:
        """Share of the friction that is used: < 1 inside the set (the contact holds), 1 on its boundary.

        Homogeneous of degree one; differentiable wherever force or torque is not zero.
        """
        lever = self.capacity * self.radius
        return _gauge(self.pressure, _share(_size(force), self.capacity), _share(jnp.asarray(torque, float), lever))

    def margin(self, force: Tangent, torque: Number) -> Number:
        """Friction that is left, > 0 where the contact holds [N]."""
        return self.capacity * (1.0 - self.use(force, torque))

    def holds(self, force: Tangent, torque: Number) -> Bool[Array, "..."]:
        """Whether the contact at rest can give this force and torque."""
        return self.use(force, torque) <= 1.0

    def motion(self, force: Tangent, torque: Number) -> tuple[Tangent, Number]:
        """Direction in which a body pushed with this force and torque begins to move: slip and spin.

        `force` and `torque` are the applied ones (against friction), of any size. Scaled so that
        |slip|^2 + (radius spin)^2 = 1.
        """
        force, torque = jnp.asarray(force, float), jnp.asarray(torque, float)
        size = _size(force)
        angle = _angle(self.pressure, size, jnp.abs(torque) / self.radius)
        return (jnp.cos(angle) * _inverse(size))[..., None] * force, jnp.sin(angle) * jnp.sign(torque) / self.radius


def _size(force: Tangent) -> Number:
    square = jnp.sum(jnp.asarray(force, float) ** 2, -1)
    some = square > 0.0
    return jnp.where(some, jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)


def _inverse(size: Number) -> Number:
    return jnp.where(size > 0.0, 1.0 / jnp.where(size > 0.0, size, 1.0), 0.0)


def _share(part: Number, whole: Number) -> Number:
    """`part / whole`; where there is nothing to share, 0 for no part and beyond all bounds for any."""
    return part / jnp.where(whole > 0.0, whole, LEAST)


def _angle(pressure: Pressure, force: Number, torque: Number) -> Number:
    """Angle atan(rim speed / slip) of the boundary point on the ray through (force, torque), both >= 0."""

    def excess(angle):
        slip, rim = jnp.cos(angle), jnp.sin(angle)
        share = coupling(pressure, slip * slip, rim)
        return force * share.twist - torque * share.drag * slip

    ends = jnp.zeros_like(force + torque), jnp.full_like(force + torque, jnp.pi / 2)
    low, _ = bisect(lambda angle: ~(excess(angle) > 0.0), *ends, _HALVINGS)
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
