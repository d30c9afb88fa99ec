"""The start of a motion of sliding masses: checked, and in the right modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from saltus import checks
from saltus.hybrid import State
from saltus.systems.sliding import jumps
from saltus.systems.sliding.contact import FREE, SLIP, constrained_change, rod_geometry

if TYPE_CHECKING:
    from saltus.systems.sliding.system import SlidingMasses

STRETCH = 1e-8  # speed along a rod, against the speeds of its ends, that counts as none


def start(system: SlidingMasses, position, velocity, project: bool) -> State:
    """See `SlidingMasses.start`."""
    n = system.mass.size
    checks.shaped("position", position, (n, 2), "Give x and y of each mass.")
    checks.finite("position", position)
    if velocity is None:
        velocity = jnp.zeros((n, 2))
    checks.shaped("velocity", velocity, (n, 2), "Give the horizontal velocity of each mass.")
    checks.finite("velocity", velocity)
    _check_domain(system, jnp.asarray(position, float))
    state = system.state(position, velocity)
    _check_rods_have_length(system, state)
    if project:
        state = _without_stretching(system, state)
    _check_velocities(system, state)
    state = system.project(state)
    _check_redundancy(system, state)
    return _with_modes(system, state)


def _check_domain(system: SlidingMasses, q) -> None:
    margin = checks.concrete(system.surface.margin(q[:, 0], q[:, 1]))
    if margin is None:
        return
    outside = np.flatnonzero(~(margin > 0.0))
    if outside.size:
        i = int(outside[0])
        raise ValueError(
            f"Mass {i} at ({float(q[i, 0]):g}, {float(q[i, 1]):g}) m is outside the region where the surface is "
            "defined. Start it inside."
        )


def _check_rods_have_length(system: SlidingMasses, state: State) -> None:
    length = checks.concrete(state.ledger[1:])
    if length is not None and (length <= 0.0).any():
        r = int(np.argmin(length))
        i, j = system.rods.pairs[r]
        raise ValueError(f"Rod {r} has no length: masses {i} and {j} start at the same place. Move one of them.")


def _check_velocities(system: SlidingMasses, state: State) -> None:
    if not len(system.rods):
        return
    where = system.places(state)
    direction = rod_geometry(system.rods, where.position).direction
    speed = checks.concrete(jnp.sum(direction * system.rods.between(where.velocity), axis=-1))
    ends = checks.concrete(where.speed)
    if speed is None or ends is None:
        return
    allowed = STRETCH * np.maximum(ends[system.rods.first] + ends[system.rods.second], 1e-12)
    if (np.abs(speed) > allowed).any():
        r = int(np.argmax(np.abs(speed) / allowed))
        i, j = system.rods.pairs[r]
        raise ValueError(
            f"Rod {r} between masses {i} and {j} would change its length at {speed[r]:.6g} m/s, but it is rigid. "
            "Give velocities that keep its length, or set `project = true` to have them corrected."
        )


def _without_stretching(system: SlidingMasses, state: State) -> State:
    """Velocities changed as little as possible, weighted with the masses, so that no rod stretches."""
    if not len(system.rods):
        return state
    where = system.places(state)
    direction = rod_geometry(system.rods, where.position).direction
    speed = jnp.sum(direction * system.rods.between(where.velocity), axis=-1)
    (dv,) = constrained_change(where, system.rods, state.mode, system.mass, speed[:, None])
    return eqx.tree_at(lambda s: s.v, state, state.v + dv[:, : state.v.shape[1]])


def _check_redundancy(system: SlidingMasses, state: State) -> None:
    """Refuse rods that leave the accelerations open: redundant ones on a curved surface with friction."""
    if not system.rough or system.surface.flat or len(system.rods) > 300:
        return
    where = system.places(state)
    normal = np.asarray(where.normal) if checks.concrete(where.normal) is not None else None
    if normal is None or not len(system.rods):
        return
    direction = np.asarray(rod_geometry(system.rods, where.position).direction)
    rows = np.zeros((len(system.rods), system.mass.size, 3))
    for r, (i, j) in enumerate(system.rods.pairs):
        rows[r, i] = direction[r] - normal[i] * (normal[i] @ direction[r])
        rows[r, j] = -(direction[r] - normal[j] * (normal[j] @ direction[r]))
    rank = int(np.linalg.matrix_rank(rows.reshape(len(system.rods), -1), tol=1e-9))
    if rank < len(system.rods):
        raise ValueError(
            f"{len(system.rods) - rank} of the {len(system.rods)} rods are redundant; with friction on a curved surface "
            "the accelerations are then not unique. Leave out redundant rods, or set mu = 0."
        )


def _with_modes(system: SlidingMasses, state: State) -> State:
    """Each mass slipping, pulled, held or free, as the forces at the start have it."""
    where = system.places(state)
    resting = (where.speed <= jumps.STOP_SPEED) & (system.mu > 0.0)
    if system.rough:
        at_rest = eqx.tree_at(lambda s: s.v, state, jnp.where(resting[:, None], 0.0, state.v))
        some = checks.concrete(resting)
        if some is None or some.any():
            state = jumps.set_off(system, at_rest, resting)
    for _ in range(3):
        state = jumps.with_reaction_sign(system, state, state.mode != FREE)
    if not system.adhesion:
        lifted = (system.forces(state).normal_force < 0.0) & (state.mode == SLIP)
        state = eqx.tree_at(lambda s: s.mode, state, jnp.where(lifted, FREE, state.mode))
    return state
