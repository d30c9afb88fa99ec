"""Where a body on the ground begins: its height, and the right mode."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus import checks
from saltus.hybrid import State
from saltus.hybrid.guard import StagedJump
from saltus.hybrid.state import same_types
from saltus.numerics import rotation
from saltus.numerics.components import Vec
from saltus.numerics.directions import spiral
from saltus.numerics.trees import choose
from saltus.programs import brief_program
from saltus.programs.arrays import numbers
from saltus.shapes.limits import check_quaternion
from saltus.starts.ground_body import check_ground
from saltus.surfaces.base import AbstractSurface
from saltus.systems.ball_common import size
from saltus.systems.ground_body import jumps
from saltus.systems.ground_body.mechanics import FLIGHT, REST, SKID, SLIDE, active_piece, look, see
from saltus.systems.ground_body.state import GroundLedger, GroundMotion, GroundPlace

if TYPE_CHECKING:
    from saltus.systems.ground_body.system import BodyOnGround

DIRECTIONS = 400  # points of the body's lower side that are held against the ground to find where it faces it
NEWTON_STEPS = 12  # steps of Newton's method from the lowest of them


def start(system: BodyOnGround, position, velocity, quaternion, angular_velocity, height) -> State:
    """See `BodyOnGround.start`."""
    for name, value, n in (
        ("position", position, 2), ("velocity", velocity, 3), ("quaternion", quaternion, 4),
        ("angular_velocity", angular_velocity, 3),
    ):  # fmt: skip
        checks.shaped(name, value, (n,))
        checks.finite(name, value)
    check_quaternion(quaternion)
    checks.nonnegative("height", 0.0 if height is None else height, "It is the height over the ground in metres.")
    within = _margin(system.surface, numbers(position))
    checks.note(lambda: within > 0.0)
    check_ground(within, position)
    given = (position, velocity, quaternion, angular_velocity, 0.0 if height is None else height)
    # Asked before it is an array: among samples of an ensemble that is traced, whether or not it varies.
    above = checks.concrete(given[-1])
    state = _begin(system, *(numbers(part) for part in given), flies=above is not None and bool(above > 0.0))
    placed = [checks.concrete(part) for part in jax.tree.leaves(state.q)]
    if any(part is not None and not np.isfinite(part).all() for part in placed):
        raise ValueError(
            f"The body cannot be put on the ground at x, y = {list(position)}: the ground is not defined under it."
        )
    return state


def blank(system: BodyOnGround, flies: bool) -> State:
    """See `BodyOnGround.blank`."""
    zero, vector = numbers(0.0), numbers(np.zeros(3))
    place = GroundPlace(vector, numbers(np.zeros(4)), numbers(np.zeros(2 * system.solid.n_pieces)))
    return State(
        zero, place, GroundMotion(vector, vector), GroundLedger(zero, zero), numbers(FLIGHT if flies else SLIDE, int)
    )


def _begin(
    system: BodyOnGround, position, velocity, quaternion, angular_velocity, height, *, flies: bool
) -> State:  # fmt: skip
    """The right mode; numbers that are known need only the program for their case.

    With `flies` the height is known to be positive.
    """
    flying, closing = _place(system, position, velocity, quaternion, angular_velocity, height)
    leaving, gravity, radius = (checks.concrete(number) for number in (closing, system.gravity, system.solid.radius()))
    if flies:
        return flying
    if leaving is not None and gravity is not None and radius is not None:
        slow = 1e-9 * math.sqrt(gravity * radius)  # of `speed`, nothing compiled
        if leaving > slow:
            return flying
        return _begin_with_impact(system, flying) if leaving < -slow else _begin_in_contact(system, flying)
    slow = 1e-9 * system.speed
    sliding, stands, *less = _begin_sliding(system, flying)
    lying = choose(stands, _begin_standing(system, flying, *less), sliding)
    on_ground = choose(closing < -slow, _begin_with_impact(system, flying), lying)
    return choose((height > 0.0) | (closing > slow), flying, on_ground)


@brief_program
def _margin(surface: AbstractSurface, position: Array) -> Array:
    return surface.margin(position[0], position[1])


@brief_program
def _place(system: BodyOnGround, position, velocity, quaternion, angular_velocity, height) -> tuple[State, Array]:
    """The body at its height, as if it flew, and how fast it leaves the ground."""
    centre, turned, zero = jnp.append(position, 0.0), rotation.normalise(quaternion), jnp.zeros(())
    places = [_lowest(system, centre, turned, i) for i in range(system.solid.n_pieces)]
    q = GroundPlace(centre, turned, jnp.concatenate(places))
    flying = State.of(0.0, q, GroundMotion(velocity, angular_velocity), GroundLedger(zero, zero), FLIGHT)
    sights = [look(system, flying, i, NEWTON_STEPS) for i in range(system.solid.n_pieces)]
    heights = jnp.stack([sight.touch.height for sight in sights])
    touching = jnp.argmin(heights)
    facing = jnp.concatenate([sight.touch.place for sight in sights])
    q = flying.q.lift(height - jnp.min(heights)).replace(facing=facing)
    placed = flying.replace(q=q, ledger=flying.ledger.replace(piece=touching.astype(float)))
    closing = jnp.stack([sight.closing for sight in sights])[touching]
    return same_types(flying, placed), closing


def _lowest(system: BodyOnGround, centre: Array, quaternion: Array, piece: int) -> Array:
    """x, y of the point of a piece that is lowest over the ground, among many."""
    shape, offset = system.solid.piece(piece)
    turn = rotation.matrix(quaternion)
    directions = jnp.asarray(spiral(DIRECTIONS, 0.0, -1.0))
    points = jax.vmap(lambda n: turn @ shape.support_pair(Vec.of(n @ turn))[1].array())(directions)
    points = points + (centre + turn @ offset)
    over = points[:, 2] - system.surface.height(points[:, 0], points[:, 1])
    return points[jnp.argmin(jnp.where(jnp.isfinite(over), over, jnp.inf)), :2]


@brief_program
def _begin_with_impact(system: BodyOnGround, flying: State) -> State:
    """A body that begins with an impact."""
    return StagedJump(system, jumps.touch_down, jumps.make_contact)(flying, active_piece(flying))


def _begin_in_contact(system: BodyOnGround, flying: State) -> State:
    """A body that begins in contact, in its right mode: which is to be found only where it does not slide and roll."""
    sliding, stands, *less = _begin_sliding(system, flying)
    return _begin_standing(system, flying, *less) if bool(stands) else sliding


def stop_what_is_slow(system: BodyOnGround, start: State) -> State:
    """See `BodyOnGround.begin_run`."""
    if int(np.asarray(start.mode)) not in (SLIDE, SKID):
        return start
    _, stands, *less = _begin_sliding(system, start)
    return _begin_standing(system, start, *less) if bool(stands) else start


@brief_program
def _begin_sliding(system: BodyOnGround, flying: State) -> tuple[State, Array, Array, Array]:
    """A body that begins in contact and slides; whether it does not; and whether it has no slip, and does not turn."""
    lying = flying.replace(mode=jnp.asarray(SLIDE))
    seen = see(system, lying)
    sight = seen.sight
    slow = jumps.near(system, flying.v)  # as in the guards of these speeds: one that began below zero would not fire
    slipless = (size(system.slip_and_rim(sight, jumps.weight(system))) <= slow) & system.has_friction
    turnless = (size(system.turning(sight)) * system.solid.radius() <= slow) & system.resisted
    presses = seen.forces.load > 0.0
    rests = jumps.rests(system, sight)
    begun = choose(presses, system.project_by(lying, seen), flying)
    begun = choose(rests, lying.replace(mode=jnp.asarray(REST)), begun)
    return same_types(flying, begun), (slipless | turnless) & presses & ~rests, slipless, turnless


@brief_program
def _begin_standing(system: BodyOnGround, flying: State, slipless: Array, turnless: Array) -> State:
    """A body that begins in contact without slip or without turning."""
    lying = flying.replace(mode=jnp.asarray(SLIDE))
    return same_types(flying, jumps.in_contact(system, lying, slipless, turnless))
