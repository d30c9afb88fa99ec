"""How the plates of a Butterfly turn: the angle as a given function of time."""

from __future__ import annotations

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.programs.arrays import numbers

Scalar = Float[Array, ""]


class AbstractTurning(eqx.Module):
    """An angle over time."""

    @abc.abstractmethod
    def angle(self, t: Scalar) -> Scalar:
        """The angle [rad]; twice differentiable."""

    def at(self, t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Angle, its rate and its acceleration [rad, rad/s, rad/s2]."""

        def rate(t):
            return jax.jvp(self.angle, (t,), (jnp.ones_like(t),))[1]

        speed, gain = jax.jvp(rate, (t,), (jnp.ones_like(t),))
        return self.angle(t), speed, gain


class Turning(AbstractTurning):
    """angle + rate t + amplitude sin(frequency t): at rest, steady, to and fro, or both.

    Args:
        angle0: Angle at t = 0 [rad].
        rate: Steady rate [rad/s].
        amplitude: Of the swing [rad].
        frequency: Angular frequency of the swing [rad/s].
    """

    angle0: Scalar = eqx.field(converter=numbers, default=0.0)
    rate: Scalar = eqx.field(converter=numbers, default=0.0)
    amplitude: Scalar = eqx.field(converter=numbers, default=0.0)
    frequency: Scalar = eqx.field(converter=numbers, default=0.0)

    def __check_init__(self):
        for name in ("angle0", "rate", "amplitude", "frequency"):
            checks.finite(name, getattr(self, name))

    def angle(self, t: Scalar) -> Scalar:
        """The formula."""
        return self.angle0 + self.rate * t + self.amplitude * jnp.sin(self.frequency * t)


class TurningTable(AbstractTurning):
    """An angle given at some times, with a cubic spline between: twice continuously differentiable.

    Args:
        times: Rising times, at least 4 [s].
        angles: The angles there [rad].
    """

    times: Float[Array, " n"]
    coefficients: Float[Array, "4 m"]

    def __init__(self, times, angles):
        times, angles = np.asarray(times, float), np.asarray(angles, float)
        checks.shaped("times", times, (None,))
        checks.shaped("angles", angles, times.shape, "Give one angle for each time.")
        checks.finite("times", times)
        checks.finite("angles", angles)
        if len(times) < 4 or not (np.diff(times) > 0).all():
            raise ValueError(f"`times` must be at least 4 rising times, got {len(times)}. Sort them and drop repeats.")
        self.times = jnp.asarray(times)
        from scipy.interpolate import CubicSpline

        self.coefficients = jnp.asarray(CubicSpline(times, angles).c)

    def angle(self, t: Scalar) -> Scalar:
        """The spline; its end pieces go on outside the table."""
        piece = jnp.clip(jnp.searchsorted(self.times, t, side="right") - 1, 0, self.coefficients.shape[1] - 1)
        c, x = self.coefficients[:, piece], t - self.times[piece]
        return ((c[0] * x + c[1]) * x + c[2]) * x + c[3]


class TurningFunction(AbstractTurning):
    """Any angle.

    Args:
        function: Angle over time, a JAX function [rad].
    """

    function: Callable[[Scalar], Scalar] = eqx.field(static=True)

    def angle(self, t: Scalar) -> Scalar:
        """What the function says."""
        return self.function(t)
