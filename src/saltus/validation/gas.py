"""Reference cases of gases of hard bodies: states of the fluid, and the limit of low density."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from saltus.gas import Gas, HardBodies, Species, dilute_collision_rate, random_start, second_virial
from saltus.validation.check import Check, difference

WANTED = 0.007  # error of Z - 1, relative, at which a run ends
EQUILIBRATION = 100  # contacts per body
LOOKS_EVERY = 64  # samples between two looks at the error
LEAST = 30_000  # contacts before the first look: a run must not end because its error is underestimated by chance
MOST = 5_000_000  # contacts


def _state(case: dict[str, Any]) -> list[Check]:
    """Compressibility factor and collision rate within three combined standard errors."""
    given, expected, known = case["input"], case["expected"], case["standard_error"]
    axes, n, edge = [float(a) for a in given["semi_axes"]], int(given["N"]), float(given["box_edge"])
    spins = bool(given.get("thermal_spin", False))
    start = random_start([Species(axes, n, mass=1.0)], np.full(3, edge), temperature=1.0, seed=1, spins=spins)
    gas = Gas(HardBodies(start, np.full(3, edge)))
    gas.equilibrate(EQUILIBRATION * n)
    looks = [0]

    def exact_enough() -> bool:
        looks[0] += 1
        if looks[0] % LOOKS_EVERY or gas.contacts < LEAST:
            return False
        factor = gas.results()["compressibility"]
        return factor.error <= WANTED * (factor.value - 1.0)

    gas.measure(MOST, stop=exact_enough)
    found, least = gas.results(), 1.0 / math.sqrt(gas.contacts)
    kelvin = gas.series.mean("heat")[0]  # below 1 where spins that nothing changes hold a part of the energy
    factor, rate = found["compressibility"], found["collision_rate"]
    checks = []
    # Errors of n contacts are about 1.2 / sqrt(n) of the excess and of the rate; an estimate far below is chance.
    for name, value, error, excess in (
        ("Z", factor.value, factor.error, factor.value - 1.0),
        ("rate", rate.value / math.sqrt(kelvin), rate.error / math.sqrt(kelvin), rate.value / math.sqrt(kelvin)),
    ):
        error = max(error, least * excess)
        checks.append(difference(name, value, expected[name], 3.0 * math.hypot(error, known[name])))
    return checks


def _low_density(case: dict[str, Any]) -> list[Check]:
    """The second virial coefficient, and collisions per body, time and density, in the limit of low density."""
    axes = np.array([float(part) for part in case["input"]["shape"].split(":")])
    axes *= 0.5 / np.prod(axes) ** (1 / 3)
    rate, error = dilute_collision_rate(axes)
    expected, known = case["expected"], case["standard_error"]["rate_over_density"]
    # The reference of balls is exact, and so are we; the other one has an error of its own.
    allowed = max(3.0 * math.hypot(error, known), 1e-12)
    return [
        difference("B2_over_V", second_virial(axes), expected["B2_over_V"], 1e-9),
        difference("rate_over_density", rate, expected["rate_over_density"], allowed),
    ]


GROUPS = {"state": _state, "low_density": _low_density}
