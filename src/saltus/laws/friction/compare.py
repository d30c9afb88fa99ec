"""How far an approximation of combined friction is from the exact law."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.laws.friction.base import AbstractSpotLaw
from saltus.laws.friction.pressure import Pressure
from saltus.laws.friction.spot import SpotFunctions, spot_functions

QUANTITIES = ("F_par/F0", "F_perp/(mu F0)", "M_C/M0")
_GRID = 2001  # ratios looked at, three times


class LargestError(NamedTuple):
    """The largest deviation from the exact law: its size, where (ratio of rim speed to slip), its sign."""

    error: float
    ratio: float
    sign: float


def functions_of(law: AbstractSpotLaw, s) -> SpotFunctions:
    """The five functions of the ratio `s` > 0 that a law uses in place of the exact ones."""
    s = jnp.asarray(s, float)
    share = law.coupling(jnp.ones_like(s), s)
    return SpotFunctions(share.drag, share.skew - share.lift, share.lift, share.twist, share.tilt)


def normalise(functions: SpotFunctions, pressure: Pressure) -> dict[str, Array]:
    """Force along, force across (per unit shift) and torque, each over its own maximum."""
    torque = pressure.spin_torque
    values = functions.Phi0, functions.Psi / (0.5 * torque), functions.Theta0 / torque
    return dict(zip(QUANTITIES, values, strict=True))


def maximal_errors(law: AbstractSpotLaw) -> dict[str, LargestError]:
    """Largest error of each quantity over all ratios of spin to slip; located to 1e-6 in the ratio."""
    logs = np.tile(np.linspace(np.log(1e-3), np.log(1e3), _GRID), (len(QUANTITIES), 1))
    for _ in range(3):
        errors = np.asarray(_errors(law, jnp.asarray(np.exp(logs))))
        best = np.argmax(np.abs(errors), axis=1)
        found = errors[np.arange(len(best)), best], np.exp(logs[np.arange(len(best)), best])
        # The same again between the neighbours of the largest.
        low, high = (logs[np.arange(len(best)), np.clip(best + side, 0, _GRID - 1)] for side in (-1, 1))
        logs = np.linspace(low, high, _GRID, axis=1)
    return {
        name: LargestError(abs(float(error)), float(ratio), float(np.sign(error)))
        for name, error, ratio in zip(QUANTITIES, *found, strict=True)
    }


@eqx.filter_jit
def _errors(law: AbstractSpotLaw, s: Array) -> Array:
    """Error of each quantity in its own row of ratios."""
    mine = normalise(functions_of(law, s), law.pressure)
    exact = normalise(spot_functions(s, law.pressure), law.pressure)
    return jnp.stack([mine[name][row] - exact[name][row] for row, name in enumerate(QUANTITIES)])
