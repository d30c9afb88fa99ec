"""Many bodies at random places that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np

from saltus import checks
from saltus.contacts.gap import gap
from saltus.contacts.round_gaps import ellipsoid_gaps, forms_of, overlap_deeply
from saltus.contacts.wall import Wall
from saltus.programs.arrays import numbers
from saltus.shapes.base import AbstractShape
from saltus.shapes.body import Body, unit
from saltus.systems.bodies.searches import round_axes
from saltus.systems.bodies.touch import wall_gap_of

TRIES = 4000  # random places per body before the box counts as full
CLEARANCE = 1e-3  # of the radius, between any two bodies at the start


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
    checks.positive("size of the box", size)
    random = np.random.default_rng(seed)
    edges = np.asarray(size, float)
    radius = float(shape.radius())
    placed = [(np.asarray(body.center), body, float(body.shape.radius())) for body in among]
    first = Body(shape, density=density)
    found: list[Body] = []
    while len(found) < count:
        for _ in range(TRIES):
            center = (random.random(3) - 0.5) * edges
            quaternion = random.standard_normal(4)
            candidate = eqx.tree_at(lambda b: (b.center, b.quaternion), first, (center, unit(quaternion)))
            if _fits(candidate, placed, edges, radius, periodic):
                break
        else:
            raise ValueError(
                f"Only {len(found)} of {count} bodies fit into the box of {edges.tolist()} m at random places. "
                "Take a larger box or fewer bodies."
            )
        motion = speed * random.standard_normal(3), spin * random.standard_normal(3)
        body = candidate.with_motion(
            *(numbers(part) for part in (candidate.center, motion[0], candidate.quaternion, motion[1]))
        )
        found.append(body)
        placed.append((center, body, radius))
    return found


def _fits(body: Body, placed, size: np.ndarray, radius: float, periodic: bool) -> bool:
    """Whether a body is clear of the walls and of all that are placed already."""
    center = np.asarray(body.center)
    clear = CLEARANCE * radius
    if not periodic and (np.abs(center) > size / 2 - radius).any():
        for axis in range(3):
            for sign in (1.0, -1.0):
                wall = Wall(numbers(sign * np.eye(3)[axis]), numbers(-size[axis] / 2))
                if _wall_gap(wall, body) < clear:
                    return False
    for place, other, reach in placed:
        apart = place - center
        if periodic:
            apart = apart - size * np.round(apart / size)
        distance = float(np.linalg.norm(apart))
        if distance > radius + reach + clear:
            continue
        near = eqx.tree_at(lambda b: b.center, other, center + apart)
        if type(near.shape) is not type(body.shape) or not _are_apart(near, body, clear):
            return False
    return True


def _form(body: Body) -> np.ndarray | None:
    """The form of an ellipsoid; None for other shapes."""
    axes = round_axes(body.shape)
    return None if axes is None else forms_of(axes[None], np.asarray(body.quaternion)[None])


def _are_apart(one: Body, two: Body, clear: float) -> bool:
    """Whether the gap of two bodies is this large at least."""
    first, second = _form(one), _form(two)
    if first is not None and second is not None:
        offset = np.asarray(two.center) - np.asarray(one.center)
        distance = np.linalg.norm(offset)
        reach = np.sqrt(offset @ first[0] @ offset) + np.sqrt(offset @ second[0] @ offset)
        if distance * distance - reach > clear * distance:  # already along the line of the centres
            return True
        pair = first, second, offset[None]
        if overlap_deeply(*pair)[0]:
            return False
        found, sure = ellipsoid_gaps(*pair)
        if sure[0]:
            return float(found[0]) >= clear
    return float(gap(_number(one), _number(two)).gap) >= clear


def _wall_gap(wall: Wall, body: Body) -> float:
    form = _form(body)
    if form is None:
        return float(wall_gap_of(wall, _number(body)).gap)
    normal = np.asarray(wall.normal)
    return float(normal @ np.asarray(body.center) - np.asarray(wall.offset) - np.sqrt(normal @ form[0] @ normal))


def _number(body: Body) -> Body:
    return jax.tree.map(numbers, body)
