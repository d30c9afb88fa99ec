"""Starts of masses on a surface, joined by rods: what must hold, and in which modes they begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from saltus import checks
from saltus.links.network import MINIMUM_NORM_UP_TO, has_redundant_rods
from saltus.surfaces.known import Sight

Pairs = Sequence[tuple[int, int]]

STRETCH = 1e-8  # speed along a rod, against the speeds of its ends, that counts as none
# [m/s]; below it a mass is brought to its stop in closed form, to second order. One that sets off is turned into its
# direction by friction within no time; steps follow that, but their derivatives would magnify what dies away.
STOP_SPEED = 1e-9
FEW = 200  # rods whose forces are found here
POOR = 1e9  # condition of a linear system from which on nothing is concluded from it
UNLIKE = 1e6  # largest mass over the smallest up to which they are
SURE = 1e-6  # share of a weight by which a force must differ from where modes change, for modes to be known


def check_pairs(rods, n: int) -> tuple[tuple[int, int], ...]:
    """The rods as pairs of different, existing masses, none of them twice."""
    try:
        pairs = tuple((int(i), int(j)) for i, j in rods)
    except (TypeError, ValueError):
        raise ValueError(f"`rods` must be pairs of masses, such as [(0, 1), (1, 2)], got {rods!r}.") from None
    seen = {}
    for r, (i, j) in enumerate(pairs):
        if i == j:
            raise ValueError(
                f"Rod {r} joins mass {i} to itself. Give `rods` as pairs of different masses, such as (0, 1)."
            )
        for k in (i, j):
            if not 0 <= k < n:
                raise ValueError(f"Rod {r} joins mass {k}, but the masses are numbered 0 to {n - 1}.")
        first = seen.setdefault(frozenset((i, j)), r)
        if first != r:
            raise ValueError(f"Rod {r} joins masses {i} and {j} as rod {first} does already. Leave one of them out.")
    return pairs


def check_motion(position: Any, velocity: Any, n: int) -> None:
    """Refuse places and velocities that are not two finite numbers for each of n masses."""
    checks.shaped("position", position, (n, 2), "Give x and y of each mass.")
    checks.finite("position", position)
    checks.shaped("velocity", velocity, (n, 2), "Give the horizontal velocity of each mass.")
    checks.finite("velocity", velocity)


def check_domain(margin: Any, position: Any) -> None:
    """Refuse masses outside the domain of the surface, by their margins to its border [m]; traced ones pass."""
    margin = checks.concrete(margin)
    if margin is not None and not (margin > 0.0).all():
        i = int(np.flatnonzero(~(margin > 0.0))[0])
        x, y = np.asarray(position, float)[i]
        raise ValueError(
            f"Mass {i} at ({x:g}, {y:g}) m is outside the region where the surface is defined. Start it inside."
        )


def check_lengths(lengths: Any, pairs: Pairs) -> None:
    """Refuse rods without length (which may come out as NaN); traced ones pass."""
    known = checks.concrete(lengths)
    if known is not None and not (known > 0.0).all():
        r = int(np.argmin(known > 0.0))
        i, j = pairs[r]
        raise ValueError(f"Rod {r} has no length: masses {i} and {j} start at the same place. Move one of them.")


def check_stretching(stretching: Any, speed: Any, pairs: Pairs) -> None:
    """Refuse rods that change their length, by their speeds of stretching and the speeds of the masses [m/s]."""
    rate, ends = checks.concrete(stretching), checks.concrete(speed)
    if rate is None or ends is None or not rate.size:
        return
    first, second = np.asarray(pairs, int).T
    allowed = STRETCH * np.maximum(ends[first] + ends[second], 1e-12)
    if (np.abs(rate) > allowed).any():
        r = int(np.argmax(np.abs(rate) / allowed))
        i, j = pairs[r]
        raise ValueError(
            f"Rod {r} between masses {i} and {j} would change its length at {rate[r]:.6g} m/s, but it is rigid. "
            "Give velocities that keep its length, or set `project = true` to have them corrected."
        )


def check_network(pairs: Pairs, n: int, symmetric: bool) -> bool:
    """Whether rods of a network repeat what others hold, where motion is the same whichever of them carry the load.

    Args:
        pairs: Masses that each rod joins.
        n: How many masses there are.
        symmetric: Whether nothing rubs, or the surface is flat.
    """
    redundant = symmetric and has_redundant_rods(pairs, n)
    if redundant and len(pairs) > MINIMUM_NORM_UP_TO:
        raise ValueError(
            f"Networks with redundant rods can have at most {MINIMUM_NORM_UP_TO} rods, got {len(pairs)}. "
            "Leave out rods that only repeat what others hold."
        )
    return redundant


def check_redundancy(normal: Any, direction: Any, pairs: Pairs) -> None:
    """Refuse rods that leave the accelerations open: redundant ones on a curved surface with friction.

    Args:
        normal: Unit normal under each mass.
        direction: Of each rod, from its second end to its first.
        pairs: Masses that each rod joins.
    """
    n_rods, normal, direction = len(pairs), checks.concrete(normal), checks.concrete(direction)
    if not 2 < n_rods <= 300 or normal is None or direction is None:
        return
    rows = np.zeros((n_rods, len(normal), 3))
    for r, (i, j) in enumerate(pairs):
        rows[r, i] = direction[r] - normal[i] * (normal[i] @ direction[r])
        rows[r, j] = -(direction[r] - normal[j] * (normal[j] @ direction[r]))
    # Numbers out of range have no rank; the run says so.
    rank = int(np.linalg.matrix_rank(rows.reshape(n_rods, -1), tol=1e-9)) if np.isfinite(rows).all() else n_rods
    if rank < n_rods:
        raise ValueError(
            f"{n_rods - rank} of the {n_rods} rods are redundant; with friction on a curved surface the accelerations "
            "are then not unique. Leave out redundant rods, or set mu = 0."
        )


class RodsAt(NamedTuple):
    """Rods at an instant: length, direction from the second end to the first, and speed of stretching."""

    length: np.ndarray
    direction: np.ndarray
    stretching: np.ndarray


def rods_at(position: np.ndarray, velocity: np.ndarray, pairs: Pairs) -> RodsAt:
    """The rods between masses at these places in space, with these velocities."""
    first, second = np.asarray(pairs, int).reshape(-1, 2).T
    apart = position[first] - position[second]
    length = np.sqrt(np.sum(apart**2, axis=1))
    with np.errstate(all="ignore"):  # rods without length are refused later
        direction = apart / length[:, None]
    return RodsAt(length, direction, np.sum(direction * (velocity[first] - velocity[second]), axis=1))


def in_space(sight: Sight, position: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places and velocities of masses on a surface, from their horizontal ones."""
    fx, fy = sight.gradient
    climb = fx * velocity[:, 0] + fy * velocity[:, 1]
    return np.column_stack([position, sight.height]), np.column_stack([velocity, climb])


