"""How far an approximation of combined friction is from the exact law."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy import optimize

from saltus.laws.friction.base import AbstractSpotLaw
from saltus.laws.friction.pressure import Pressure
from saltus.laws.friction.spot import SpotFunctions, spot_functions

QUANTITIES = ("F_par/F0", "F_perp/(mu F0)", "M_C/M0")


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


def normalised(functions: SpotFunctions, pressure: Pressure) -> dict[str, np.ndarray]:
    """Force along, force across (per unit shift) and torque, each over its own maximum."""
    torque = pressure.spin_torque
    return dict(
        zip(QUANTITIES, (functions.Phi0, functions.Psi / (0.5 * torque), functions.Theta0 / torque), strict=True)
    )


def maximal_errors(law: AbstractSpotLaw) -> dict[str, LargestError]:
    """Largest error of each quantity over all ratios of spin to slip; located to 1e-6 in the ratio."""

    def difference(s):
        mine, exact = (
            normalised(functions_of(law, s), law.pressure),
            normalised(spot_functions(s, law.pressure), law.pressure),
        )
        return {name: np.asarray(mine[name] - exact[name]) for name in QUANTITIES}

    logs = np.linspace(np.log(1e-3), np.log(1e3), 2001)
    coarse = difference(np.exp(logs))
    result = {}
    for name in QUANTITIES:
        best = int(np.argmax(np.abs(coarse[name])))
        sign = float(np.sign(coarse[name][best]))
        found = optimize.minimize_scalar(
            lambda x, name=name, sign=sign: -sign * float(difference(np.exp(x))[name]),
            bounds=(logs[max(best - 1, 0)], logs[min(best + 1, logs.size - 1)]),
            method="bounded",
            options={"xatol": 1e-9},
        )
        result[name] = LargestError(-float(found.fun), float(np.exp(found.x)), sign)
    return result
