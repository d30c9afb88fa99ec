"""Many bodies as plain arrays, and as rows for the loop."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
from jaxtyping import Array

from saltus.programs import program
from saltus.programs.arrays import numbers
from saltus.systems.gas.flight import (
    FREEDOM,
    LIGHTNESS,
    MOMENTUM,
    PLACE,
    QUATERNION,
    RADIUS,
    SQUARES,
    VELOCITY,
    Flight,
    RoundFlight,
    SeriesFlight,
    settled,
)


@dataclasses.dataclass(frozen=True)
class Bodies:
    """Ellipsoids as arrays with one row each; quaternions body to lab, angular momentum in the lab.

    Args:
        axes: Semi-axes (n, 3) [m].
        mass: Masses (n,) [kg].
        inertia: Principal moments of inertia (n, 3) [kg m2].
        place: Centres (n, 3) [m].
        velocity: Velocities (n, 3) [m s-1].
        quaternion: Orientations (n, 4).
        momentum: Angular momenta (n, 3) [kg m2 s-1].
    """

    axes: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    place: np.ndarray
    velocity: np.ndarray
    quaternion: np.ndarray
    momentum: np.ndarray

    @property
    def n(self) -> int:
        """How many."""
        return len(self.mass)

    @property
    def volume(self) -> float:
        """Of all bodies together."""
        return float(4.0 / 3.0 * np.pi * np.sum(np.prod(self.axes, axis=1)))

    def spin(self) -> np.ndarray:
        """Angular momentum along each body's own axes."""
        return np.einsum("nij,ni->nj", matrices(self.quaternion), self.momentum)

    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic energy of translation and of rotation of each body."""
        return 0.5 * self.mass * np.sum(self.velocity**2, axis=1), 0.5 * np.sum(self.spin() ** 2 / self.inertia, axis=1)


def matrices(q: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions (n, 4), body to lab."""
    w, x, y, z = q.T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1),
        ],
        axis=-2,
    )


def flight_of(axes: np.ndarray) -> Flight:
    """Closed forms where every body is one of revolution, else series."""
    a, b, c = axes.T
    return RoundFlight() if np.all((a == b) | (b == c) | (a == c)) else SeriesFlight()


def rows_of(flight: Flight, bodies: Bodies, walls: np.ndarray) -> Array:
    """The rows of bodies, of walls (normal and offset) and the spare one, with clocks at zero."""
    n, n_walls = bodies.n, len(walls)
    rows = np.zeros((n + n_walls + 1, flight.WIDTH))
    rows[:, QUATERNION.start] = 1.0
    rows[:n, PLACE], rows[:n, VELOCITY] = bodies.place, bodies.velocity
    rows[:n, QUATERNION], rows[:n, MOMENTUM] = bodies.quaternion, bodies.momentum
    rows[:n, SQUARES], rows[:n, FREEDOM] = bodies.axes**2, 1.0 / bodies.inertia
    rows[:n, LIGHTNESS], rows[:n, RADIUS] = 1.0 / bodies.mass, bodies.axes.max(axis=1)
    rows[n : n + n_walls, PLACE] = walls[:, :3] * walls[:, 3:]
    rows[-1, SQUARES] = 1.0
    return _settled(flight, numbers(rows))


@program
def _settled(flight: Flight, rows: Array) -> Array:
    return jax.vmap(lambda row: settled(flight, row))(rows)