def known_modes(
    sight: Sight,
    velocity: np.ndarray,
    rods: RodsAt,
    pairs: Pairs,
    mass: np.ndarray,
    mu: np.ndarray,
    gravity: float,
    tangent: bool,
) -> list[str] | None:
    """Modes of the masses at the start, if they certainly are these: at rest they stick, if they can, else they slip.

    Modes are certain where every mass that slips presses on the surface and every one that sticks can be held, both
    by a clear margin; otherwise None. The forces are those of `systems.sliding.contact`.
    """
    speed = np.sqrt(np.sum(velocity**2, axis=1))
    rests, alone = (speed <= STOP_SPEED) & (mu > 0.0), ~np.isin(np.arange(len(mass)), np.asarray(pairs, int))
    normal, weight = sight.normal, mass * gravity
    # One by itself is held where the slope is less steep than its friction.
    grip = mu * normal[:, 2] - np.sqrt(normal[:, 0] ** 2 + normal[:, 1] ** 2)
    # Rods that stretch a little are relieved of it, which gives masses at rest that speed at most.
    stirred = rests.any() and (np.abs(rods.stretching) > SURE * STOP_SPEED).any()
    if stirred or not _are_looked_at(pairs, mass) or (np.abs(grip[rests & alone]) <= SURE).any():
        return None
    held = rests & ~(alone & (grip < 0.0))
    found = _forces(sight, velocity, speed, rods, pairs, mass, mu, gravity, held, tangent)
    if found is None:
        return None
    reaction, load = found
    presses = reaction > SURE * weight
    sticks = mu * reaction - load > SURE * weight
    if not (presses & (sticks | ~held)).all():
        return None
    return ["stick" if stays else "slip" for stays in held]


