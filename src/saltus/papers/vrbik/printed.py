"""The article's equations as printed, and corrected, to be held against the library.

Symbols as in the article: k links hang at angles φ, the edge particle is at (X, Y), X down and Y outward; unit masses,
lengths and gravity.
"""

from __future__ import annotations

import dataclasses
import math

import equinox as eqx
import numpy as np

from saltus import systems


@dataclasses.dataclass(frozen=True)
class Instant:
    """A chain at an instant."""

    links: int
    phi: np.ndarray
    edge: np.ndarray
    phi_rate: np.ndarray
    edge_rate: np.ndarray

    @property
    def k(self) -> int:
        """Number of hanging links."""
        return len(self.phi)

    @property
    def reach(self) -> float:
        """Distance r of the edge particle from the edge."""
        return math.hypot(*self.edge)

    @property
    def speed(self) -> float:
        """Rate of r, which is the speed of the table part."""
        return float(self.edge @ self.edge_rate) / self.reach

    @property
    def turning(self) -> float:
        """Rate of the direction of the edge link."""
        (x, y), (u, v) = self.edge, self.edge_rate
        return float(x * v - y * u) / self.reach**2


def instants(k: int) -> list[Instant]:
    """Six chains of six links, k of them hanging; always the same ones."""
    draw = np.random.default_rng(20 + k)
    return [
        Instant(6, draw.uniform(-1, 1.2, k), draw.uniform(0.1, 0.6, 2), draw.normal(0, 1, k), draw.uniform(0.1, 1, 2))
        for _ in range(6)
    ]


def accelerations(now: Instant, factor_j: bool, turning: float | None = None) -> np.ndarray:
    """Solution of (2): second derivatives of φ, X, Y.

    Args:
        now: The chain.
        factor_j: Whether the sums of rows X and Y carry the factor j that is missing in print.
        turning: Rate of the edge link's direction; the right one if None.
    """
    k, n = now.k, now.links
    turning = now.turning if turning is None else turning
    index = np.arange(1, k + 1)
    least = np.minimum.outer(index, index)
    difference = np.subtract.outer(now.phi, now.phi)
    sine, cosine = np.sin(now.phi), np.cos(now.phi)
    e = now.edge / now.reach
    matrix = np.zeros((k + 2, k + 2))
    matrix[:k, :k] = least * np.cos(difference)
    matrix[:k, k] = matrix[k, :k] = -index * sine
    matrix[:k, k + 1] = matrix[k + 1, :k] = index * cosine
    matrix[k:, k:] = (n - k) * np.outer(e, e) + (k + 1) * np.eye(2)
    weights = index if factor_j else np.ones(k)
    right = np.zeros(k + 2)
    right[:k] = -(least * np.sin(difference)) @ now.phi_rate**2 - index * sine
    right[k] = (weights * now.phi_rate**2) @ cosine + (k + 1)
    right[k + 1] = (weights * now.phi_rate**2) @ sine
    right[k:] -= (n - k) * now.edge * turning**2
    return np.linalg.solve(matrix, right)


@eqx.filter_jit
def _rate_and_energy(chain, state):
    return chain.rate(state).v, chain.kinetic_energy(state)


def _of_library(now: Instant):
    """Rates of the velocities, and the kinetic energy."""
    chain = systems.Chain(now.links, gravity=1.0)
    return _rate_and_energy(chain, chain.state_of(now.phi, now.edge, now.phi_rate, now.edge_rate))


def library_accelerations(now: Instant) -> np.ndarray:
    """Accelerations of angles and edge particle as the library has them."""
    rate = np.asarray(_of_library(now)[0])
    return np.concatenate([rate[: now.k], rate[now.links : now.links + 2]])


def error_of_2(hanging: tuple[int, ...], factor_j: bool, no_turning: bool = False) -> float:
    """Largest relative error of (2) for these numbers of hanging links."""
    worst = 0.0
    for k in hanging:
        for now in instants(k):
            wanted = library_accelerations(now)
            found = accelerations(now, factor_j, 0.0 if no_turning else None)
            worst = max(worst, float(np.abs(found - wanted).max() / np.abs(wanted).max()))
    return worst


