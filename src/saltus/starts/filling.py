"""Random places of many bodies in a box, so that none overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from saltus import checks
from saltus.contacts.round_gaps import ellipsoid_gaps, forms_of, overlap_deeply

TRIES = 4000  # random places per body before the box counts as full
CLEARANCE = 1e-3  # of the radius, between any two bodies at the start


class Seat(NamedTuple):
    """A body at a place.

    Args:
        center: Of the body [m].
        quaternion: Its orientation, of length 1.
        radius: Of a ball about the centre that holds it [m].
        form: Of an ellipsoid (`round_gaps.forms_of`), of shape (1, 3, 3); None for other shapes.
        kind: Name of its shape.
        body: What `Gaps` needs to know of it.
    """

    center: np.ndarray
    quaternion: np.ndarray
    radius: float
    form: np.ndarray | None
    kind: str
    body: Any


class Stock(NamedTuple):
    """Equal bodies: radius of a ball that holds one, semi-axes of an ellipsoid, name of their shape, and a body."""

    radius: float
    axes: np.ndarray | None
    kind: str
    body: Any = None

    def at(self, center: np.ndarray, quaternion: np.ndarray) -> Seat:
        """One of them at a place."""
        form = None if self.axes is None else forms_of(self.axes[None], quaternion[None])
        return Seat(center, quaternion, self.radius, form, self.kind, self.body)


class UnknownGapError(Exception):
    """A gap that NumPy does not tell."""


class Gaps(NamedTuple):
    """How gaps are found where bodies are no ellipsoids, or so near that NumPy cannot be sure.

    Args:
        of_pair: Gap of two seats, of which the second is moved by a shift [m].
        of_wall: Gap of a seat to a face of the box, by the face's inward normal and offset [m].
    """

    of_pair: Callable[[Seat, Seat, np.ndarray], float]
    of_wall: Callable[[Seat, np.ndarray, float], float]


def random_seats(
    stock: Stock,
    count: int,
    size: Sequence[float],
    *,
    speed: float,
    spin: float,
    seed: int,
    periodic: bool,
    among: Sequence[Seat],
    gaps: Gaps | None = None,
) -> Iterator[tuple[Seat, np.ndarray, np.ndarray]]:
    """Seats of equal bodies in a box about the origin, with random velocities and angular velocities.

    Args:
        stock: What bodies.
        count: How many.
        size: Edge lengths of the box [m].
        speed: Root mean square of each component of velocity [m s-1].
        spin: Root mean square of each component of angular velocity [rad s-1].
        seed: The same seed gives the same seats.
        periodic: Whether the box has no walls.
        among: Bodies that are there already.
        gaps: How gaps are found that NumPy does not tell; without them `UnknownGapError` is raised there.
    """
    checks.positive("size of the box", size)
    random, edges, placed = np.random.default_rng(seed), np.asarray(size, float), list(among)
    for found in range(count):
        for _ in range(TRIES):
            center = (random.random(3) - 0.5) * edges
            quaternion = random.standard_normal(4)
            quaternion = quaternion / np.sqrt((quaternion * quaternion).sum())
            tried = stock.at(center, quaternion)
            if _fits(tried, placed, edges, periodic, gaps):
                break
        else:
            raise ValueError(
                f"Only {found} of {count} bodies fit into the box of {edges.tolist()} m at random places. "
                "Take a larger box or fewer bodies."
            )
        placed.append(tried)
        yield tried, speed * random.standard_normal(3), spin * random.standard_normal(3)


def _fits(tried: Seat, placed: Sequence[Seat], size: np.ndarray, periodic: bool, gaps: Gaps | None) -> bool:
    """Whether a body is clear of the walls and of all that are placed already."""
    center, clear = tried.center, CLEARANCE * tried.radius
    if not periodic and (np.abs(center) > size / 2 - tried.radius).any():
        for axis in range(3):
            for sign in (1.0, -1.0):
                if _wall_gap(tried, sign * np.eye(3)[axis], -size[axis] / 2, gaps) < clear:
                    return False
    for other in placed:
        apart = other.center - center
        if periodic:
            apart = apart - size * np.round(apart / size)
        distance = float(np.linalg.norm(apart))
        if distance > tried.radius + other.radius + clear:
            continue
        if other.kind != tried.kind or not _are_apart(tried, other, apart, clear, gaps):
            return False
    return True


def _are_apart(tried: Seat, other: Seat, offset: np.ndarray, clear: float, gaps: Gaps | None) -> bool:
    """Whether the gap of two bodies is this large at least."""
    first, second = other.form, tried.form
    if first is not None and second is not None:
        distance = np.linalg.norm(offset)
        reach = np.sqrt(offset @ first[0] @ offset) + np.sqrt(offset @ second[0] @ offset)
        if distance * distance - reach > clear * distance:  # already along the line of the centres
            return True
        pair = first, second, -offset[None]
        if overlap_deeply(*pair)[0]:
            return False
        found, sure = ellipsoid_gaps(*pair)
        if sure[0]:
            return float(found[0]) >= clear
    if gaps is None:
        raise UnknownGapError
    return gaps.of_pair(tried, other, offset) >= clear


def _wall_gap(tried: Seat, normal: np.ndarray, offset: float, gaps: Gaps | None) -> float:
    if tried.form is None:
        if gaps is None:
            raise UnknownGapError
        return gaps.of_wall(tried, normal, offset)
    return float(normal @ tried.center - offset - np.sqrt(normal @ tried.form[0] @ normal))
