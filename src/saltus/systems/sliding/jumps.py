"""What happens to sliding masses at each event."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.tree_util import Partial
from jaxtyping import Array, Bool

from saltus import checks
from saltus.hybrid import State
from saltus.laws.friction.weakened import WeakenedFriction
from saltus.numerics.elimination import solve
from saltus.numerics.trees import choose
from saltus.systems.short_time import after_short_time, hold_on, time_to_stop
from saltus.systems.sliding.contact import (
    FREE,
    GONE,
    PULLED,
    SLIP,
    STICK,
    STOP_SPEED,
    constrained_change,
    rod_geometry,
)
from saltus.systems.sliding.stick import Onset, onset

if TYPE_CHECKING:
    from saltus.systems.sliding.system import SlidingMasses

FASTER = 100.0  # times the stop speed, at which a mass about to stop is asked for its acceleration
TOGETHER = 3.0  # masses slower than so many stop speeds stop together with the one that stops
LIMIT_UP_TO = 16  # masses for which the direction just before a stop is solved for
LIMIT_STEPS, LIMIT_NEAR = 8, 0.5  # of Newton's method, and how far it may lead from the direction at the stop speed
NUDGE = 1e-12  # [s]; a mass starts from rest with the velocity that it has after this time, at least
# A mass that sets off slowly, against friction larger than what is left to move it, is let go when it is so many stop
# speeds fast: slower, the error of a step could stop it again. But no later than this [s], and in this share of the
# time that any other takes to its stop. What is too slow for that is given the rest of the speed: it counts as none.
CLEARLY = 4.0
LONGEST_NUDGE, SOON = 1e-6, 0.1
HAIR = 1e-12  # of its coordinates [m]; how deep a mass is when it counts as landed, so that rounding does not land it
SIGN_SWEEPS = 3  # friction on |N| is piecewise linear: with moderate mu the signs of N settle in one or two


def stop(system: SlidingMasses, state: State, index) -> State:
    """A mass comes to a stop, alone or with others: it sticks, or turns and slips on."""
    return set_off(system, halt(system, state, index)[0])


def halt(system: SlidingMasses, state: State, index) -> tuple[State, Bool[Array, " n"]]:
    """The instant at which a mass has come to a stop, as if it were held from there on; and which stop with it."""
    where, now = system.places(state), system.forces(state)
    stops = _which_stop_with(system, state, index)
    v, a = system.columns(where.velocity), system.columns(now.motion)
    slowing = -now.motion.dot(where.heading)
    rest = where.speed[index] / jnp.where(slowing[index] > 0.0, slowing[index], jnp.inf)
    # How the instant depends on numbers, all those tell that come to their stop together.
    together = stops & (slowing > 0.0)
    those = (jnp.where(together[:, None], part, 0.0).ravel() for part in (v, a))
    joint = time_to_stop(*those, Partial(_gain_with, system, state, together), 1.0)
    rest = jax.lax.stop_gradient(rest) + (joint - jax.lax.stop_gradient(joint))

    still = stops[:, None] | (state.mode == STICK)[:, None]
    q = state.q + jnp.where(still, 0.5 * rest * v, rest * v + 0.5 * rest**2 * a)
    v = jnp.where(still, 0.0, v + rest * a)
    after = system.project(State(state.t + rest, q, v, state.ledger, jnp.where(stops, STICK, state.mode)))
    # Whom the rods leave no speed, now that this one stands, stands as well.
    stops = which_stop(system, after, system.places(after).speed < STOP_SPEED)
    v, mode = jnp.where(stops[:, None], 0.0, after.v), jnp.where(stops, STICK, after.mode)
    return State(after.t, after.q, v, after.ledger, mode), stops


def _gain_with(system: SlidingMasses, state: State, stops, velocities: Array) -> tuple[Array, tuple]:
    """Accelerations of masses that are about to stop and move in the direction of these velocities; zero of others."""
    slow = FASTER * STOP_SPEED * velocities / jnp.sqrt(jnp.sum(velocities**2))
    v = jnp.where(stops[:, None], slow.reshape(state.v.shape), state.v)
    motion = system.columns(system.forces(eqx.tree_at(lambda s: s.v, state, v)).motion)
    return jnp.where(stops[:, None], motion, 0.0).ravel(), ()


def before_stop(system: SlidingMasses, state: State, index) -> State:
    """The state of a mass about to stop, with the velocity along the limit of its direction.

    The direction turns until the last moment, as a power of the speed; at the speed at which a stop is told it may be
    far from its limit still. There the velocities u of all that stop vanish in a straight line: u = -a(u) / |a(u)| up
    to a factor, solved by Newton's method. Networks of more than `LIMIT_UP_TO` masses keep the direction they have.
    """
    if system.mass.size > LIMIT_UP_TO:
        return state
    stops = _which_stop_with(system, state, index)[:, None]

    def at_velocity(u, speed) -> State:
        return eqx.tree_at(lambda s: s.v, state, jnp.where(stops, speed * u, state.v))

    def excess(u):
        a = jnp.where(stops, system.columns(system.forces(at_velocity(u, FASTER * STOP_SPEED)).motion), 0.0)
        left = jnp.where(stops, u * jnp.sqrt(jnp.sum(a**2)) + a, u).ravel()
        return left, left

    def improve(u, _):
        slope, left = jax.jacfwd(excess, has_aux=True)(u)
        return u - solve(slope.reshape(u.size, u.size), left).reshape(u.shape), None

    known = jnp.where(stops, state.v, 0.0)
    known = known / jnp.sqrt(jnp.sum(known**2))
    found = jax.lax.scan(improve, known, None, length=LIMIT_STEPS)[0]
    good = jnp.isfinite(found).all() & (jnp.max(jnp.abs(found - known)) < LIMIT_NEAR)
    return choose(good, at_velocity(found, STOP_SPEED), state)


def _which_stop_with(system: SlidingMasses, state: State, index):
    """Which masses come to a stop together with this one."""
    return which_stop(system, state, system.places(state).speed < TOGETHER * STOP_SPEED).at[index].set(True)


def which_stop(system: SlidingMasses, state: State, slow):
    """Which of the slow masses are slipping with friction, and so stop."""
    return slow & (state.mode < STICK) & system.rubs()


def set_off(system: SlidingMasses, state: State, at_once: bool = False) -> State:
    """Which of the masses in mode stick friction really holds; the others slip, and where to.

    Derivatives leave out what is gained by then, which is below rounding: its search cannot be differentiated
    backwards.

    Args:
        system: The system.
        state: The state.
        at_once: Whether no time passes until masses are seen to move: at the start of a motion.
    """
    resting = state.mode == STICK
    numbers, rest = eqx.partition((system, state), eqx.is_inexact_array)
    fixed_system, fixed = eqx.combine(jax.lax.stop_gradient(numbers), rest)
    begins = _onset(fixed_system, fixed, resting)
    slips = resting & ~begins.held
    mode = jnp.where(slips, SLIP, state.mode)
    v = jnp.where(slips[:, None], NUDGE * system.columns(begins.motion), state.v)
    begun = State(state.t, state.q, v, state.ledger, mode)
    if not at_once:
        begun = _clearly_moving(system, fixed_system, begun, begins, slips)
    return with_reaction_sign(system, begun, slips)


def _clearly_moving(system: SlidingMasses, fixed: SlidingMasses, state: State, begins: Onset, slips) -> State:
    """The state as soon as masses that have just begun to slip, and do so slowly, clearly move."""
    where, gain = fixed.places(jax.lax.stop_gradient(state)), begins.motion.length()
    slow = slips & (fixed.grip_at_rest() * jnp.abs(begins.normal_force) > fixed.mass * gain)
    rubs = which_stop(fixed, state, ~slips)
    slowing = jnp.where(rubs, -begins.motion.dot(where.heading), 0.0)
    left = jnp.min(jnp.where(slowing > 0.0, where.speed / jnp.where(slowing > 0.0, slowing, 1.0), jnp.inf))
    clear = CLEARLY * STOP_SPEED
    moment = jnp.minimum(clear / jnp.min(jnp.where(slow, gain, jnp.inf)), jnp.minimum(LONGEST_NUDGE, SOON * left))
    moment = jnp.where(slow.any(), moment, 0.0)
    moves = (state.mode != STICK) & (state.mode != GONE)
    gained = jnp.where(moves[:, None], moment * system.columns(begins.motion), 0.0)
    floor = jnp.where(slow, jnp.maximum(clear / jnp.maximum(moment * gain, 1e-300), 1.0), 1.0)
    lost = jnp.where(rubs, fixed.signed_grip(state.mode, where.speed) * begins.normal_force * where.speed, 0.0)
    return State(
        state.t + moment,
        state.q + moment * (state.v + 0.5 * gained),
        state.v + gained * floor[:, None],
        state.ledger.lose(moment * jnp.sum(lost)),
        state.mode,
    )


def _onset(system: SlidingMasses, state: State, resting) -> Onset:
    where = system.places(state)
    return onset(
        where, system.rods, state.mode, system.mass, system.grip_at_rest(),
        system.signed_grip(state.mode, where.speed), system.gravity, resting,
    )  # fmt: skip


def with_reaction_sign(system: SlidingMasses, state: State, which, sweeps: int = 1) -> State:
    """Masses `which` slip in the mode that the sign of the reaction asks for: pressed on the surface, or pulled to it.

    A mode changes the friction and thereby the reactions, also of other masses: they are found anew in each sweep.
    """
    if not system.adhesion:
        return state

    def sweep(_, mode):
        pulled = system.forces(eqx.tree_at(lambda s: s.mode, state, mode), where).normal_force < 0.0
        return jnp.where(which & (mode < STICK), jnp.where(pulled, PULLED, SLIP), mode)

    where = system.places(state)
    if sweeps > 1 and checks.concrete(state.q) is None:
        mode = jax.lax.fori_loop(0, sweeps, sweep, state.mode)  # inside a program: once, not so many times
    else:
        mode = functools.reduce(lambda mode, k: sweep(k, mode), range(sweeps), state.mode)
    return eqx.tree_at(lambda s: s.mode, state, mode)


def release(system: SlidingMasses, state: State, index) -> State:
    """A held mass is torn loose.

    At this instant its acceleration is still zero and grows evenly with time, so it is held for a short time more. Then
    it is given the velocity that it would have by then, half of its last acceleration times that time; the velocities
    of the others change likewise by the difference that its motion makes to their accelerations.
    """

    def begin(later):
        begins = _onset(system, later, later.mode == STICK)
        return jnp.max(begins.motion.length() * (later.mode == STICK)), begins

    held_on = hold_on(system, state, begin)
    moment, later, begins = held_on.moment, held_on.later, held_on.last
    loose = ((later.mode == STICK) & ~begins.held).at[index].set(True)
    moves, held = (loose | (later.mode != STICK))[:, None], system.forces(later)
    gained = jnp.where(moves, system.columns(begins.motion - held.motion), 0.0)
    v, q = later.v + 0.5 * moment * gained, later.q + moment**2 / 6.0 * gained
    work = (
        jnp.where(loose, system.grip_at_rest() * jnp.abs(held.normal_force) * begins.motion.length(), 0.0)
        * moment**2
        / 6.0
    )
    ledger, mode = later.ledger.lose(jnp.sum(work)), jnp.where(loose, SLIP, later.mode)
    return with_reaction_sign(system, system.project(State(later.t, q, v, ledger, mode)), loose)


def reverse_reaction(system: SlidingMasses, state: State, index) -> State:
    """The surface begins to pull at a mass, or to press on it again."""
    mode = state.mode.at[index].set(jnp.where(state.mode[index] == SLIP, PULLED, SLIP))
    return eqx.tree_at(lambda s: s.mode, state, mode)


def lift_off(system: SlidingMasses, state: State, index) -> State:
    """A mass leaves the surface."""
    return eqx.tree_at(lambda s: s.mode, state, state.mode.at[index].set(FREE))


def hit_surface(system: SlidingMasses, state: State, index) -> State:
    """A flying mass hits the surface: it bounces, or comes to lie.

    Each bounce is lower than the one before. When they are no higher than a few hairs, the mass is moved on to the
    time at which their row ends, without friction, since blows are normal; from there on it slips. While others fly,
    which might land in that time, it slips at once and is given back what friction takes of it until then.
    """
    where = system.places(state)
    normal, restitution = where.normal.array()[index], system.restitution
    falls = (where.bend - where.normal.dot(system.forces(state, where).motion))[index]
    depth = hair(state)[index] * normal[2]
    closing = -where.velocity.dot(where.normal)[index]
    # By the hair that it is too deep the mass is late: so fast it was at the surface, so long ago.
    at_surface = jnp.sqrt(jnp.maximum(closing**2 - 2.0 * falls * depth, 0.0))
    ago = 2.0 * depth / (closing + at_surface)
    leaving = restitution * at_surface

    lies = (leaving**2 < 8.0 * depth * falls) | (restitution == 0.0)
    bounces_on = lies & (leaving > 0.0)
    row = 2.0 * leaving / jnp.where(bounces_on, falls * (1.0 - restitution), jnp.inf)
    smooth = eqx.tree_at(
        lambda s: s.law, system, WeakenedFriction(system.law, jnp.ones_like(system.mass).at[index].set(0.0))
    )
    landed = land(system, state, index, jnp.where(lies, closing, at_surface + leaving))
    others_fly = jnp.sum(landed.mode == FREE) > 0
    left = jnp.maximum(row - ago, 0.0)
    lain = after_short_time(smooth, landed, jnp.where(others_fly, 0.0, left))
    if system.mass.size > 1:
        lain = choose(others_fly, _relieve(system, smooth, lain, left), lain)
    bounced = _bounce_back(system, landed, index, (at_surface + leaving) * ago * normal)
    return choose(lies, lain, bounced)


def _relieve(system: SlidingMasses, smooth: SlidingMasses, state: State, moment) -> State:
    """The state from which the motion, after a moment, is where it would be if it had been `smooth` until then."""
    where = system.places(state)
    spared = system.columns(smooth.forces(state, where).motion - system.forces(state, where).motion)
    relieved = system.project(state.replace(q=state.q - 0.5 * moment**2 * spared, v=state.v + moment * spared))
    gained = sum(system.energies(relieved)) - sum(system.energies(state))
    return relieved.replace(ledger=relieved.ledger.lose(-gained))


def _bounce_back(system: SlidingMasses, after: State, index, way) -> State:
    """A mass that has landed, in flight again: it has come this way since its blow a moment ago."""
    q, ledger = after.q.at[index].add(way), after.ledger.lose(-system.mass[index] * system.gravity * way[2])
    return State(after.t, q, after.v, ledger, after.mode.at[index].set(FREE))


def hair(state: State):
    """A length just above the rounding of a gap, for each mass: larger at larger coordinates [m]."""
    return HAIR * jnp.maximum(jnp.max(jnp.abs(state.q), axis=1), 1.0)


def land(system: SlidingMasses, state: State, index, blow) -> State:
    """The surface gives a flying mass this speed along the normal, and the rods pass the blow on; the mass lies there
    if the surface has to press on it.

    Masses that lie on the surface are moved along it; held ones that the blow reaches through the rods are loose
    afterwards.
    """
    where = system.places(state)
    landing_here = jnp.arange(system.mass.size) == index
    v = where.velocity + where.normal * jnp.where(landing_here, blow, 0.0)
    if len(system.rods):
        rod = rod_geometry(system.rods, where.position)
        stretching = rod.direction.dot(system.rods.between(v))
        touching = jnp.where((state.mode == FREE) & ~landing_here, FREE, SLIP)
        (dv,) = constrained_change(where, system.rods, touching, system.mass, stretching[:, None])
        v = v + dv
    held = state.mode == STICK
    hit = held & (v.length() > STOP_SPEED)
    v = v.map(lambda part: jnp.where(held & ~hit, 0.0, part))
    mode = jnp.where(hit, SLIP, state.mode)
    lost = 0.5 * jnp.sum(system.mass * (where.velocity.square() - v.square()))
    lying = State(state.t, state.q, v.array(), state.ledger.lose(lost), mode.at[index].set(SLIP))
    pressed = system.forces(lying).normal_force[index] >= 0.0
    return eqx.tree_at(lambda s: s.mode, lying, mode.at[index].set(jnp.where(pressed, SLIP, FREE)))


def come_to_lie(system: SlidingMasses, state: State, index) -> State:
    """A mass that bounces ever less comes to lie on the surface."""
    where = system.places(state)
    return land(system, state, index, -where.velocity.dot(where.normal)[index])


def leave(system: SlidingMasses, state: State, index) -> State:
    """A mass reaches the border of the surface: it is taken out and stays there, unless it ends the run.

    Its kinetic energy goes with it, and is counted as lost.
    """
    if not system.others_go_on:
        return state
    kinetic = 0.5 * system.mass[index] * system.places(state).velocity.square()[index]
    without = State(
        state.t,
        state.q,
        state.v.at[index].set(0.0),
        state.ledger.lose(kinetic),
        state.mode.at[index].set(GONE),
    )
    return jax.tree.map(lambda ends, goes: jnp.where(system.ends_outside(state)[index], ends, goes), state, without)
