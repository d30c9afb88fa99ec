"""Starts of a chain over the edge of a table: what must hold, for numbers that are known."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from saltus import checks

CREATE_ENERGY = ("printed",)  # laws of engagement


def check_pieces(name: str, value: Any, count: int, what: str) -> None:
    """Refuse what is neither one positive number nor one for each piece."""
    if checks.shape_of(value) != ():
        checks.shaped(name, value, (count,), f"Give one number for all, or {count} of them, {what}, from the free end.")
    checks.positive(name, value)


def check_static_friction(static: Any, sliding: Any) -> None:
    """Refuse friction at rest that is less than that of sliding; traced numbers pass."""
    checks.nonnegative("static_friction", static)
    high, low = checks.concrete(static), checks.concrete(sliding)
    if high is not None and low is not None and high < low:
        raise ValueError(f"`static_friction` must be >= `table_friction` = {float(low):g}, got {float(high):g}.")


def warn_of_energy(engagement: str, stacklevel: int = 2) -> None:
    """Say that a law of engagement creates energy."""
    warnings.warn(
        f"The engagement law {engagement!r} creates energy. Use 'limit' for results to rely on.",
        stacklevel=stacklevel + 1,
    )


def split_overhang(lengths: np.ndarray, overhang: float, angle: float | None) -> tuple[int, float, float]:
    """Number of hanging links, length of the piece from the edge to them [m], and its angle [rad].

    Args:
        lengths: Of the links, from the free end [m].
        overhang: Length over the edge [m].
        angle: From the downward vertical at which the piece leaves the edge; None for the usual one [rad].
    """
    total = float(lengths.sum())
    if not 0.0 < overhang < total:
        raise ValueError(
            f"`overhang` must be > 0 and less than the chain of {total:g} m, got {float(overhang):g}. "
            "At rest with nothing over the edge the chain stays where it is."
        )
    # Within rounding of a whole number of links, the next particle is in the edge.
    hanging = int(np.searchsorted(np.cumsum(lengths) * (1.0 - 1e-12), overhang, side="right"))
    rest = max(float(overhang) - float(lengths[:hanging].sum()), 0.0)
    if angle is None:
        angle = math.pi / 2 if hanging == 0 else 0.0
    checks.between("angle", angle, -math.pi / 2, math.pi / 2, "It is in radians, from the downward vertical.")
    return hanging, rest, angle


def edge_place(rest: float, angle: Any, xp: Any = np) -> Any:
    """Place (down, outward) of the edge particle, that far from the edge at this angle [m]."""
    if isinstance(angle, float | int) and abs(angle) == math.pi / 2:
        return np.array([0.0, rest * math.copysign(1.0, angle)])
    return xp.stack([rest * xp.cos(angle), rest * xp.sin(angle)])


def check_hanging(hanging: Any, links: Any) -> None:
    """Refuse numbers of hanging links that no chain of so many links has; traced ones pass."""
    if checks.concrete(hanging) is None:
        return
    if int(hanging) != hanging or not 0 <= hanging < int(links):
        raise ValueError(f"`hanging` must be a whole number from 0 to {int(links) - 1}, got {hanging}.")


def check_edge(edge: Any, lengths: Any, hanging: Any) -> None:
    """Refuse places of the edge particle that are above the table, or farther than its link; traced ones pass."""
    checks.shaped("edge", edge, (2,), "It is the place (down, outward) of the edge particle.")
    place, known = checks.concrete(edge), checks.concrete(lengths)
    if place is None or known is None or checks.concrete(hanging) is None:
        return
    reach, length = float(np.hypot(*place)), float(known[hanging])
    if place[0] < 0.0:
        raise ValueError(f"`edge` must not be above the table, got {float(place[0]):g} m down.")
    if reach == 0.0 and hanging == 0:
        raise ValueError(
            "At rest with X = Y = 0 nothing is over the edge and no direction is defined. "
            "Give a small overhang, such as 1e-4."
        )
    if reach >= length:
        raise ValueError(f"`edge` must be nearer than the link's length of {length:g} m, got {reach:g} m.")
