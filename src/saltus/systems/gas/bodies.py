"""Many bodies as plain arrays, and as rows for the loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Array

from saltus.numerics.on_host import rotation_matrices
from saltus.programs import brief_program, program
from saltus.programs.arrays import numbers
from saltus.shapes import AbstractShape, alike
from saltus.systems.gas.flight import (
    FREEDOM,
    KIND,
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
    settle_row,
)


@dataclasses.dataclass(frozen=True)
class Shapes:
    """Shapes of bodies that are not all ellipsoids.

    Args:
        stock: One shape of each kind, stacked.
        kind: Which of them each body has (n,).
        hull: Semi-axes of ellipsoids that hold the bodies (n, 3) [m].
        radius: Radii of balls that hold them (n,) [m].
        volume: Their volumes (n,) [m3].
        symmetric: About which of its axes each is a body of revolution (n, 3).
    """

    stock: AbstractShape
    kind: np.ndarray
    hull: np.ndarray
    radius: np.ndarray
    volume: np.ndarray
    symmetric: np.ndarray

    @staticmethod
    def of(kinds: Sequence[AbstractShape], kind: np.ndarray) -> Shapes:
        """Bodies of these kinds of shapes."""
        symmetric = np.stack([shape.symmetries() for shape in kinds])
        return Shapes.of_stack(alike(kinds), kind, symmetric)

    @staticmethod
    def of_stack(stock: AbstractShape, kind: np.ndarray, symmetric: np.ndarray) -> Shapes:
        """Bodies of kinds of shapes that are stacked already."""
        hull, radius, volume = (np.asarray(part) for part in _extents(stock))
        return Shapes(stock, kind, hull[kind], radius[kind], volume[kind], symmetric[kind])

    def exponents(self) -> np.ndarray:
        """Of superellipsoids (n, 3); 2 for what is none."""
        known = getattr(self.stock, "exponents", None)
        return np.full((len(self.kind), 3), 2.0) if known is None else np.asarray(known)[self.kind]


@dataclasses.dataclass(frozen=True)
class Bodies:
    """Bodies as arrays with one row each; quaternions body to lab, angular momentum in the lab.

    Args:
        axes: Semi-axes (n, 3) [m]; of ellipsoids that look like the bodies, where they are none.
        mass: Masses (n,) [kg].
        inertia: Principal moments of inertia (n, 3) [kg m2].
        place: Centres (n, 3) [m].
        velocity: Velocities (n, 3) [m s-1].
        quaternion: Orientations (n, 4).
        momentum: Angular momenta (n, 3) [kg m2 s-1].
        shapes: What shapes they have; ellipsoids if not given.
    """

    axes: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    place: np.ndarray
    velocity: np.ndarray
    quaternion: np.ndarray
    momentum: np.ndarray
    shapes: Shapes | None = None

    @property
    def n(self) -> int:
        """How many."""
        return len(self.mass)

    @property
    def volume(self) -> float:
        """Of all bodies together."""
        if self.shapes is not None:
            return float(self.shapes.volume.sum())
        return float(4.0 / 3.0 * np.pi * np.sum(np.prod(self.axes, axis=1)))

    @property
    def hull(self) -> np.ndarray:
        """Semi-axes of ellipsoids that hold the bodies (n, 3)."""
        return self.axes if self.shapes is None else self.shapes.hull

    @property
    def radius(self) -> np.ndarray:
        """Radii of balls that hold the bodies (n,)."""
        return self.axes.max(axis=1) if self.shapes is None else self.shapes.radius

    @property
    def symmetric(self) -> np.ndarray:
        """About which of its axes each is a body of revolution (n, 3)."""
        if self.shapes is not None:
            return self.shapes.symmetric
        return np.stack([self.axes[:, (k + 1) % 3] == self.axes[:, (k + 2) % 3] for k in range(3)], axis=1)

    def spin(self, turns: np.ndarray | None = None) -> np.ndarray:
        """Angular momentum along each body's own axes; `turns` are their rotation matrices, where they are known."""
        turns = rotation_matrices(self.quaternion) if turns is None else turns
        return np.einsum("nij,ni->nj", turns, self.momentum)

    def translation(self) -> np.ndarray:
        """Kinetic energy of translation of each body."""
        return 0.5 * self.mass * np.sum(self.velocity**2, axis=1)

    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic energy of translation and of rotation of each body."""
        return self.translation(), 0.5 * np.sum(self.spin() ** 2 / self.inertia, axis=1)


def shape_at(stock: AbstractShape, kind: Array) -> AbstractShape:
    """One of the shapes that are stacked."""
    return jax.tree.map(lambda leaf: leaf[kind], stock)


def flight_of(bodies: Bodies) -> Flight:
    """Closed forms where every body is an ellipsoid of revolution, else series."""
    round_bodies = bodies.shapes is None and bool(np.all(bodies.symmetric.any(axis=1)))
    return RoundFlight() if round_bodies else SeriesFlight()


def rows_of(flight: Flight, bodies: Bodies, walls: np.ndarray) -> Array:
    """The rows of bodies, of walls (normal and offset) and the spare one, with clocks at zero."""
    n, n_walls = bodies.n, len(walls)
    rows = np.zeros((n + n_walls + 1, flight.WIDTH))
    rows[:, QUATERNION.start] = 1.0
    rows[:n, PLACE], rows[:n, VELOCITY] = bodies.place, bodies.velocity
    rows[:n, QUATERNION], rows[:n, MOMENTUM] = bodies.quaternion, bodies.momentum
    rows[:n, SQUARES], rows[:n, FREEDOM] = bodies.hull**2, 1.0 / bodies.inertia
    rows[:n, LIGHTNESS], rows[:n, RADIUS] = 1.0 / bodies.mass, bodies.radius
    if bodies.shapes is not None:
        rows[:n, KIND] = bodies.shapes.kind
    rows[n : n + n_walls, PLACE] = walls[:, :3] * walls[:, 3:]
    rows[-1, SQUARES] = 1.0
    return _settle(flight, numbers(rows))


@program
def _extents(stock: AbstractShape) -> tuple[Array, Array, Array]:
    return jax.vmap(lambda shape: (shape.hull_axes(), shape.radius(), shape.volume()))(stock)


@brief_program
def _settle(flight: Flight, rows: Array) -> Array:
    return jax.vmap(lambda row: settle_row(flight, row))(rows)
