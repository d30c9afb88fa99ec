"""The chain with no law of the jerk at all: a new link is pulled taut by a large but finite force.

This is the model from which the article takes its limit. Sliding is done by the library; while a link lengthens, the
particles off the table are integrated here, with the constant force in that link and a tether over the edge.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.integrate import solve_ivp

from saltus import systems
from saltus.simulation import simulate

HEAD_START = 1e-7  # of 1/force: how long after the crossing the integration begins, off the singular point
GRAVITY = np.array([1.0, 0.0])


@dataclasses.dataclass(frozen=True)
class Slide:
    """A chain that has slid off with a finite force: when the last particle left, and how fast all went then."""

    exit_time: float
    velocity: np.ndarray
    energy_lost: float


def slide(links: int, overhang: float, force: float) -> Slide:
    """Unit masses, lengths and gravity; every jerk by this force."""
    lengths = np.ones(links)
    chain = systems.Chain(links, length=lengths, gravity=1.0)
    state, lost = chain.start(overhang), 0.0
    while True:
        crossing = _crossing(chain, state)
        places, speeds, speed, k = _at_crossing(chain, crossing)
        energy = _energy(places, speeds, links, speed)
        duration, places, speeds = _engage(places, speeds, speed, links - k - 1, force)
        t = float(crossing.t) + duration
        lengths[k] = np.linalg.norm(places[k] - places[k + 1])
        outward = places[-1] / np.linalg.norm(places[-1])
        lost += energy - _energy(places, speeds, links, float(outward @ speeds[-1]))
        if k + 1 == links:
            return Slide(float(crossing.t), speeds, lost)
        chain = systems.Chain(links, length=lengths, gravity=1.0)
        state = chain.state(places, speeds, t)


def _crossing(chain: systems.Chain, state):
    """The state just before the next particle crosses the edge."""
    for count in (1, 2, 3, 4, 6, 9):
        run = simulate(chain, state, float(state.t) + 100.0, rtol=1e-12, atol=1e-14, max_events=count)
        found = [event for event in run.events if event.name in ("crossing", "exit")]
        if found:
            return found[0].before
    raise RuntimeError("No particle crosses the edge.")


def _at_crossing(chain: systems.Chain, state):
    """Particles off the table with the one that crosses, speed of the table part, number of hanging links."""
    k = int(state.mode[0])
    seen = chain.observe(state)
    places, speeds = (np.asarray(seen[name])[: k + 1] for name in ("position", "velocity"))
    speed = float(seen["table_speed"])
    return np.vstack([places, np.zeros(2)]), np.vstack([speeds, [0.0, speed]]), speed, k


def _energy(places: np.ndarray, speeds: np.ndarray, links: int, table_speed: float) -> float:
    on_table = links + 1 - len(places)
    return 0.5 * (speeds**2).sum() + 0.5 * on_table * table_speed**2 - places[:, 0].sum()


def _engage(places: np.ndarray, speeds: np.ndarray, speed: float, table_mass: float, force: float):
    """Pull the last link until it no longer lengthens: duration, places and velocities then."""
    count, wait = len(places), HEAD_START / force
    start = np.concatenate([(places + wait * speeds).ravel(), speeds.ravel()])

    def rate(_, y):
        place, velocity = y.reshape(2, count, 2)
        return np.concatenate([velocity.ravel(), _accelerations(place, velocity, table_mass, force).ravel()])

    def lengthening(_, y):
        place, velocity = y.reshape(2, count, 2)
        return (place[-2] - place[-1]) @ (velocity[-2] - velocity[-1])

    lengthening.terminal, lengthening.direction = True, -1  # type: ignore[attr-defined]
    span = (wait, 100.0 * max(speed, 1.0) * (count + table_mass) / force)
    found = solve_ivp(rate, span, start, method="DOP853", rtol=1e-11, atol=1e-14, events=lengthening)
    place, velocity = found.y[:, -1].reshape(2, count, 2)
    return float(found.t[-1]), place, velocity


def _accelerations(place: np.ndarray, velocity: np.ndarray, table_mass: float, force: float) -> np.ndarray:
    """Rigid links, the force in the last one, and the tether over the edge."""
    apart, relative = place[:-1] - place[1:], velocity[:-1] - velocity[1:]
    length = np.linalg.norm(apart, axis=1)
    along = apart / length[:, None]
    tension = np.empty(len(along))
    tension[-1] = force
    rigid = len(along) - 1
    if rigid:
        turning = (relative**2).sum(axis=1) - (relative * along).sum(axis=1) ** 2
        cosines = (along[:-1] * along[1:]).sum(axis=1)
        matrix = 2.0 * np.eye(rigid) - np.diag(cosines[: rigid - 1], 1) - np.diag(cosines[: rigid - 1], -1)
        right = turning[:rigid] / length[:rigid]
        right[-1] += cosines[rigid - 1] * force
        tension[:rigid] = np.linalg.solve(matrix, right)
    acceleration = np.tile(GRAVITY, (len(place), 1))
    acceleration[:-1] -= tension[:, None] * along
    acceleration[1:] += tension[:, None] * along
    if table_mass:
        reach = math.hypot(*place[-1])
        outward = place[-1] / reach
        across = outward[0] * velocity[-1, 1] - outward[1] * velocity[-1, 0]
        tether = (outward @ acceleration[-1] + across**2 / reach) / (1.0 + 1.0 / table_mass)
        acceleration[-1] -= tether * outward
    return acceleration
