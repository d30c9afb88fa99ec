"""How large the lists, cells and skins of a fluid are made."""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.numerics.elliptic import rg
from saltus.systems.gas.arena import Arena
from saltus.systems.gas.bodies import Bodies, flight_of
from saltus.systems.gas.neighbours import WORD

NEIGHBOURS = 14  # wanted on average; fewer cost more new lists, more cost more looks
FEW = 48  # bodies that may all be neighbours of each other, where no images of them are to be told apart
LARGEST_SKIN = 1.5  # in units of the mean radius


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The skin, and the arena that goes with it."""

    skin: float
    arena: Arena


def sizes(bodies: Bodies, region: np.ndarray, periodic: np.ndarray, n_walls: int, *, scale=1.0, log=0) -> Sizes:
    """Sizes for bodies in a box.

    Args:
        bodies: The bodies.
        region: Edge lengths of the box, or of what the bodies fill.
        periodic: Along which edges it is periodic.
        n_walls: How many walls there are.
        scale: The largest factor by which the bodies will have grown.
        log: How many contacts of a call are to be kept.
    """
    axes = bodies.hull * scale
    if len(axes) <= FEW and not np.any(periodic):
        return _few(bodies, n_walls, log)
    radius, mean = float(axes.max()), float(np.mean(np.prod(axes, axis=1) ** (1 / 3)))
    skin = _skin(axes, len(axes) / float(np.prod(region)), mean)
    room = float(np.min(np.where(periodic, region, np.inf)))
    # Where the box is large enough, the nearest image of a body is the only one that matters.
    alone = room / 4.0 - radius
    if alone > 0.15 * mean:
        skin = min(skin, alone)
    reach = 2.0 * (radius + skin)
    x, y, z = (bool(p and edge < 2.0 * reach) for p, edge in zip(periodic, region, strict=True))
    many = (x, y, z)
    width, depth, height = (1 if m else _cells(edge, reach) for m, edge in zip(many, region, strict=True))
    shape = (width, depth, height)
    expected = len(axes) / np.prod(shape)
    seats = min(len(axes), int(np.ceil(expected + 6.0 * np.sqrt(expected) + 4.0)))
    arena = Arena(
        n=len(axes),
        walls=n_walls,
        flight=flight_of(bodies),
        room=32,
        cells=shape,
        cell_room=_round(seats),
        many=many,
        log=log,
    )
    return Sizes(skin, arena)


def _cells(edge: float, reach: float) -> int:
    """Cells along an edge; of three or fewer a body would look into all, and one cell has the fewest empty seats."""
    count = int(edge // reach)
    return count if count > 3 else 1


def _few(bodies: Bodies, n_walls: int, log: int) -> Sizes:
    """Lists of all bodies, which nobody ever leaves."""
    room = -(-max(bodies.n - 1, 1) // 8) * 8
    arena = Arena(
        bodies.n, n_walls, flight_of(bodies), room, (1, 1, 1), WORD, (False, False, False), log, everyone=True
    )
    return Sizes(1e100, arena)


def larger(arena: Arena, lists: bool) -> Arena:
    """The arena with more room in the lists, or in the cells."""
    if lists:
        return dataclasses.replace(arena, room=arena.room + max(16, arena.room // 2 // 16 * 16))
    return dataclasses.replace(arena, cell_room=arena.cell_room + WORD)


def _round(seats: int) -> int:
    return -(-seats // WORD) * WORD


def _skin(axes: np.ndarray, density: float, mean: float) -> float:
    """The skin with which a body has about NEIGHBOURS of them in a random arrangement."""
    low, high, measures = 0.0, LARGEST_SKIN * mean, _mean_measures(axes)
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if density * _excluded(measures, middle) < NEIGHBOURS else (low, middle)
    return max(0.5 * (low + high), 0.02 * mean)


def excluded_volume(axes: np.ndarray) -> float:
    """Mean volume in which the centre of one body cannot be for another, over all orientations (Isihara and Hadwiger).

    Args:
        axes: Semi-axes of the bodies (n, 3); their means enter.
    """
    return _excluded(_mean_measures(axes), 0.0)


def _excluded(measures: np.ndarray, skin: float) -> float:
    """Mean excluded volume of bodies with these mean measures, each inflated by a skin."""
    volume, surface, curvature = measures
    volume = volume + surface * skin + curvature * skin**2 + 4.0 / 3.0 * np.pi * skin**3
    surface, curvature = surface + 2.0 * curvature * skin + 4.0 * np.pi * skin**2, curvature + 4.0 * np.pi * skin
    return 2.0 * volume + surface * curvature / (2.0 * np.pi)


def _mean_measures(axes: np.ndarray) -> np.ndarray:
    """Volume, surface, and integral of the mean curvature of ellipsoids, averaged over them."""
    kinds, counts = np.unique(axes, axis=0, return_counts=True)
    return np.average(np.array([_measures(*kind) for kind in kinds.tolist()]), axis=0, weights=counts)


def _measures(a: float, b: float, c: float) -> tuple[float, float, float]:
    """Volume, surface, and integral of the mean curvature of an ellipsoid."""
    surface, width = rg((a * b) ** 2, (b * c) ** 2, (c * a) ** 2), rg(a * a, b * b, c * c)
    return 4.0 / 3.0 * np.pi * a * b * c, 4.0 * np.pi * surface, 4.0 * np.pi * width
