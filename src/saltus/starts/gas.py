"""Starts of many bodies in a box with thermal velocities: what must hold of the box."""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus import checks

DENSEST = 0.60  # volume fraction beyond which no random start is tried
APART = 0.49  # radius over the distance of neighbours on a lattice up to which bodies need not grow
CRYSTAL = 0.9  # share of their size to which bodies are looked at before they are put into a crystal


def check_box(volume: float, radius: float, box: Any, periodic: Any) -> None:
    """Refuse boxes that cannot hold bodies of this volume together, the largest held by a ball of this radius."""
    checks.shaped("box", box, (3,), "Give three edge lengths.")
    checks.positive("box", box)
    box, longest = np.asarray(box, float), 2.0 * radius
    fraction = volume / float(np.prod(box))
    if fraction > DENSEST:
        raise ValueError(
            f"The volume fraction would be {fraction:.4g}; random starts reach {DENSEST:g} at most. "
            "Take a larger box or fewer bodies."
        )
    shortest = float(np.min(np.where(periodic, box, np.inf)))
    if shortest < 2.0 * longest:
        raise ValueError(
            f"The periodic box is too small: its shortest edge {shortest:g} m must be at least twice the "
            f"length {longest:g} m of the longest body. Take a larger box or more, smaller bodies."
        )
    if float(np.min(box)) < longest:
        raise ValueError(
            f"The box is too small: its shortest edge {float(np.min(box)):g} m must exceed the length {longest:g} m "
            "of the longest body. Take a larger box."
        )


def lattice_cells(n: int, box: np.ndarray) -> np.ndarray:
    """Points along each edge of a lattice that fills a box with at least so many of them."""
    per = np.ones(3, int)
    while np.prod(per) < n:
        per[np.argmax(box / per)] += 1
    return per


def first_scale(n: int, box: np.ndarray, radius: float) -> float:
    """Share of their size with which bodies fit on the points of a lattice; 1 if they need not grow."""
    return min(1.0, APART * float(np.min(box / lattice_cells(n, box))) / radius)


def crystal_cells(
    count: int, box: np.ndarray, axes: np.ndarray, volume: float, radius: float, is_round: bool
) -> np.ndarray:
    """Cells along each edge of a face-centred crystal of equal bodies that leaves the most room between them.

    Args:
        count: How many bodies.
        box: Edge lengths [m].
        axes: Semi-axes of each, or of an ellipsoid that looks like it [m].
        volume: Of all bodies together [m3].
        radius: Of a ball that holds one [m].
        is_round: Whether they are ellipsoids, which are refused where they would overlap.
    """
    if count % 4:
        raise ValueError(
            f"A face-centred crystal has four bodies in a cell, so that `count` must be a multiple of 4 (256 or 500, "
            f"say), got {count}. Take another `count`, or a random start."
        )
    check_box(volume * CRYSTAL**3, radius * CRYSTAL, box, True)
    per, room = _roomiest(count // 4, box / axes)
    if is_round and room < 2.0:
        fraction = volume / float(np.prod(box))
        raise ValueError(
            f"A crystal of {count} of these bodies in this box reaches a volume fraction of "
            f"{fraction * (room / 2.0) ** 3:.3g}, got {fraction:.3g}. Take a larger box, another `count`, or a random "
            "start."
        )
    return per


def _roomiest(count: int, box: np.ndarray) -> tuple[np.ndarray, float]:
    """Cells along each edge of a face-centred lattice, and the distance of neighbours in it; the largest there is."""
    found = []
    for one in (k for k in range(1, count + 1) if count % k == 0):
        for two in (k for k in range(1, count // one + 1) if count // one % k == 0):
            per = np.array([one, two, count // one // two])
            x, y, z = box / per
            found.append((min(x, y, z, np.hypot(x, y) / 2.0, np.hypot(y, z) / 2.0, np.hypot(x, z) / 2.0), per))
    room, per = max(found, key=lambda pair: pair[0])
    return per, float(room)
