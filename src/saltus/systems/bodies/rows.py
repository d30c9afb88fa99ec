"""What bodies show in many states at once, in NumPy: where a program would take longer to compile than to serve."""

from __future__ import annotations

import jax
import numpy as np

from saltus.contacts.gap import separations
from saltus.contacts.round_gaps import ellipsoid_gaps, forms_of
from saltus.hybrid import State
from saltus.systems.bodies.searches import image_shift, round_axes

MANY = 64  # bodies beyond which all pairs in all states are too many
ROUNDING = 1e-12  # relative; more than that of any bound
PAIRS = 500_000  # pairs that are looked at together


def observe_rows(system, states: State) -> dict[str, np.ndarray] | None:
    """As `RigidBodies.observe`, for stacked states; None for shapes, or numbers of bodies, that need the program."""
    q, v = states.q, states.v
    centre, quaternion, velocity, turning = (
        np.asarray(part) for part in (q.centre, q.quaternion, v.velocity, v.turning)
    )
    axes = round_axes(system.stock.shape) if system.quick_gaps and system.n <= MANY else None
    if axes is not None:
        gaps = _smallest_gaps(system, axes, centre, quaternion)
    else:
        gaps = _gaps_of_two(system, centre, quaternion) if system.n == 2 and not system.n_walls else None
    if gaps is None:
        return None
    mass, inertia = np.asarray(system.stock.mass), np.asarray(system.stock.inertia)
    momentum = mass[:, None] * velocity
    # Forms of squared axes: with the roots of the moments, the tensors of inertia.
    tensors = _forms(np.sqrt(inertia), quaternion)
    spins = np.einsum("tnij,tnj->tni", tensors, turning)
    energy = 0.5 * np.sum(momentum * velocity + spins * turning, axis=(1, 2))
    return {
        "position": centre,
        "velocity": velocity,
        "quaternion": quaternion,
        "angular_velocity": turning,
        "gap": gaps,
        "contact_force": np.asarray(v.contact_force),
        "linear_momentum": momentum.sum(axis=1),
        "angular_momentum": np.sum(np.cross(centre, momentum) + spins, axis=1),
        "kinetic_energy": energy,
        "potential_energy": -np.sum(mass * (centre @ np.asarray(system.gravity)), axis=1),
        "dissipated_energy": np.asarray(states.ledger.lost),
        "mode": np.asarray(states.mode),
    }


def _forms(axes: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    rows, n = quaternion.shape[:2]
    return forms_of(np.tile(axes, (rows, 1)), quaternion.reshape(-1, 4)).reshape(rows, n, 3, 3)


def _gaps_of_two(system, centre: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """Gaps of the only two bodies, by the program that a run of them needs in any case."""
    apart = image_shift(system.period, centre[:, 1], centre[:, 0])
    places = centre[:, 0] + apart, centre[:, 1]
    still = np.zeros_like(places[0])
    bodies = [
        _repeat(system.stock, k, len(still)).with_motion(places[k], still, quaternion[:, k], still) for k in (0, 1)
    ]
    return np.repeat(separations(*bodies).gap[:, None], 2, axis=1)


def _repeat(stock, which: int, count: int):
    """One of stacked bodies so many times."""
    return jax.tree.map(lambda leaf: np.broadcast_to(np.asarray(leaf)[which], (count, *leaf.shape[1:])), stock)


def _smallest_gaps(system, axes: np.ndarray, centre: np.ndarray, quaternion: np.ndarray) -> np.ndarray | None:
    """Smallest gap of each body to another or to a wall, in each state; None if a search has not converged."""
    first, second = np.triu_indices(system.n, 1)
    size = max(1, PAIRS // max(len(first), 1))
    parts = []
    for begin in range(0, len(centre), size):
        some = slice(begin, begin + size)
        forms = _forms(axes, quaternion[some])
        gaps = _gaps_to_walls(system, forms, centre[some])
        if not _narrow_to_pairs(system.period, axes, forms, centre[some], (first, second), gaps):
            return None
        parts.append(gaps)
    return np.concatenate(parts)


def _gaps_to_walls(system, forms: np.ndarray, centre: np.ndarray) -> np.ndarray:
    gaps = np.full(centre.shape[:2], np.inf)
    if system.n_walls:
        for normal, offset in zip(np.asarray(system.walls.normal), np.asarray(system.walls.offset), strict=True):
            reach = np.sqrt(np.einsum("tnij,i,j->tn", forms, normal, normal))
            gaps = np.minimum(gaps, centre @ normal - offset - reach)
    return gaps


def _narrow_to_pairs(period, axes, forms: np.ndarray, centre: np.ndarray, pairs: tuple, gaps: np.ndarray) -> bool:
    """Make gaps those to other bodies, where these are smaller; whether all that matter were found.

    Only pairs that may have the smallest gap of one of the two are searched for: balls around them, then the support
    functions along the line of the centres, give bounds from below, balls within them one from above.
    """
    first, second = pairs
    if not len(first):
        return True
    one, two = centre[:, first], centre[:, second]
    apart = two + image_shift(period, one, two) - one
    distance = np.sqrt(np.einsum("tpi,tpi->tp", apart, apart))
    inner, outer = axes.min(axis=1), axes.max(axis=1)
    nearest = gaps.T.copy()
    high = distance - inner[first] - inner[second]
    for ends in (first, second):
        np.minimum.at(nearest, ends, high.T)
    # Both bounds of balls are their gap, but for rounding.
    best = np.maximum(nearest[first], nearest[second]).T + ROUNDING * distance
    row, pair = np.nonzero(distance - outer[first] - outer[second] <= best)
    i, j, between, length = first[pair], second[pair], apart[row, pair], distance[row, pair]
    reach = sum(np.sqrt(np.einsum("nij,ni,nj->n", forms[row, end], between, between)) for end in (i, j))
    near = np.flatnonzero(length * length - reach <= best[row, pair] * length)
    row, i, j = row[near], i[near], j[near]
    found, sure = ellipsoid_gaps(forms[row, i], forms[row, j], between[near])
    for end in (i, j):
        np.minimum.at(gaps, (row, end), found)
    return bool(sure.all())
