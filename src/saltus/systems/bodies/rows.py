"""What bodies show in many states at once, in NumPy: where a program would take longer to compile than to serve."""

from __future__ import annotations

import numpy as np

from saltus.contacts.round_gaps import ellipsoid_gaps, forms_of
from saltus.hybrid import State
from saltus.systems.bodies.searches import image_shift, round_axes

MANY = 64  # bodies beyond which all pairs in all states are too many
ROUNDING = 1e-12  # relative; more than that of any bound
PAIRS = 500_000  # pairs that are looked at together


def shown(system, states: State) -> dict[str, np.ndarray] | None:
    """As `RigidBodies.observe`, for stacked states; None for shapes, or numbers of bodies, that need the program."""
    axes = round_axes(system.stock.shape) if system.quick_gaps and system.n <= MANY else None
    if axes is None:
        return None
    q, v = states.q, states.v
    centre, quaternion, velocity, turning = (
        np.asarray(part) for part in (q.centre, q.quaternion, v.velocity, v.turning)
    )
    gaps = _smallest_gaps(system, axes, centre, quaternion)
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

    Only pairs that may have the smallest gap of one of the two are searched for: along the line of the centres the
    support functions give a bound from below, the smallest semi-axes one from above.
    """
    first, second = pairs
    if not len(first):
        return True
    one, two = centre[:, first], centre[:, second]
    apart = two + image_shift(period, one, two) - one
    distance = np.sqrt(np.einsum("tpi,tpi->tp", apart, apart))
    reach = np.einsum("tpij,tpi,tpj->tp", forms[:, first], apart, apart)
    reach2 = np.einsum("tpij,tpi,tpj->tp", forms[:, second], apart, apart)
    low = distance - (np.sqrt(reach) + np.sqrt(reach2)) / np.maximum(distance, 1e-300)
    inner = axes.min(axis=1)
    high = distance - inner[first] - inner[second]
    best = gaps.T.copy()
    np.minimum.at(best, first, high.T)
    np.minimum.at(best, second, high.T)
    # Both bounds of balls are their gap, but for rounding.
    near = low - ROUNDING * distance <= np.maximum(best[first], best[second]).T
    row, pair = np.nonzero(near)
    i, j = first[pair], second[pair]
    found, sure = ellipsoid_gaps(forms[row, i], forms[row, j], apart[row, pair])
    np.minimum.at(gaps, (row, i), found)
    np.minimum.at(gaps, (row, j), found)
    return bool(sure.all())
