"""The continuous chain: what the limit of many links looks like in the textbooks."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from saltus import checks


class Continuum(eqx.Module):
    """A uniform chain that follows the edge round a right angle without loss: x grows like cosh.

    The end of the hanging piece moves as x'' = (g/L) (x - mu (L - x)). The links of a real chain
    lose energy at a sharp edge however many they are, and beyond `lift_off` it leaves the edge and
    outruns this law.

    Args:
        length: Length L of the chain [m].
        overhang: Length over the edge at the start, at rest [m].
        gravity: Downward acceleration [m/s2].
        friction: Coulomb coefficient of the table [-].
    """

    length: Array
    overhang: Array
    gravity: Array
    friction: Array

    @property
    def rate(self) -> Array:
        """Growth rate of the motion [1/s]."""
        return jnp.sqrt(self.gravity * (1 + self.friction) / self.length)

    @property
    def critical_overhang(self) -> Array:
        """Overhang below which friction holds the chain [m]."""
        return self.friction * self.length / (1 + self.friction)

    @property
    def _lever(self) -> Array:
        return self.overhang - self.critical_overhang

    def position(self, t: Any) -> Array:
        """Length over the edge at a time [m]."""
        return self.critical_overhang + self._lever * jnp.cosh(self.rate * jnp.asarray(t))

    def speed(self, t: Any) -> Array:
        """Speed of the chain at a time [m/s]."""
        return self._lever * self.rate * jnp.sinh(self.rate * jnp.asarray(t))

    def speed_at(self, position: Any) -> Array:
        """Speed when this length is over the edge [m/s]."""
        ahead = jnp.asarray(position) - self.critical_overhang
        return self.rate * jnp.sqrt((ahead - self._lever) * (ahead + self._lever))

    def time_at(self, position: Any) -> Array:
        """Time at which this length is over the edge [s]."""
        return jnp.arccosh((jnp.asarray(position) - self.critical_overhang) / self._lever) / self.rate

    @property
    def lift_off(self) -> Array:
        """Length over the edge at which the tension there has fallen to (mass per length) * speed^2 [m].

        There the edge force vanishes: the chain no longer needs the edge to turn.
        """
        reach = self.length + 2 * self.critical_overhang
        offset = self.critical_overhang**2 - self._lever**2
        return (reach + jnp.sqrt(reach**2 - 8 * offset)) / 4


def continuum(length: Any, overhang: Any, gravity: Any = 9.81, friction: Any = 0.0) -> Continuum:
    """The continuous chain with these numbers.

    >>> float(continuum(length=1.0, overhang=1e-9, gravity=1.0).lift_off)
    0.5

    Args:
        length: Length of the chain, > 0 [m].
        overhang: Length over the edge at the start, between the critical one and the whole [m].
        gravity: Downward acceleration, > 0 [m/s2].
        friction: Coulomb coefficient of the table, >= 0 [-].
    """
    checks.positive("length", length)
    checks.positive("gravity", gravity)
    checks.nonnegative("friction", friction)
    checks.positive("overhang", overhang)
    made = Continuum(*(jnp.asarray(x, float) for x in (length, overhang, gravity, friction)))
    over, critical, total = (checks.concrete(x) for x in (overhang, made.critical_overhang, length))
    if over is not None and critical is not None and total is not None and not critical < over < total:
        raise ValueError(
            f"`overhang` must be more than {float(critical):g} m, which friction holds, and less than the chain of "
            f"{float(total):g} m, got {float(over):g}."
        )
    return made
