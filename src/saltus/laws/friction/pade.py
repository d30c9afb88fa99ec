"""The paper's approximation of combined friction."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from saltus.laws.friction.base import AbstractSpotLaw, Number, number
from saltus.laws.friction.pressure import Pressure
from saltus.laws.friction.spot import Coupling


class PadeCoefficients(NamedTuple):
    """The coefficients of the paper's model (8b).

    F = F0 v / sqrt(v^2 + a u^2) along the slip, mu F0 u / sqrt(u^2 + b v^2) across it,
    M0 u / sqrt(u^2 + m v^2) about the normal; v slip, u spin times radius.
    """

    F0: Number
    M0: Number
    a: Number
    b: Number
    m: Number
    mu: Number


class Pade(AbstractSpotLaw):
    """Kireenkov's model: three square roots with the exact values and slopes at both ends.

    Too weak in between. Measured maximal errors, Hertz / uniform / punch: force 0.121 / 0.143 / 0.183
    of mu N; force across the slip 0.089 / 0.098 / 0.113 of its own maximum; torque 0.212 / 0.223 / 0.243
    of its maximum (28 to 31 per cent relative). Dissipative, but not the gradient of a potential.

    Args:
        mu: Friction coefficient, >= 0 [-].
        spot_radius: Radius of the spot, >= 0 [m].
        pressure: "hertz", "uniform", "punch" or an exponent gamma > 1.
        sliding_shift: Shift of the pressure along the slip [-].
        rolling_shift: Shift of the pressure along the rolling direction, 0 to 1 [-].
        reference_load: If given, the radius grows with the cube root of load / reference_load [N].
        lateral_shift: False: the paper's model, which ignores the shift across the slip. True: with the
            terms that follow from its own force across the slip, so that all limits are exact.

    References:
        Kireenkov 2021, COUPLED PROBLEMS, second equation (8).
    """

    lateral_shift: bool = eqx.field(static=True, default=False)

    def coefficients(self, load: Number | float, shift_along: Number | float = 0.0) -> PadeCoefficients:
        """The coefficients for this load and this shift of the pressure along the slip."""
        a, b, m = _squares(self.pressure)
        torque = self.pressure.spin_torque
        load = number(load)
        strength = self.mu * load
        return PadeCoefficients(strength, torque * strength * self.radius(load), a, b, m, 0.5 * torque * shift_along)

    def coupling(self, slip_square: Number, rim_speed: Number) -> Coupling:
        """The three square roots."""
        a, b, m = _squares(self.pressure)
        half_torque = 0.5 * self.pressure.spin_torque
        rim_square = rim_speed * rim_speed
        across = _inverse_root(rim_square + b * slip_square)
        lift = half_torque * rim_speed * across
        if self.lateral_shift:
            bend = half_torque * b * across**3
            skew, tilt = bend * rim_speed, -bend * slip_square
        else:
            # Only the part of the shift along the slip counts: lift (n x k + (k . n x v) v / v^2).
            slides = slip_square > 1e-280
            skew = jnp.where(slides, lift / jnp.where(slides, slip_square, 1.0), 0.0)
            tilt = jnp.zeros_like(skew)
        return Coupling(
            drag=_inverse_root(slip_square + a * rim_square),
            lift=lift,
            skew=skew,
            twist=2.0 * half_torque * rim_speed * _inverse_root(rim_square + m * slip_square),
            tilt=tilt,
        )


def _squares(pressure: Pressure) -> tuple[Number, Number, Number]:
    """a, b and m of the paper: the inverse slopes at zero, squared."""
    root_b = pressure.gamma * pressure.spin_torque
    return pressure.drag_slope**-2, root_b**2, 4.0 * root_b**2


def _inverse_root(square: Number) -> Number:
    """1 / sqrt, and zero for zero; finite derivatives."""
    moves = square > 0.0
    return jnp.where(moves, 1.0 / jnp.sqrt(jnp.where(moves, square, 1.0)), 0.0)
