"""Starts of rigid bodies: what must hold, and whether bodies certainly do not overlap."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from saltus import checks
from saltus.contacts.round_gaps import ellipsoid_gaps, forms_of
from saltus.contacts.slabs import Hull, widest_slab
from saltus.numerics.on_host import rotation_matrices

MANY = 1000
OVERLAP = 1e-11  # of the size; deeper overlaps at the start are refused


class Placed(NamedTuple):
    """A superellipsoid at its place: semi-axes, largest exponent, centre, quaternion of length 1, and radius."""

    axes: np.ndarray
    exponent: float
    center: np.ndarray
    quaternion: np.ndarray
    radius: float

    @property
    def is_round(self) -> bool:
        """Whether it is an ellipsoid or a ball."""
        return self.exponent == 2.0

    @property
    def hull(self) -> Hull:
        """It, by its support function."""
        return Hull(self.axes, self.exponent, rotation_matrices(self.quaternion[None])[0])


def refuse_overlap(first: int, second: int, depth: float, n: int) -> None:
    """Refuse bodies that overlap; partners from the number of bodies on are walls."""
    where = f"wall {second - n}" if second >= n else f"body {second}"
    raise ValueError(f"Body {first} overlaps {where} by {depth:.3g} m at the start. Move them apart; they may touch.")


def unit_walls(normals: Any, offsets: Any, xp: Any = np) -> tuple[Any, Any]:
    """Walls normal . x > offset with normals of length 1."""
    normals, offsets = xp.asarray(normals, float), xp.asarray(offsets, float)
    checks.finite("wall normals", normals)
    lengths = xp.sqrt(xp.sum(normals * normals, axis=1))
    checks.positive("length of a wall's normal", lengths)
    return normals / lengths[:, None], offsets / lengths


def image_shift(period: Any, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Whole periods to be added to `second` so that it is nearest to `first`."""
    if period is None:
        return np.zeros(np.broadcast(first, second).shape)
    period = np.asarray(period)
    return -period * np.round((second - first) / period)


def are_apart(bodies: Sequence[Placed], walls: tuple[np.ndarray, np.ndarray] | None, period: Any) -> bool:
    """Whether bodies certainly overlap neither each other nor walls; the first overlap that is certain is refused.

    False where it is not certain, or there are too many to compare all pairs.
    """
    if len(bodies) > MANY:
        return False
    centers, radius = np.stack([body.center for body in bodies]), np.array([body.radius for body in bodies])
    first, second = np.triu_indices(len(bodies), 1)
    shifts = image_shift(period, centers[second], centers[first])
    offset = centers[second] - centers[first] - shifts
    near = np.linalg.norm(offset, axis=1) <= (radius[first] + radius[second]) * (1.0 + 1e-9)
    first, second = first[near], second[near]
    allowed = OVERLAP * (radius[first] + radius[second])
    gaps, sure = _gaps(bodies, first, second, offset[near], allowed)
    if not sure.all():
        return False
    for i, j, gap, room in zip(first, second, gaps, allowed, strict=True):
        if gap < -room:
            refuse_overlap(int(j), int(i), -gap, len(bodies))
    if walls is not None:
        for i, (wall, (normal, floor)) in itertools.product(range(len(bodies)), enumerate(zip(*walls, strict=True))):
            gap = float(normal @ centers[i] - floor - bodies[i].hull.support(normal)[0])
            if gap < -OVERLAP * radius[i]:
                if not bodies[i].is_round:
                    return False
                refuse_overlap(i, len(bodies) + wall, -gap, len(bodies))
    return True


def _gaps(bodies: Sequence[Placed], first, second, offset, allowed) -> tuple[np.ndarray, np.ndarray]:
    """Gaps of pairs, or lower bounds that show that they do not overlap; and whether that is certain of each."""
    is_round = np.array([body.is_round for body in bodies])
    gaps, sure = np.zeros(len(first)), np.zeros(len(first), bool)
    plain = is_round[first] & is_round[second]
    if plain.any():
        forms = forms_of(np.stack([body.axes for body in bodies]), np.stack([body.quaternion for body in bodies]))
        gaps[plain], sure[plain] = ellipsoid_gaps(forms[first[plain]], forms[second[plain]], offset[plain])
    for k in np.flatnonzero(~plain & offset.any(axis=1)):
        gaps[k] = widest_slab(bodies[first[k]].hull, bodies[second[k]].hull, offset[k], enough=0.0)
        sure[k] = gaps[k] > -0.5 * allowed[k]
    return gaps, sure
