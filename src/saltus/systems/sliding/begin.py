"""The start of a motion of sliding masses: checked, and in the right modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus import checks
from saltus.hybrid import State
from saltus.programs import brief_program
from saltus.programs.arrays import numbers
from saltus.starts.point_masses import (
    STRETCH,
    check_domain,
    check_lengths,
    check_motion,
    check_redundancy,
    check_stretching,
)
from saltus.systems.sliding import jumps
from saltus.systems.sliding.contact import FREE, SLIP, STICK, RodLedger, constrained_change, rod_geometry

if TYPE_CHECKING:
    from saltus.systems.sliding.system import SlidingMasses


def blank(system: SlidingMasses) -> State:
    """See `SlidingMasses.blank`."""
    n, axes = system.mass.size, 2 if system.adhesion else 3
    ledger = RodLedger(numbers(0.0), numbers(np.zeros(len(system.rods))))
    return State.of(0.0, np.zeros((n, axes)), np.zeros((n, axes)), ledger, np.full(n, SLIP))


def start(system: SlidingMasses, position, velocity, project: bool) -> State:
    """See `SlidingMasses.start`."""
    n = system.mass.size
    if velocity is None:
        velocity = np.zeros((n, 2))
    check_motion(position, velocity, n)
    given = numbers(position), numbers(velocity), project
    may_rest = _may_rest(system, velocity)
    state, seen = _begin(system, *given, may_rest)
    checks.note(lambda: (seen.margin > 0.0).all())
    check_domain(seen.margin, position)
    if len(system.rods):
        checks.note(lambda: _keep_their_length(system, seen))
        check_lengths(seen.rod_length, system.rods.pairs)
        check_stretching(seen.stretching, seen.speed, system.rods.pairs)
        if system.has_friction and not system.surface.flat:
            check_redundancy(seen.normal, seen.direction, system.rods.pairs)
    if not may_rest and _may_rest(system, seen.velocity):  # after the correction
        return _begin(system, *given, True)[0]
    return state


def _may_rest(system: SlidingMasses, velocity) -> bool:
    """Whether some of the masses with these velocities may stick."""
    known = checks.concrete(velocity)
    return system.has_friction and (known is None or bool((np.linalg.norm(known, axis=1) <= jumps.STOP_SPEED).any()))


class _StartFacts(eqx.Module):
    """What the checks of a start look at."""

    margin: Array
    rod_length: Array
    stretching: Array
    speed: Array
    velocity: Array
    normal: Array
    direction: Array


@brief_program
def _begin(system: SlidingMasses, position, velocity, project: bool, may_rest: bool) -> tuple[State, _StartFacts]:
    """The start, its velocities corrected if asked for, and what is to be checked of it."""
    state = system.slip_state(position, velocity)
    where = system.places(state)
    rod = rod_geometry(system.rods, where.position)
    stretching = rod.direction.dot(system.rods.between(where.velocity))
    if project and len(system.rods):
        (dv,) = constrained_change(where, system.rods, state.mode, system.mass, stretching[:, None])
        state = eqx.tree_at(lambda s: s.v, state, state.v + system.columns(dv))
        where = system.places(state)
        stretching = rod.direction.dot(system.rods.between(where.velocity))
    margin = system.surface.margin(position[:, 0], position[:, 1])
    seen = _StartFacts(
        margin, rod.length, stretching, where.speed, where.velocity.array(), where.normal.array(), rod.direction.array()
    )
    return _in_modes(system, system.project(state), may_rest), seen


def _keep_their_length(system: SlidingMasses, seen: _StartFacts) -> Array:
    near = STRETCH * jnp.maximum(seen.speed[system.rods.first] + seen.speed[system.rods.second], 1e-12)
    return ((seen.rod_length > 0.0) & (jnp.abs(seen.stretching) <= near)).all()


def _in_modes(system: SlidingMasses, state: State, may_rest: bool) -> State:
    """Each mass slipping, pulled, held or free, as the forces at the start have it.

    Who sticks and who sets off is most of the program, and is left out where all masses are known to move.
    """
    if may_rest:
        resting = (system.places(state).speed <= jumps.STOP_SPEED) & system.rubs()
        at_rest = eqx.tree_at(
            lambda s: (s.v, s.mode),
            state,
            (jnp.where(resting[:, None], 0.0, state.v), jnp.where(resting, STICK, state.mode)),
        )
        state = jax.lax.cond(resting.any(), lambda s: jumps.set_off(system, s, at_once=True), lambda s: s, at_rest)
    # An even number: where no sign agrees with the friction that it causes, it is left as it was.
    sweeps = 2 * jumps.SIGN_SWEEPS if system.has_friction else 1
    state = jumps.with_reaction_sign(system, state, state.mode != FREE, sweeps)
    if not system.adhesion:
        lifted = (system.forces(state).normal_force < 0.0) & (state.mode == SLIP)
        state = eqx.tree_at(lambda s: s.mode, state, jnp.where(lifted, FREE, state.mode))
    return state
