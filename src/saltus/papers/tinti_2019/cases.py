"""The cases and examples of the paper as runs, each computed once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from saltus import surfaces, systems
from saltus.papers.memo import memoise
from saltus.papers.sampling import SAMPLES, series
from saltus.simulation import Run, Tolerances, simulate

GRAVITY = 9.81  # not stated in the paper
TIGHT: Tolerances = {"rtol": 1e-13, "atol": 1e-15}
THETA_1A, PHI_1A = math.radians(23.6), math.pi / 2
THETA_1B = (math.radians(17.5), math.radians(23.6))
THETA_2, PHI_2 = math.radians(24.35), math.radians(14.04)
MU_2 = 0.02
MUS_1 = (0.0, 0.002, 0.004, 0.006, 0.010)
MUS_2 = (0.0, 0.005, 0.010, 0.015, 0.025)
STEP_2 = 0.05  # printed for Example 2; the steps of the sphere cases are not
END_2 = 200.0
LONG_2 = 700.0  # long enough for everything to come to rest
STEPS = (1e-2, 5e-3, 2.5e-3, 1e-3)
PENDULUM_STEP = 2e-3

Series = dict[str, np.ndarray]


def steady_rate(theta: tuple[float, float], mass: tuple[float, float] = (1.0, 1.0)) -> float:
    """Eq. 17: angular velocity at which two masses circle at different heights of the unit sphere [rad/s]."""
    (s1, s2), (c1, c2), (m1, m2) = np.sin(theta), np.cos(theta), mass
    return math.sqrt(GRAVITY * (m1 * s1 + m2 * s2) / (m1 * s1 * c1 + m2 * s2 * c2))


def steady_force(theta: tuple[float, float], mass: tuple[float, float] = (1.0, 1.0)) -> float:
    """Eq. 18: rod force of that motion [N]."""
    (s1, s2), (c1, c2), (m1, m2) = np.sin(theta), np.cos(theta), mass
    lever = abs(c1 - c2) / math.cos((theta[1] - theta[0]) / 2)
    return GRAVITY * lever * m1 * m2 * s1 * s2 / (m1 * s1 * c1 + m2 * s2 * c2)


class Pendulum:
    """Case 2: two equal masses at rest at the same height are a pendulum of length R_CM on the unit sphere."""

    half_rod = math.sin(THETA_2) * math.sin(PHI_2)
    length = math.sqrt(1.0 - half_rod**2)
    amplitude = math.acos(math.cos(THETA_2) / length)
    rate = math.sqrt(GRAVITY / length)
    parameter = math.sin(amplitude / 2) ** 2
    period = 4.0 / rate * float(special.ellipk(parameter))

    @classmethod
    def angle(cls, times: np.ndarray) -> np.ndarray:
        """The angle from the vertical, by elliptic functions [rad]."""
        sn, _, _, _ = special.ellipj(special.ellipk(cls.parameter) - cls.rate * times, cls.parameter)
        return 2.0 * np.arcsin(math.sqrt(cls.parameter) * sn)

    @classmethod
    def force(cls, angle: np.ndarray) -> np.ndarray:
        """Eq. 22 over mg: rod force without friction."""
        rod = 2.0 * cls.half_rod
        return rod * cls.length * (1.5 * np.cos(angle) - math.cos(cls.amplitude)) / (1.0 - rod**2 / 4.0)


def pendulum_acceleration(angle, rate, mu: float, printed: bool = False):
    """Angular acceleration of the pendulum of Case 2 with friction, corrected or as printed [rad/s2]."""
    length = Pendulum.length
    pressed = rate**2 + GRAVITY / length * np.cos(angle)
    factor = np.abs(rate) / length if printed else np.sign(rate) / length
    return -GRAVITY / length * np.sin(angle) - mu * factor * pressed


def rk4_angles(acceleration: Callable[[np.ndarray], float], count: int, step: float) -> np.ndarray:
    """Angles of the pendulum of Case 2, from its release, at so many times a step apart, by plain RK4."""
    state, path = np.array([Pendulum.amplitude, 0.0]), np.empty(count)

    def rate(y):
        return np.array([y[1], acceleration(y)])

    for index in range(count):
        path[index] = state[0]
        k1 = rate(state)
        k2 = rate(state + step / 2 * k1)
        k3 = rate(state + step / 2 * k2)
        k4 = rate(state + step * k3)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return path


class Workbench:
    """Runs that claims and figures share."""

    def __init__(self, quick: bool = False):
        self.quick = quick

    # ---- Case 1: masses that circle ---------------------------------------------------------------

    @staticmethod
    def bowl(mu: float) -> systems.SlidingMasses:
        """Two equal masses and a rod in the unit sphere."""
        return systems.SlidingMasses(surfaces.Sphere(1.0), [1.0, 1.0], [(0, 1)], mu=mu, gravity=GRAVITY)

    @functools.cached_property
    def circle(self):
        """System, start and period of Case 1 at equal heights, a quarter of a turn apart."""
        radius = math.sin(THETA_1A)
        speed = math.sqrt(GRAVITY * radius * math.tan(THETA_1A))
        angles = np.array([0.0, PHI_1A])
        system = self.bowl(0.0)
        place = radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)
        start = system.start(place, speed * np.stack([np.cos(angles), -np.sin(angles)], axis=1))
        return system, start, 2 * math.pi * radius / speed

    def steady(self, mu: float = 0.0):
        """System, start and period of Case 1 at different heights; Example 1 is the same with friction."""
        rate, radii = steady_rate(THETA_1B), np.sin(THETA_1B)
        system = self.bowl(mu)
        start = system.start([[radii[0], 0.0], [radii[1], 0.0]], [[0.0, rate * radii[0]], [0.0, rate * radii[1]]])
        return system, start, 2 * math.pi / rate

    @functools.cached_property
    def steady_run(self) -> Run:
        """Case 1b over five periods."""
        system, start, period = self.steady()
        return simulate(system, start, 5 * period, **TIGHT)

    @memoise
    def circle_errors(self, step: float) -> tuple[float, float]:
        """Case 1a with RK4: largest error of x over the radius, largest |h| / mg."""
        system, start, period = self.circle
        run = simulate(system, start, 5 * period, method="rk4", step=step)
        seen, radius = series(run), math.sin(THETA_1A)
        rate = 2 * math.pi / period
        exact = radius * np.stack([np.sin(rate * seen["t"]), np.sin(rate * seen["t"] + PHI_1A)], axis=1)
        error = np.abs(seen["position"][:, :, 0] - exact).max() / radius
        return float(error), float(np.abs(seen["rod_force"]).max() / GRAVITY)

    @memoise
    def steady_errors(self, step: float) -> tuple[float, float]:
        """Case 1b with RK4: largest error of x over the radius, largest relative error of h."""
        system, start, period = self.steady()
        run = simulate(system, start, 5 * period, method="rk4", step=step)
        seen, radii = series(run), np.sin(THETA_1B)
        exact = np.cos(2 * math.pi / period * seen["t"])[:, None]
        error = np.abs(seen["position"][:, :, 0] / radii - exact).max()
        force = steady_force(THETA_1B)
        return float(error), float(np.abs(seen["rod_force"][:, 0] / force - 1.0).max())

    @functools.cached_property
    def exponents(self) -> np.ndarray:
        """Growth rates of small deviations from Case 1b, seen in the frame that turns with it [1/s]."""
        system, start, period = self.steady()
        turning = 2 * math.pi / period * jnp.array([[0.0, -1.0], [1.0, 0.0]])

        def rate(flat):
            q, v = flat.reshape(2, 2, 2)
            moved = eqx.tree_at(lambda s: (s.q, s.v), start, (q, v))
            return jnp.stack([v - q @ turning.T, system.rate(moved).v - v @ turning.T]).ravel()

        steady = jnp.stack([start.q, start.v]).ravel()
        return np.linalg.eigvals(np.asarray(jax.jit(jax.jacfwd(rate))(steady)))

    @property
    def growth_rate(self) -> float:
        """The fastest of them [1/s]."""
        return float(np.real(self.exponents).max())

    @memoise
    def height_error(self, name: str, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Times, and how far RK4 lets the masses stray from their constant heights in Case 1."""
        system, start, period = self.circle if name == "1a" else self.steady()
        seen = series(simulate(system, start, 5 * period, method="rk4", step=step))
        height = seen["position"][:, :, 2]
        return seen["t"], np.abs(height - height[0]).max(axis=1)

    # ---- Case 2: the pendulum ---------------------------------------------------------------------

    def swing(self, mu: float):
        """System and start of Case 2."""
        system = self.bowl(mu)
        x, y = math.sin(THETA_2) * math.cos(PHI_2), math.sin(THETA_2) * math.sin(PHI_2)
        return system, system.start([[x, -y], [x, y]])

    @functools.cached_property
    def swing_run(self) -> Run:
        """Case 2 without friction over five periods."""
        system, start = self.swing(0.0)
        return simulate(system, start, 5 * Pendulum.period, **TIGHT)

    @functools.cached_property
    def swing_rk4(self) -> Series:
        """Case 2 without friction by RK4, at whole steps."""
        system, start = self.swing(0.0)
        run = simulate(system, start, 5 * Pendulum.period, method="rk4", step=PENDULUM_STEP)
        steps = np.round(np.linspace(0.0, 5 * Pendulum.period / PENDULUM_STEP - 1.0, SAMPLES))
        return series(run, PENDULUM_STEP * steps)

    @functools.cached_property
    def rough_swing(self) -> Run:
        """Case 2 with friction, to rest."""
        system, start = self.swing(MU_2)
        return simulate(system, start, 5.5 * Pendulum.period, **TIGHT)

    @functools.cached_property
    def swing_period(self) -> float:
        """Period of Case 2 as measured on the run: time between two zeros of x in the same direction [s]."""
        zeros = np.array([0.75, 1.75]) * Pendulum.period
        for _ in range(3):
            seen = series(self.swing_run, zeros)
            zeros = zeros - seen["position"][:, 0, 0] / seen["velocity"][:, 0, 0]
        return float(zeros[1] - zeros[0])

    @memoise
    def rough_pendulum(self, printed: bool) -> tuple[np.ndarray, np.ndarray]:
        """Times and angle of the pendulum of Case 2 with friction by plain RK4, without looking for its stops."""
        times = np.arange(0.0, float(self.rough_swing.end.t), PENDULUM_STEP)
        path = rk4_angles(lambda y: pendulum_acceleration(y[0], y[1], MU_2, printed), len(times), PENDULUM_STEP)
        return times, path

    @functools.cached_property
    def rough_samples(self) -> Series:
        """Case 2 with friction as arrays, up to the last stop."""
        return series(self.rough_swing, np.linspace(0.0, self.rough_stop - 1e-7, 2 * 401))

    @property
    def rough_stop(self) -> float:
        """When Case 2 with friction comes to rest [s]."""
        return self.rough_swing.events[-1].t

    # ---- Examples ---------------------------------------------------------------------------------

    @memoise
    def example_1(self, mu: float) -> Run:
        """Example 1 over five periods of the frictionless motion."""
        if mu == 0.0:
            return self.steady_run
        system, start, period = self.steady(mu)
        return simulate(system, start, 5 * period, **TIGHT)

    @functools.cached_property
    def example_1_to_rest(self) -> Run:
        """Example 1 with the largest friction, to rest."""
        system, start, _ = self.steady(MUS_1[-1])
        return simulate(system, start, 30.0, **TIGHT)

    def paraboloid(self, mu: float):
        """System and start of Example 2."""
        surface = surfaces.Paraboloid(2.0e-4, 4.0e-4, 1.0e-5)
        system = systems.SlidingMasses(surface, [1.0, 5.0], [(0, 1)], mu=mu, gravity=GRAVITY)
        return system, system.start([[400.0, 0.0], [-200.0, 0.0]], [[0.0, 50.0], [0.0, -50.0]])

    @memoise
    def example_2(self, mu: float) -> Run:
        """Example 2 over 200 s."""
        return simulate(*self.paraboloid(mu), END_2, rtol=1e-12, atol=1e-12)

    @memoise
    def example_2_rk4(self, mu: float) -> Run:
        """Example 2 by RK4 at the step of the paper."""
        return simulate(*self.paraboloid(mu), END_2, method="rk4", step=STEP_2)

    @memoise
    def example_2_to_rest(self, mu: float) -> Run:
        """Example 2 until everything rests."""
        return simulate(*self.paraboloid(mu), LONG_2, rtol=1e-12, atol=1e-12)

    @memoise
    def samples_1(self, mu: float) -> Series:
        """Example 1 as arrays."""
        return series(self.example_1(mu))

    @memoise
    def samples_2(self, mu: float) -> Series:
        """Example 2 as arrays, four samples a second."""
        return series(self.example_2(mu), np.linspace(0.0, END_2, 2 * 401 - 1))
