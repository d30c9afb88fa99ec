"""Quantities measured on the runs, and printed formulas against the library."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import equinox as eqx
import numpy as np
from scipy.interpolate import CubicSpline

from saltus import surfaces, systems
from saltus.papers.claim import Answer, scientific
from saltus.papers.tinti_2019.cases import (
    GRAVITY,
    MU_2,
    Pendulum,
    pendulum_acceleration,
    rk4_angles,
    steady_force,
    steady_rate,
)

if TYPE_CHECKING:
    from saltus.papers.tinti_2019.cases import Workbench

UNBALANCE = 0.82  # k of Fig. 2
ANGLES = (0.2, 0.5, 0.8, 1.1, 1.4)


@eqx.filter_jit
def instant(system, state):
    """Rod force and accelerations of a state."""
    now = system.forces(state)
    return now.rod_force, now.acceleration


def _steady_errors() -> tuple[float, float]:
    """Largest relative errors of the accelerations and of the rod force of steady circling, over many states."""
    worst = [0.0, 0.0]
    for index, (one, two) in enumerate(itertools.permutations(ANGLES, 2)):
        theta, mass = (one, two), (1.0, 1.0 + index % 4)
        system = systems.SlidingMasses(surfaces.Sphere(1.0), mass, [(0, 1)], mu=0.0, gravity=GRAVITY)
        rate, radii = steady_rate(theta, mass), np.sin(theta)
        place = np.stack([radii, np.zeros(2)], axis=1)
        state = system.state(place, rate * place[:, ::-1])
        force, acceleration = instant(system, state)
        wanted = -(rate**2) * place
        worst[0] = max(worst[0], float(np.abs(np.asarray(acceleration)[:, :2] - wanted).max() / np.abs(wanted).max()))
        worst[1] = max(worst[1], abs(float(force[0]) / steady_force(theta, mass) - 1.0))
    return worst[0], worst[1]


def steady_speeds(work: Workbench) -> Answer:
    """Error of Eqs. 16 and 17."""
    error = _steady_errors()[0]
    return Answer(error, f"largest relative error {scientific(f'{error:.1e}')}")


def steady_forces(work: Workbench) -> Answer:
    """Error of Eq. 18."""
    error = _steady_errors()[1]
    return Answer(error, f"largest relative error {scientific(f'{error:.1e}')}")


def corner_supremum() -> float:
    """Largest h/mg around a corner of the map of Fig. 2, the first mass at the rim and the other at the bottom."""
    mass = (1.0 - UNBALANCE, 1.0 + UNBALANCE)
    best = 0.0
    for direction in np.linspace(1e-3, math.pi / 2 - 1e-3, 2001):
        near, far = 1e-5 * math.sin(direction), math.pi / 2 - 1e-5 * math.cos(direction)
        best = max(best, steady_force((far, near), mass) / GRAVITY)
    return best


def corner(work: Workbench) -> Answer:
    """Error of the printed corner value."""
    largest = corner_supremum()
    printed = math.sqrt(2.0) * (1.0 - UNBALANCE**2)
    error = abs(printed / largest - 1.0)
    return Answer(
        error, f"{largest:.4f} mg; printed {printed:.4f} mg, √2 (1 − k) = {math.sqrt(2) * (1 - UNBALANCE):.4f} mg"
    )


def pendulum_errors(work: Workbench) -> tuple[float, float]:
    """Errors of the printed and the corrected equation with friction, in units of the friction term."""
    seen = work.rough_samples
    place, velocity = seen["position"][:, 0], seen["velocity"][:, 0]
    inner = slice(5, -5)
    angle = np.arctan2(place[:, 0], 1.0 - place[:, 2])
    rate = (velocity[:, 0] * np.cos(angle) + velocity[:, 2] * np.sin(angle)) / Pendulum.length
    states = work.rough_swing.states(seen["t"])
    _, acceleration = eqx.filter_vmap(instant, in_axes=(None, 0))(work.rough_swing.system, states)
    # x = R_CM sin γ, so x'' = R_CM (γ'' cos γ - γ'² sin γ).
    sideways = np.asarray(acceleration)[:, 0, 0] / Pendulum.length
    true = (sideways + rate**2 * np.sin(angle)) / np.cos(angle)
    friction = MU_2 * (rate**2 + GRAVITY / Pendulum.length * np.cos(angle)) / Pendulum.length
    errors = [
        np.abs((pendulum_acceleration(angle, rate, MU_2, printed) - true) / friction)[inner]
        for printed in (True, False)
    ]
    # Within a hundredth of a second of a stop the direction of motion is about to turn.
    clear = np.abs(rate[inner]) > 0.05
    return float(errors[0][clear].max()), float(errors[1][clear].max())


def rest_range(rod: float, mu: float) -> tuple[float, float]:
    """Smallest and largest h/mg at which static friction holds two masses at the bottom of the unit sphere."""
    lean, cone = math.asin(rod / 2.0), math.atan(mu)
    return math.tan(lean - cone), math.tan(lean + cone)


def rk4_pendulum(until: float, step: float) -> np.ndarray:
    """Angles of the frictionless pendulum of Case 2 after each step of RK4."""
    return rk4_angles(lambda y: -GRAVITY / Pendulum.length * math.sin(y[0]), math.ceil(until / step) + 1, step)


def peak_times(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Times of the maxima of a smooth series."""
    spline = CubicSpline(times, values)
    turns = spline.derivative().roots(extrapolate=False)
    return turns[spline(turns, 2) < 0.0]


def mean_peak_spacing(times: np.ndarray, values: np.ndarray) -> float:
    """Mean time between maxima that rise above the mean; small ripples do not count."""
    peaks = peak_times(times, values)
    peaks = peaks[CubicSpline(times, values)(peaks) > np.mean(values)]
    return float(np.mean(np.diff(peaks)))


def mean_period(times: np.ndarray, values: np.ndarray) -> float:
    """Mean time between all maxima."""
    return float(np.mean(np.diff(peak_times(times, values))))
