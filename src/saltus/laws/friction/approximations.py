"""Other approximations of combined friction, for comparison and for those who have identified them.

All are exact for pure slip and pure spin. Their maximal errors against the exact law, as measured with
`compare.maximal_errors`, are in the docstrings: force over mu N, torque over its own maximum.
"""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from saltus.laws.friction.base import AbstractSpotLaw, Number, number
from saltus.laws.friction.pressure import pressure_of
from saltus.laws.friction.spot import Coupling, SpotFunctions, spot_functions

_RATIOS = np.logspace(-3, 3, 1201)


class FirstOrder(AbstractSpotLaw):
    """Zhuravlev's first-order form: v / (v + sqrt(a) u) and u / (u + sqrt(m) v).

    Right slopes of the force for little slip and of the torque for little spin, wrong ones at the other
    ends. Measured maximal errors, Hertz / uniform / punch: force 0.34 / 0.36 / 0.38, torque 0.39 / 0.40 / 0.42.

    Args:
        mu: Friction coefficient, >= 0 [-].
        spot_radius: Radius of the spot, >= 0 [m].
        pressure: "hertz", "uniform", "punch" or an exponent gamma > 1.
        sliding_shift: Shift of the pressure along the slip [-].
        rolling_shift: Shift of the pressure along the rolling direction, 0 to 1 [-].
        reference_load: If given, the radius grows with the cube root of load / reference_load [N].

    References:
        Zhuravlev 1998, J. Appl. Math. Mech. 62(5), 705-710.
    """

    def coupling(self, slip_square: Number, rim_speed: Number) -> Coupling:
        """Ratios of first-order polynomials in the two speeds."""
        v, u = _root(slip_square), jnp.abs(rim_speed)
        torque = self.pressure.spin_torque
        beta = self.pressure.gamma * torque
        across = _inverse(u + beta * v)
        bend = 0.5 * torque * beta * across * across
        return Coupling(
            drag=_inverse(v + u / self.pressure.drag_slope),
            lift=0.5 * torque * rim_speed * across,
            skew=bend * rim_speed * _inverse(v),
            twist=torque * rim_speed * _inverse(u + 2.0 * beta * v),
            tilt=-bend * v,
        )


class SecondOrder(AbstractSpotLaw):
    """Second-order form: (v^2 + A u v) / (v^2 + A u v + B u^2), and likewise for the torque.

    The ratio A / B gives the right slope at zero slip; what is left free is chosen to make the largest error
    smallest. Measured maximal errors, Hertz / uniform / punch: force 0.059 / 0.065 / 0.077, torque
    0.069 / 0.075 / 0.085. The shift of the pressure acts as in `Pade` with `lateral_shift`.

    Args:
        mu: Friction coefficient, >= 0 [-].
        spot_radius: Radius of the spot, >= 0 [m].
        pressure: "hertz", "uniform", "punch" or an exponent gamma > 1.
        sliding_shift: Shift of the pressure along the slip [-].
        rolling_shift: Shift of the pressure along the rolling direction, 0 to 1 [-].
        reference_load: If given, the radius grows with the cube root of load / reference_load [N].
    """

    force_weight: Any = None  # found from the pressure
    torque_weight: Any = None

    def __post_init__(self):
        weights = _best_second_order(float(pressure_of(self.pressure).gamma))
        self.force_weight, self.torque_weight = (number(x) for x in weights)

    def coupling(self, slip_square: Number, rim_speed: Number) -> Coupling:
        """Ratios of second-order polynomials in the two speeds."""
        v, u = _root(slip_square), jnp.abs(rim_speed)
        slope, torque = self.pressure.drag_slope, self.pressure.spin_torque
        beta = self.pressure.gamma * torque
        force_weight, torque_weight = self.force_weight, self.torque_weight
        across = _inverse(_root(u * u + beta**2 * slip_square))
        bend = 0.5 * torque * beta**2 * across**3
        force_bottom = slip_square + force_weight * u * v + force_weight / slope * u * u
        torque_bottom = u * u + torque_weight * u * v + torque_weight * 2.0 * beta * slip_square
        return Coupling(
            drag=(v + force_weight * u) * _inverse(force_bottom),
            lift=0.5 * torque * rim_speed * across,
            skew=bend * rim_speed,
            twist=torque * rim_speed * (u + torque_weight * v) * _inverse(torque_bottom),
            tilt=-bend * slip_square,
        )