def kinetic_1(now: Instant) -> float:
    """Kinetic energy by the Lagrangian (1), its root read as the rate of r."""
    index = np.arange(1, now.k + 1)
    least = np.minimum.outer(index, index)
    coupled = least * np.outer(now.phi_rate, now.phi_rate) * np.cos(np.subtract.outer(now.phi, now.phi))
    (u, v), k, n = now.edge_rate, now.k, now.links
    cross = (index * now.phi_rate) @ (v * np.cos(now.phi) - u * np.sin(now.phi))
    return (n - k) / 2 * now.speed**2 + (k + 1) / 2 * (u**2 + v**2) + coupled.sum() / 2 + cross


def error_of_1(hanging: tuple[int, ...]) -> float:
    """Largest relative error of the kinetic energy of (1)."""
    worst = 0.0
    for k in hanging:
        for now in instants(k):
            wanted = float(_of_library(now)[1])
            worst = max(worst, abs(kinetic_1(now) / wanted - 1.0))
    return worst


def error_of_3() -> float:
    """Largest relative error of the kinetic energy of (3), with the link k + 1 of length d, against the particles."""
    k, links = 2, 6
    draw, worst = np.random.default_rng(3), 0.0
    for _ in range(6):
        phi, rate = draw.uniform(-1, 1, k + 1), draw.normal(0, 1, k + 1)
        d, d_rate = draw.uniform(0.8, 1.4), draw.normal()
        place, velocity = draw.uniform(0.1, 0.6, 2), draw.normal(0, 1, 2)
        sine, cosine = np.sin(phi), np.cos(phi)
        base = Instant(links, phi[:k], place, rate[:k], velocity)
        index = np.arange(1, k + 1)
        (u, v), last = velocity, k
        bracket = (k + 1) * (u * cosine[last] + v * sine[last]) - (index * rate[:k]) @ np.sin(phi[:k] - phi[last])
        swing = (k + 1) * (v * cosine[last] - u * sine[last]) + (index * rate[:k]) @ np.cos(phi[:k] - phi[last])
        found = kinetic_1(base) + (k + 1) / 2 * d_rate**2 + d_rate * bracket
        found += (k + 1) / 2 * d**2 * rate[last] ** 2 + d * rate[last] * swing
        found += -(base.speed**2) / 2 + (u**2 + v**2) / 2
        wanted = _kinetic_of_particles(phi, rate, d, d_rate, velocity, base.speed, links)
        worst = max(worst, abs(found / wanted - 1.0))
    return worst


def _kinetic_of_particles(phi, rate, d, d_rate, velocity, table_speed, links) -> float:
    k = len(phi) - 1
    along = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    across = np.stack([-np.sin(phi), np.cos(phi)], axis=1)
    particle, total = velocity.copy(), velocity @ velocity
    for link in range(k, -1, -1):
        stretch, length = (d_rate, d) if link == k else (0.0, 1.0)
        particle = particle + stretch * along[link] + length * rate[link] * across[link]
        total += particle @ particle
    return 0.5 * total + 0.5 * (links - k - 1) * table_speed**2


def error_of_step_1() -> float:
    """Error of the printed start values of φ and d of the new link, at r = 1."""
    worst = 0.0
    for now in instants(1):
        scaled = dataclasses.replace(now, edge=now.edge / now.reach)
        x, y = scaled.edge
        speed = scaled.speed
        relative = scaled.edge_rate - np.array([0.0, speed])  # of particle k + 1 against the one that crosses
        true = (-y * relative[0] + x * relative[1], x * relative[0] + y * relative[1])
        printed = (scaled.turning - x * speed, (1.0 - y) * speed)
        worst = max(worst, *(abs(a - b) for a, b in zip(true, printed, strict=True)))
    return worst