def _forces(sight, velocity, speed, rods, pairs, mass, mu, gravity, held, tangent):
    """Reaction of the surface on each mass, and the force along it that a held one is held against; None if open."""
    normal, (fxx, fxy, fyy) = sight.normal, sight.curvature
    vx, vy = velocity[:, 0], velocity[:, 1]
    bend = (vx**2 * fxx + 2.0 * vx * vy * fxy + vy**2 * fyy) * normal[:, 2]
    support, weight = bend + gravity * normal[:, 2], np.array([0.0, 0.0, -gravity])
    downhill = weight + normal * (gravity * normal[:, 2])[:, None]
    pull = np.zeros_like(normal)
    if len(pairs):
        heading = velocity / np.where(speed > 0.0, speed, 1.0)[:, None]
        driven = normal - heading * mu[:, None]
        loose = np.where(held, 0.0, 1.0 / mass)
        pull = _rod_pull(velocity, rods, pairs, loose, normal, driven, weight + driven * support[:, None], tangent)
        if pull is None:
            return None
    pressed = mass * support - (0.0 if tangent else np.sum(normal * pull, axis=1))
    load = downhill * mass[:, None] + pull - normal * np.sum(normal * pull, axis=1)[:, None]
    return pressed, np.sqrt(np.sum(load**2, axis=1))


def corrected(
    velocity: np.ndarray, rods: RodsAt, pairs: Pairs, normal: np.ndarray, mass: np.ndarray
) -> np.ndarray | None:
    """Velocities with which rods keep their lengths: the nearest ones along the surface, weighted with the masses.

    None where rods leave them open, or are more than are looked at here.
    """
    if not pairs:
        return velocity
    if not _are_looked_at(pairs, mass):
        return None
    ends = _ends(rods, pairs, len(mass))
    answers = (ends - normal * np.sum(ends * normal, axis=2)[..., None]) / mass[:, None]
    impulse = _solved(np.einsum("rnk,qnk->rq", ends, answers), -rods.stretching)
    if impulse is None:
        return None
    return velocity + np.einsum("r,rnk->nk", impulse, answers)


def _rod_pull(velocity, rods, pairs, loose, normal, driven, without_rods, tangent):
    """Force of the rods on each mass, from the accelerations without them; None where rods leave it open."""
    first, second = np.asarray(pairs, int).T
    ends, moving = _ends(rods, pairs, len(loose)), (loose > 0.0)[:, None]
    across = 0.0 if tangent else driven * np.sum(ends * normal, axis=2)[..., None]
    answers = (ends - across) * loose[:, None]
    between_held = (loose[first] == 0.0) & (loose[second] == 0.0)
    system = np.einsum("rnk,qnk->rq", ends, answers) + np.diag(between_held.astype(float))
    stretch = np.sum((velocity[first] - velocity[second]) ** 2, axis=1) / rods.length
    needed = -np.einsum("rnk,nk->r", ends, np.where(moving, without_rods, 0.0)) - stretch
    force = _solved(system, np.where(between_held, 0.0, needed))
    return None if force is None else np.einsum("r,rnk->nk", force, ends)


def _are_looked_at(pairs: Pairs, mass: np.ndarray) -> bool:
    """Whether rods are few enough, and the masses that they join alike enough, for the forces to be found here."""
    return not pairs or (len(pairs) <= FEW and bool(mass.max() <= UNLIKE * mass.min()))


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Solution of a linear system; None where it leaves that open, or its numbers are out of range."""
    if not np.isfinite(matrix).all() or np.linalg.cond(matrix) > POOR:
        return None
    return np.linalg.solve(matrix, right)


def _ends(rods: RodsAt, pairs: Pairs, n: int) -> np.ndarray:
    """Force of each rod on each mass, per force in it, of shape (rods, masses, 3)."""
    first, second = np.asarray(pairs, int).T
    ends, each = np.zeros((len(pairs), n, 3)), np.arange(len(pairs))
    ends[each, first] += rods.direction
    ends[each, second] -= rods.direction
    return ends