class PowerNorm(AbstractSpotLaw):
    """Form with a free power: v / (v^n + (sqrt(a) u)^n)^(1/n), the torque from the force across the slip.

    The powers (n = 3.37 / 3.82 / 5.70 for the force of Hertz / uniform / punch, 2.89 / 3.02 / 3.25 for the force
    across the slip) make the largest errors smallest: force 0.010 / 0.015 / 0.032, force across the slip
    0.013 / 0.014 / 0.015 of its maximum. The torque follows by the identity Theta0 = 2 Psi - s Psi', which gives
    its S-shape: 0.029 / 0.032 / 0.037. The best of the approximations.

    Args:
        mu: Friction coefficient, >= 0 [-].
        spot_radius: Radius of the spot, >= 0 [m].
        pressure: "hertz", "uniform", "punch" or an exponent gamma > 1.
        sliding_shift: Shift of the pressure along the slip [-].
        rolling_shift: Shift of the pressure along the rolling direction, 0 to 1 [-].
        reference_load: If given, the radius grows with the cube root of load / reference_load [N].
    """

    force_power: Any = None  # found from the pressure
    across_power: Any = None

    def __post_init__(self):
        powers = _best_powers(float(pressure_of(self.pressure).gamma))
        self.force_power, self.across_power = (number(x) for x in powers)

    def coupling(self, slip_square: Number, rim_speed: Number) -> Coupling:
        """Norms of the two speeds with fitted powers."""
        v, u = _root(slip_square), jnp.abs(rim_speed)
        torque = self.pressure.spin_torque
        beta = self.pressure.gamma * torque
        force_power, across_power = self.force_power, self.across_power
        largest = jnp.maximum(v, u)
        scale = _inverse(largest)
        # Of the two speeds over the larger one is 1; at rest, where nothing matters, both are.
        x, y = (jnp.where(largest > 1e-140, speed * scale, 1.0) for speed in (v, u))
        along = scale * (x**force_power + (y / self.pressure.drag_slope) ** force_power) ** (-1 / force_power)
        sum_across = y**across_power + (beta * x) ** across_power
        across = sum_across ** (-1 / across_power)
        turn = rim_speed * scale
        lift = 0.5 * torque * turn * across
        # s Psi' = lift (beta v)^n / (u^n + (beta v)^n)
        share = (beta * x) ** across_power / sum_across
        return Coupling(
            drag=along,
            lift=lift,
            skew=lift * share * _inverse(slip_square),
            twist=lift * (2.0 - share),
            tilt=-0.5 * torque * across * share * scale * _inverse(x),
        )


def _root(x: Number) -> Number:
    moves = x > 1e-280
    return jnp.where(moves, jnp.sqrt(jnp.where(moves, x, 1.0)), 0.0)


def _inverse(x: Number) -> Number:
    """1 / x, and zero where x is (almost) zero."""
    moves = x > 1e-100
    return jnp.where(moves, 1.0 / jnp.where(moves, x, 1.0), 0.0)


def _minimax(form, wanted: np.ndarray, low: float, high: float) -> float:
    """The number between `low` and `high` for which the largest error of `form(x)` is smallest."""
    from scipy import optimize

    best = optimize.minimize_scalar(
        lambda x: np.max(np.abs(form(x) - wanted)), bounds=(low, high), method="bounded", options={"xatol": 1e-6}
    )
    return float(best.x)


def _exact(gamma: float) -> tuple[np.ndarray, SpotFunctions, float, float]:
    """Ratios of spin to slip, the exact functions there, the slope of the drag and the torque of pure spin."""
    pressure = pressure_of(gamma)
    return _RATIOS, spot_functions(_RATIOS, pressure), float(pressure.drag_slope), float(pressure.spin_torque)


@functools.lru_cache(maxsize=64)
def _best_second_order(gamma: float) -> tuple[float, float]:
    """Free coefficients of force and torque that make the largest error smallest."""
    s, exact, slope, torque = _exact(gamma)
    inverse_slope = 2.0 * gamma * torque
    return (
        _minimax(lambda A: (1 + A * s) / (1 + A * s + A / slope * s**2), np.asarray(exact.Phi0), 0.01, 3.0),
        _minimax(
            lambda A: (s**2 + A * s) / (s**2 + A * s + A * inverse_slope), np.asarray(exact.Theta0) / torque, 0.01, 3.0
        ),
    )


@functools.lru_cache(maxsize=64)
def _best_powers(gamma: float) -> tuple[float, float]:
    """Powers of force and force across the slip that make the largest error smallest."""
    s, exact, slope, torque = _exact(gamma)
    beta = gamma * torque
    return (
        _minimax(lambda n: (1 + (s / slope) ** n) ** (-1 / n), np.asarray(exact.Phi0), 1.2, 20.0),
        _minimax(lambda n: s * (s**n + beta**n) ** (-1 / n), np.asarray(exact.Psi) * 2 / torque, 1.2, 20.0),
    )
