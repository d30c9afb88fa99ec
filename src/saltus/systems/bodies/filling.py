"""Many bodies at random places that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from saltus.contacts.gap import gap
from saltus.contacts.wall import Wall
from saltus.programs.arrays import numbers
from saltus.shapes.base import AbstractShape
from saltus.shapes.body import Body
from saltus.starts.filling import Gaps, Seat, Stock, random_seats
from saltus.systems.bodies.searches import round_axes
from saltus.systems.bodies.touch import wall_gap_of


def fill_box(
    shape: AbstractShape,
    count: int,
    size: Sequence[float],
    *,
    density: float = 1.0,
    speed: float = 1.0,
    spin: float = 1.0,
    seed: int = 0,
    periodic: bool = False,
    among: Sequence[Body] = (),
) -> list[Body]:
    """`count` bodies of one shape with random places, orientations and velocities in a box about the origin.

    Args:
        shape: Shape of every body.
        count: How many.
        size: Edge lengths of the box [m].
        density: Mass per volume [kg m-3].
        speed: Root mean square of each component of velocity [m s-1].
        spin: Root mean square of each component of angular velocity [rad s-1].
        seed: The same seed gives the same bodies.
        periodic: Whether the box has no walls.
        among: Bodies that are there already.
    """
    first = Body(shape, density=density)
    seats = random_seats(
        _stock(first), count, size, speed=speed, spin=spin, seed=seed, periodic=periodic,
        among=[_stock(body).at(np.asarray(body.center), np.asarray(body.quaternion)) for body in among],
        gaps=Gaps(_gap, _wall_gap),
    )  # fmt: skip
    return [
        first.with_motion(*(numbers(part) for part in (seat.center, velocity, seat.quaternion, angular_velocity)))
        for seat, velocity, angular_velocity in seats
    ]


def _stock(body: Body) -> Stock:
    return Stock(float(body.shape.radius()), round_axes(body.shape), type(body.shape).__name__, body)


def _gap(tried: Seat, other: Seat, offset: np.ndarray) -> float:
    return float(gap(_at(other, tried.center + offset), _at(tried, tried.center)).gap)


def _wall_gap(tried: Seat, normal: np.ndarray, offset: float) -> float:
    return float(wall_gap_of(Wall(numbers(normal), numbers(offset)), _at(tried, tried.center)).gap)


def _at(seat: Seat, center: np.ndarray) -> Body:
    return seat.body.with_motion(
        numbers(center), seat.body.velocity, numbers(seat.quaternion), seat.body.angular_velocity
    )
