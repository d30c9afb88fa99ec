"""Contacts, integrals over the spot, and balls on rails."""

from __future__ import annotations

import functools
import math

import equinox as eqx
import numpy as np

from saltus import systems
from saltus.laws import friction
from saltus.papers.memo import memoise
from saltus.papers.sampling import series
from saltus.simulation import Run, simulate

PRESSURES = ("hertz", "uniform", "punch")
MU, LOAD, SPOT = 0.25, 3.0, 0.02
# A ball of the size of a fist on two rails; it is pushed without turning.
BALL = {"mass": 1.0, "radius": 0.5, "half_angle": 0.5, "mu": 0.25, "spot": 0.025, "speed": 2.0}
RINGS, RAYS = 700, 1400  # of the midpoint rule over the spot


@functools.cache
def _mesh() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (x, y) of the unit disc and their areas; the substitution r = sin t tames the rim."""
    t = (np.arange(RINGS) + 0.5) * (math.pi / 2 / RINGS)
    angle = (np.arange(RAYS) + 0.5) * (2 * math.pi / RAYS)
    radius = np.sin(t)
    area = radius * np.cos(t) * (math.pi / 2 / RINGS) * (2 * math.pi / RAYS)
    return (
        np.outer(radius, np.cos(angle)),
        np.outer(radius, np.sin(angle)),
        np.broadcast_to(area[:, None], (RINGS, RAYS)),
    )


def hertz(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pressure (1) of the paper for a unit load on a unit spot."""
    return 3.0 / (2.0 * math.pi) * np.sqrt(np.maximum(1.0 - x**2 - y**2, 0.0))


def integrals(slip: float, rim_speed: float, shift: tuple[float, float]) -> np.ndarray:
    """The integrals (8) as printed, by summation: force along and across the slip, torque, over fN and fNR."""
    x, y, area = _mesh()
    weight = area * hertz(x, y)
    speed = np.sqrt(rim_speed**2 * (x**2 + y**2) + slip**2 - 2.0 * rim_speed * slip * y)
    tilted = 1.0 + shift[1] * y
    along = ((slip - rim_speed * y) * tilted / speed * weight).sum()
    across = shift[0] * (rim_speed * x**2 / speed * weight).sum()
    torque = ((rim_speed * (x**2 + y**2) - slip * y) * tilted / speed * weight).sum()
    return np.array([along, across, torque])


@eqx.filter_jit
def _reaction(law, slip, spin, load, shift):
    return law.reaction_with_shift(slip, spin, load, shift)


@eqx.filter_jit
def _contacts(ball, state):
    return ball.contacts(state)


def library(law, slip: float, rim_speed: float, shift: tuple[float, float]) -> np.ndarray:
    """Force along, force across and torque from a law of the library with mu = 1 and a unit spot under a unit load."""
    force, torque = _reaction(law, np.array([slip, 0.0]), np.array(rim_speed), np.array(1.0), np.array(shift))
    return -np.array([float(force[0]), float(force[1]), float(torque)])


def exact(pressure: str = "hertz") -> friction.Combined:
    """The exact law with unit numbers."""
    return friction.Combined(1.0, 1.0, pressure)


def approximate(pressure: str = "hertz") -> friction.Pade:
    """The paper's model with unit numbers."""
    return friction.Pade(1.0, 1.0, pressure)


class Workbench:
    """Runs that claims and figures share."""

    def __init__(self, quick: bool = False):
        self.quick = quick

    @staticmethod
    def ball(model: str, rolling_shift: float = 0.0, sliding_shift: float = 0.0) -> systems.BallOnRails:
        """The ball with one of the laws."""
        laws = {"exact": friction.Combined, "pade": friction.Pade}
        if model == "coulomb":
            law = friction.Coulomb(BALL["mu"])
        else:
            law = laws[model](BALL["mu"], BALL["spot"], rolling_shift=rolling_shift, sliding_shift=sliding_shift)
        return systems.BallOnRails(BALL["mass"], BALL["radius"], BALL["half_angle"], law)

    @memoise
    def contacts(self, angular_velocity: tuple[float, float, float], velocity: float = 1.0):
        """Reactions of both rails for a ball with shifted pressure."""
        ball = self.ball("exact", rolling_shift=0.3, sliding_shift=0.3)
        return _contacts(ball, ball.start(velocity, angular_velocity))

    @memoise
    def roll(self, model: str, rolling_shift: float = 0.0) -> Run:
        """The pushed ball until it rests, or for 30 s."""
        ball = self.ball(model, rolling_shift)
        return simulate(ball, ball.start(BALL["speed"]), 30.0, rtol=1e-11, atol=1e-13)

    @memoise
    def motion(self, model: str, rolling_shift: float = 0.0, until: float = 1.0) -> dict[str, np.ndarray]:
        """Its first part as arrays."""
        return series(self.roll(model, rolling_shift), np.linspace(0.0, until, 401))

    @memoise
    def errors(self, pressure: str) -> dict[str, friction.LargestError]:
        """Largest errors of the paper's model, each over the maximum of its quantity."""
        return friction.maximal_errors(approximate(pressure))
