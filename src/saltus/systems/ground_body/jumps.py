"""What happens to a body on the ground at each event: one function per guard."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array

from saltus.hybrid import Rate, State
from saltus.hybrid.parts import shift
from saltus.hybrid.state import same_types
from saltus.laws.friction.limit import LEAST
from saltus.numerics import rotation
from saltus.numerics.components import Vec
from saltus.numerics.trees import choose
from saltus.programs.arrays import numbers
from saltus.systems.ball_common import size
from saltus.systems.ground_body.mechanics import (
    FLIGHT,
    HELD,
    REST,
    ROLL,
    SKID,
    SLIDE,
    Motion,
    Sight,
    Wrench,
    active_piece,
    free_gain,
    grip_use,
    held_rows,
    hold,
    look,
    point_mobility,
    see,
    turn_use,
    with_velocity,
    wrench,
)
from saltus.systems.ground_body.state import GroundMotion
from saltus.systems.short_time import see_after_short_time, time_to_stop

if TYPE_CHECKING:
    from saltus.systems.ground_body.system import BodyOnGround

NUDGE = 1e-12  # [s]; what sets off from rest does so with the velocity that it has after this time, at least
# What sets off is given the time to be clearly faster than what counts as still, else it could be taken for a stop;
# but no longer than this, in units of the root of the precision [s]: so long the accelerations are the same. What is
# too slow for that is given the rest of the speed: all of it is an error that counts as none.
LONGEST_NUDGE = 3e-3
CLEARLY = 4.0
LONGEST_STRETCH = 1e-6  # [s]; before slip or turning vanishes
HAIR = 1e-13  # of its coordinates [m]; how deep a body that hardly falls may be when it lands
# A contact that loses its grip slips as time cubed and is let go after so long a path: earlier it would be too stiff.
RELEASE_PATH = 1e-9  # [m]; at least
RELEASE_SHARE = 0.01  # of the settle height; who takes bounces less exactly has no use for more here
SMALL_TURN = 0.4  # [rad]; no more may happen in such a moment: one step of fourth order follows it
SMALL_CHANGE = 0.1  # of a motion that goes on beside, within such a moment
MOMENTS = 5  # that are tried, with the first, which is none
PROBE = 1e-4  # [s]; time over which the growth of the slip's acceleration is measured
BURSTS, BURST = 20, 15  # rounds of the search for the direction in which a motion begins, at most their product
SAME = 1e-15  # change of that direction in a round which is none
BALANCE = 1e-12  # slope of the ground, and lever of its push over the size of the body, that are rounding


def hair(state: State) -> Array:
    """A length just above the rounding of a gap [m]."""
    return HAIR * jnp.maximum(jnp.max(jnp.abs(state.q.centre)), 1.0)


def weight(system: BodyOnGround) -> Array:
    """Weight of the body [N]."""
    return system.solid.mass * system.gravity


def settle_speed(system: BodyOnGround) -> Array:
    """Speed of a bounce that is no higher than the settle height [m s-1]."""
    return jnp.sqrt(2.0 * system.gravity * system.settle_height)


def near(system: BodyOnGround, v: GroundMotion) -> Array:
    """Speed from which a stop is extrapolated: the last stretch is straight [m s-1].

    Slip and turning are differences of the velocities, so they are known no better than those are.
    """
    return system.precision * (system.speed + size(v.velocity) + system.solid.radius() * size(v.turning))


# ---- which mode -------------------------------------------------------------------------------------------


def rests(system: BodyOnGround, sight: Sight) -> Array:
    """Whether a body on the ground that is not moved at all has no reason to begin, whatever the laws.

    The push of level ground just below the centre of mass balances the weight, and neither friction nor a resistance to
    rolling is asked for.
    """
    still = ~jnp.any(sight.motion.array() != 0.0)
    lever = size(sight.arm.cross(sight.touch.normal).array()) / system.solid.radius()
    slope = size(sight.touch.normal.array()[:2])
    return still & (jnp.maximum(lever, slope) <= BALANCE)


class Onset(eqx.Module):
    """A mode of contact that may follow: its forces, and whether the laws allow it."""

    now: Wrench
    allowed: Array


def onset(system: BodyOnGround, sight: Sight, mode: Array, slipless: Array, turnless: Array) -> Onset:
    """Forces in a mode whose slip or turning may be just beginning, in the direction in which it then grows.

    Where a speed is zero the law does not tell the direction of its force; it is against the motion that begins, and
    that is along the acceleration. Found by iteration, which contracts since friction is monotone. It may also end at a
    direction against the acceleration: then less than all the friction there is holds the body, and that motion does
    not begin.
    """
    held = held_rows(system, mode)
    own = sight.contact_motion
    slides, turns = slipless & ~held[1], turnless & ~held[3]

    def motion_with(slip, turn, radius):
        rim_turn = slip[2] / jnp.maximum(radius, LEAST)
        spins, spin = (turns, turn[2]) if system.point else (slides, rim_turn)
        return Motion(
            jnp.where(slides, slip[:2], own.slip),
            jnp.where(turns, turn[:2], own.rolling),
            jnp.where(spins, spin, own.spin),
        )

    def rim_radius(load):
        return jnp.zeros(()) if system.point else system.spot_radius(load, sight.touch)

    def improve(carry):
        slip, turn, load, _, _ = carry
        radius = rim_radius(load)
        now = wrench(system, sight, mode, motion_with(slip, turn, radius))
        load = jnp.maximum(now.load, 1e-3 * weight(system))
        # How much friction changes the accelerations at most: longer steps of the iteration would overshoot.
        slip_scale = (
            4.0
            * system.law_under(load, sight.touch).capacity(load)
            * (1.0 / system.solid.mass + _spread(system, sight))
        )
        turn_scale = 4.0 * load * system.resistance(load, sight.touch) * sight.mobility.trace()
        slipping, turning = _beginning(system, now.gain, radius)
        shares = _rim_share(system, sight, radius)
        after = _follow(slipping, slip, slip_scale, shares), _follow(turning, turn, turn_scale, jnp.ones(3))
        changes = [jnp.max(jnp.abs(new - old)) > SAME for new, old in zip(after, (slip, turn), strict=True)]
        return *after, load, now, (slides & changes[0]) | (turns & changes[1])

    def if_it_changes(act):
        """Only as long as directions are asked for and change; so derivatives of any kind go through."""
        return lambda carry, _: (jax.lax.cond(carry[-1], act, lambda carry: carry, carry), None)

    def improve_often(carry):
        return jax.lax.scan(if_it_changes(improve), carry, None, length=BURST)[0]

    # The first round is without friction: its directions are zero.
    first = (jnp.zeros(3), jnp.zeros(3), weight(system), Wrench.nothing(), jnp.asarray(True))
    (slip, turn, load, now, _), _ = jax.lax.scan(if_it_changes(improve_often), first, None, length=BURSTS)
    slipping, turning = _beginning(system, now.gain, rim_radius(load))
    begins = (~slides | (jnp.sum(slipping * slip) >= 0.0)) & (~turns | (jnp.sum(turning * turn) >= 0.0))
    grips = ~held[1] | (slipless & (grip_use(system, now, sight) <= 1.0))
    lies = ~held[3] | (turnless & (turn_use(system, now, sight) <= 1.0))
    return Onset(now, grips & lies & begins)


def _beginning(system: BodyOnGround, gain: Array, radius: Array) -> tuple[Array, Array]:
    """Accelerations of the slip, with that of the rim of the spot, and of the turning that the law resists.

    Of the six rows they are `gain`.
    """
    turning = gain[3:6] if system.point else jnp.append(gain[3:5], 0.0)
    return jnp.append(gain[1:3], radius * gain[5]), turning


def _spread(system: BodyOnGround, sight: Sight) -> Array:
    """Largest possible acceleration of the contact by turning, per force there [1/kg]."""
    return sight.mobility.trace() * sight.arm.square()


def _rim_share(system: BodyOnGround, sight: Sight, radius: Array) -> Array:
    """How much less friction changes the accelerations of slip and rim than that of slip, at most."""
    if system.point:
        return jnp.ones(3)
    rim = radius**2 * sight.mobility.trace()
    share = rim / (rim + 1.0 / system.solid.mass + _spread(system, sight))
    return jnp.append(jnp.ones(2), share)


def _follow(gain: Array, way: Array, scale: Array, shares: Array) -> Array:
    """A direction of motion turned towards its acceleration; it stays where both are the same.

    Every component goes as far as its own response allows. The rim of a small spot answers friction by the square of
    the spot's radius over that of the body less than slip does: by steps that suit slip it would not come to its share
    of the motion in any number of rounds that is worth taking.

    Args:
        gain: Acceleration, with friction against the direction.
        way: The direction, of length 1.
        scale: How much friction changes accelerations at most.
        shares: The part of it that each component may have, the largest 1.
    """
    # How fast it grows, as that of a body: what responds less is heavier, and tells more.
    heavy = way / shares
    along = jnp.maximum(jnp.sum(gain * heavy) / jnp.maximum(jnp.sum(way * heavy), LEAST), 0.0)
    return _unit((gain + shares * scale * way) * ((along + scale + LEAST) / (along + shares * scale + LEAST)))


def _unit(vector: Array) -> Array:
    length = size(vector)
    return vector / jnp.where(length > 0.0, length, 1.0)


class Departure(eqx.Module):
    """A motion in contact that begins.

    Args:
        load: Normal force as it begins [N].
        gain: Accelerations of the six rows.
        stopped: Rows that stood still before.
        slides: Whether slip begins.
        turns: Whether turning begins.
        moment: For how long it has begun [s].
    """

    load: Array
    gain: Array
    stopped: Array
    slides: Array
    turns: Array
    moment: Array

    @staticmethod
    def none() -> Departure:
        """No motion begins."""
        no, zero = numbers(False, bool), numbers(0.0)
        return Departure(zero, numbers(np.zeros(6)), numbers(np.zeros(6, bool), bool), no, no, zero)


def in_contact(system: BodyOnGround, state: State, slipless: Array, turnless: Array) -> State:
    """The right mode of contact for a body without slip or without turning, with what is zero set to zero.

    What begins to move is shown a moment later, when it does.
    """
    return _go_on_in_contact(system, state, Contact.of(slipless=slipless, turnless=turnless))


def _go_on_in_contact(system: BodyOnGround, state: State, contact: Contact) -> State:
    """The state in the mode that follows; then what begins to move in it is set off.

    Both look at the contact, give rows of it their speeds, and ask for the forces: as two rounds of one loop they stand
    once in a program.
    """

    def go_on(i, carry: tuple[State, Departure]) -> tuple[State, Departure]:
        first, (now, begins) = i == 0, carry
        needed = jnp.where(first, ~contact.departs, begins.slides | begins.turns)
        return jax.lax.cond(needed, lambda: _choose_or_set_off(system, now, contact, begins, first), lambda: carry)

    return jax.lax.fori_loop(0, 2, go_on, (state, contact.departure))[0]


def _choose_or_set_off(
    system: BodyOnGround, state: State, contact: Contact, begins: Departure, first: Array
) -> tuple[State, Departure]:
    """The first round, in which the mode is chosen, or the second, in which a motion begins."""
    sight = look(system, state)
    slipless, turnless = (first & ended for ended in contact.ended(system, state, sight))
    held = jnp.asarray(HELD[system.point])
    stopped = held[SLIDE] | (slipless & held[ROLL]) | (turnless & held[SKID])
    stopped = jnp.where(first, stopped, begins.stopped)
    wanted = jnp.where(first, 0.0, _first_speeds(system, state, sight, begins))
    given = state.replace(v=state.v.add(*hold(system, sight, stopped, wanted)))
    sight = with_velocity(system, sight, given.v)
    modes = jnp.asarray([REST, ROLL, SKID, SLIDE] if system.resisted else [ROLL, SLIDE])

    def try_mode(mode):
        found = onset(system, sight, mode, slipless, turnless)
        return Onset(found.now, found.allowed | ~first), mode  # what is set off is in its mode already

    def try_until_allowed(carry, mode):
        """The first mode that the laws allow; sliding always is."""
        return jax.lax.cond(carry[0].allowed, lambda: carry, lambda: try_mode(jnp.where(first, mode, state.mode))), None

    nothing = Onset(Wrench.nothing(), jnp.asarray(False))
    (tried, mode), _ = jax.lax.scan(try_until_allowed, (nothing, modes[0]), modes)
    moving = _set_off(system, given, sight, tried.now.load > 0.0), begins
    mode = jnp.where(rests(system, sight), REST, mode)
    slides, turns = slipless & ~held[mode][1], turnless & ~held[mode][3]
    coming = Departure(tried.now.load, tried.now.gain, stopped, slides, turns, jnp.zeros(()))
    return choose(first, _begin_mode(system, given, mode, tried.now, coming, contact.at_once), moving)


def _begin_mode(
    system: BodyOnGround, state: State, mode: Array, now: Wrench, begins: Departure, at_once: Array
) -> tuple[State, Departure]:
    """The state in its new mode, and the motion that begins in it, if the ground presses."""
    moment = jnp.where(at_once, 0.0, _moment(system, state, now, begins.slides, begins.turns))
    presses = now.load > 0.0
    slides, turns = begins.slides & presses, begins.turns & presses
    state = _nudge(state, now, jnp.where(slides | turns, moment, 0.0))
    v = jax.tree.map(lambda part: jnp.where(mode == REST, 0.0, part), state.v)
    state = state.replace(v=v, mode=jnp.where(presses, mode, FLIGHT))
    return state, dataclasses.replace(begins, slides=slides, turns=turns, moment=moment)


def _moment(system: BodyOnGround, state: State, now: Wrench, slides: Array, turns: Array) -> Array:
    """How long what begins to slip or to turn takes until it is clearly faster than what counts as still [s]."""
    slip_gain = now.gain[1:3]
    turn_gain = system.solid.radius() * (now.gain[3:6] if system.point else now.gain[3:5])
    slower = jnp.minimum(
        jnp.where(slides, jnp.maximum(size(slip_gain), LEAST), jnp.inf),
        jnp.where(turns, jnp.maximum(size(turn_gain), LEAST), jnp.inf),
    )
    longest = LONGEST_NUDGE * jnp.sqrt(system.precision)
    return jnp.clip(CLEARLY * near(system, state.v) / slower, NUDGE, longest)


def _first_speeds(system: BodyOnGround, state: State, sight: Sight, begins: Departure) -> Array:
    """Speeds of the six rows with which a motion begins, faster than what counts as still.

    A slower slip could not be told from none: neither would its stop be noticed, nor could it be followed. The impulses
    act where nothing moves yet, so that they change the energy by no more than the square of these speeds.
    """
    least, radius = CLEARLY * near(system, state.v), system.solid.radius()
    rim = jnp.zeros(()) if system.point else system.spot_radius(jnp.maximum(begins.load, LEAST), sight.touch)
    slipping, turning = _beginning(system, begins.gain, rim)
    slip = jnp.where(begins.slides, _unit(slipping) * jnp.maximum(begins.moment * size(slipping), least), 0.0)
    turn = jnp.where(begins.turns, _unit(turning) * jnp.maximum(begins.moment * size(turning), least / radius), 0.0)
    spin = turn[2] + slip[2] / jnp.maximum(rim, LEAST)
    return jnp.concatenate([jnp.zeros(1), slip[:2], turn[:2], spin[None]])


def _set_off(system: BodyOnGround, state: State, sight: Sight, presses: Array) -> State:
    """The state whose motion has begun, right on the ground; in flight if that does not press."""
    q = state.q.lift(-sight.touch.height)
    if system.solid.n_pieces == 1:
        q = q.replace(facing=sight.touch.place)
    return state.replace(q=q, mode=jnp.where(presses, state.mode, FLIGHT))


def _nudge(state: State, now: Wrench, moment: Array) -> State:
    """The state a moment later, when what begins to move does so."""
    gained = jax.tree.map(lambda part: moment * part, _accelerations(now))
    mean = shift(state.v, gained, 0.5)
    turned = rotation.multiply(rotation.from_rotation_vector(moment * mean.turning), state.q.quaternion)
    q = state.q.replace(centre=state.q.centre + moment * mean.velocity, quaternion=turned)
    return state.replace(t=state.t + moment, q=q, v=state.v.add(gained.velocity, gained.turning))


# ---- events -----------------------------------------------------------------------------------------------


class Contact(eqx.Module):
    """What is known of a body that comes into contact, or stays in it without slip or without turning.

    Args:
        slipless: Whether it is known not to slip.
        turnless: Whether it is known not to turn.
        slows: Whether slip or turning that counts as none has ended, too.
        at_once: Whether what begins to move does so without delay: the body was not in contact before.
        lies_on: The piece it has been lying on, or -1.
        index: The piece that touches.
        departs: Whether its mode is chosen already, and a motion begins in it.
        departure: That motion.
    """

    slipless: Array
    turnless: Array
    slows: Array
    at_once: Array
    lies_on: Array
    index: Array
    departs: Array
    departure: Departure

    @staticmethod
    def over() -> Contact:
        """Of a jump that has no second stage."""
        no, none = numbers(False, bool), numbers(-1, int)
        return Contact(no, no, no, no, none, none, no, Departure.none())

    @staticmethod
    def of(**known: Any) -> Contact:
        """Of which this is known beside what is so for a body that was in contact before."""
        return dataclasses.replace(Contact.over(), **known)

    def ended(self, system: BodyOnGround, state: State, sight: Sight) -> tuple[Array, Array]:
        """Whether the body does not slip, and whether it does not turn, where it is seen like this."""
        slow = 2.0 * near(system, state.v)
        slipless = ((state.mode == ROLL) | (size(sight.slip) <= slow)) & system.has_friction
        turnless = size(system.turning(sight)) * system.solid.radius() <= slow
        return self.slipless | (self.slows & slipless), (self.turnless | (self.slows & turnless)) & system.resisted


def make_contact(system: BodyOnGround, state: State, contact: Contact) -> State:
    """The second stage of jumps after which slip or turning has ended, or begins: the mode of contact that follows."""
    after = _go_on_in_contact(system, state, contact)
    return _on_both(system, contact, _book(system, state, after))


LANDS, PILES_UP = 0, 1


def touch_down(system: BodyOnGround, state: State, index: Array, variant: Array) -> tuple[State, Array, Contact]:
    """The body hits the ground: it bounces, or stays if the bounce would be too low to tell, or if bounces pile up."""
    sight = look(system, state, index)
    struck = _strike(system, state, sight, index)
    leaving = with_velocity(system, sight, struck.v)
    falls = -free_gain(system, leaving)[0]
    low = (leaving.closing**2 < 2.0 * falls * system.settle_height) & (falls > 0.0)
    lies = low | (variant == PILES_UP)
    lying, slipless, turnless = _lay_down(system, struck, leaving)
    flying = struck.replace(mode=jnp.full_like(state.mode, FLIGHT))
    after = choose(lies, same_types(state, _book(system, struck, lying)), same_types(state, flying))
    lies_on = jnp.where((state.mode != FLIGHT) & (variant == LANDS), active_piece(state), -1)
    contact = Contact.of(
        slipless=slipless,
        turnless=turnless,
        at_once=jnp.asarray(True),
        lies_on=lies_on,
        index=jnp.asarray(index, lies_on.dtype),
    )
    more = lies & (slipless | turnless)
    return choose(more, after, _on_both(system, contact, after)), more, contact


def _on_both(system: BodyOnGround, contact: Contact, after: State) -> State:
    """Marks a body of several pieces that comes to lie on two of them."""
    if system.solid.n_pieces == 1:
        return after
    old = contact.lies_on
    parts = look(system, after, jnp.maximum(old, 0)).closing > settle_speed(system)
    both = (old >= 0) & (after.mode != FLIGHT) & (old != contact.index) & ~parts
    return after.replace(ledger=after.ledger.replace(piece=jnp.where(both, -1.0, after.ledger.piece)))


def _strike(system: BodyOnGround, state: State, sight: Sight, index: Array) -> State:
    """Just after the impulse of an impact at a piece, which is put right onto the ground."""
    drift, normal = sight.drift.array(), sight.touch.normal.array()
    impulse = system.impact_at(sight.touch).impulse(drift, normal, point_mobility(system, sight))
    turned = sight.mobility @ sight.arm.cross(Vec.of(impulse))
    v = state.v.add(impulse / system.solid.mass, turned.array())
    ledger = state.ledger.replace(piece=jnp.asarray(index, float))
    # In flight the facing points have only gone with the centre; where they are, and how that depends on the start, is
    # known here.
    here = (jnp.arange(system.solid.n_pieces) == index)[:, None]
    places = jnp.where(here, sight.touch.place, state.q.facing.reshape(-1, 2))
    q = state.q.lift(-sight.touch.height).replace(facing=places.ravel())
    return _book(system, state, state.replace(q=q, v=v, ledger=ledger))


def _lay_down(system: BodyOnGround, state: State, sight: Sight) -> tuple[State, Array, Array]:
    """A body that does not leave the ground any more, as if it slid; whether it does not slip, and does not turn.

    Where it rests there is nothing more to ask.
    """
    dv, dw = hold(system, sight, jnp.asarray(HELD[system.point])[SLIDE])
    lying = state.replace(v=state.v.add(dv, dw), mode=jnp.full_like(state.mode, SLIDE))
    sight = with_velocity(system, sight, lying.v)
    slow = 2.0 * near(system, lying.v)
    slipless = size(system.slip_and_rim(sight, weight(system))) <= slow
    turnless = size(system.turning(sight)) * system.solid.radius() <= slow
    done = rests(system, sight)
    lying = lying.replace(mode=jnp.where(done, REST, lying.mode))
    return lying, slipless & system.has_friction & ~done, turnless & system.resisted & ~done


def _book(system: BodyOnGround, before: State, after: State) -> State:
    """The state after with the energy that is gone in its ledger."""
    lost = sum(system.energies(before)) - sum(system.energies(after))
    return after.replace(ledger=after.ledger.lose(lost))


def lift_off(state: State, index: Array) -> State:
    """The body leaves the ground."""
    return state.replace(mode=jnp.full_like(state.mode, FLIGHT))


SLIP, TURNING = 0, 1


def stop(system: BodyOnGround, state: State, index: Array, variant: Array) -> tuple[State, Array, Contact]:
    """Slip (and with a spot the spin), or else the turning, has come to its end."""
    seen = see(system, state)
    left = jnp.where(
        variant == SLIP,
        *(time_left(system, seen.sight, seen.forces, state.mode, of_slip) for of_slip in (True, False)),
    )
    after = _run_out(state, system.rate_by(state, seen), left)
    ended = Contact.of(slipless=variant == SLIP, turnless=variant == TURNING, slows=jnp.asarray(True))
    return after, jnp.asarray(True), ended


def time_left(system: BodyOnGround, sight: Sight, now: Wrench, mode: Array, of_slip: bool) -> Array:
    """Time until the slip, or else the turning, vanishes: its components do so together, in a straight line [s]."""
    radius = jnp.zeros(()) if system.point else system.spot_radius(jnp.maximum(now.load, LEAST), sight.touch)
    speeds = system.slip_and_rim(sight, now.load) if of_slip else system.turning(sight)
    act = Partial(_gain_with, system, sight, mode, radius, of_slip)
    return time_to_stop(speeds, _gain_of(system, now, radius, of_slip), act, LONGEST_STRETCH)


def _gain_of(system: BodyOnGround, now: Wrench, radius: Array, of_slip: bool) -> Array:
    """Accelerations of slip and rim, or else of the turning."""
    slipping, turning = _beginning(system, now.gain, radius)
    if of_slip:
        return slipping[:2] if system.point else slipping
    return turning if system.point else turning[:2]


def _gain_with(system: BodyOnGround, sight: Sight, mode: Array, radius: Array, of_slip: bool, speeds: Array):
    """The same if slip and rim, or else the turning, had these speeds."""
    own = sight.contact_motion
    if of_slip:
        motion = Motion(speeds[:2], own.rolling, own.spin if system.point else speeds[2] / radius)
    else:
        motion = Motion(own.slip, speeds[:2], speeds[2] if system.point else own.spin)
    return _gain_of(system, wrench(system, sight, mode, motion), radius, of_slip), ()


def _run_out(state: State, rate: Rate, left: Array) -> State:
    """The last stretch before some speeds vanish together."""
    q, v = shift((state.q, state.v), (rate.q, rate.v), left)
    return State(state.t + left, q, v, shift(state.ledger, rate.ledger, 0.5 * left), state.mode)


class Trial(eqx.Module):
    """A moment for which a contact that loses its hold is held on, tried.

    Args:
        coming: The moment to be tried next [s].
        moment: The one that was tried [s].
        later: The state after it.
        now: Forces and accelerations there, of the motion that begins.
        use: Share of what holds the contact that it uses there.
        longest: How long a moment may be [s].
        pressed: Normal force at the beginning [N].
    """

    coming: Array
    moment: Array
    later: State
    now: Wrench
    use: Array
    longest: Array
    pressed: Array


def release(system: BodyOnGround, state: State, index: Array, variant: Array) -> tuple[State, Array, Contact]:
    """The contact loses its grip, or else the resistance to rolling is overcome.

    The body goes on holding for a moment, by which the motion has begun: at this instant its acceleration is still zero
    and grows with time. By the end of the moment it has gained half of that acceleration times the moment.
    """
    less = variant == SLIP, variant == TURNING
    mode = jnp.where(less[0] & (state.mode != ROLL), SKID, SLIDE)

    def try_unless_found(i, tried: Trial) -> Trial:
        found = (i > 2) & (tried.coming == tried.moment)
        return jax.lax.cond(found, lambda: tried, lambda: _try_moment(system, state, mode, less, i, tried))

    # First no time at all, then a short one, which tells how long the moment may be, then that moment, and shorter ones
    # if need be; a fixed number of them, so that derivatives of any kind go through.
    zero = jnp.zeros(())
    start = Trial(zero, zero, state, Wrench.nothing(), zero, zero, zero)
    tried = jax.lax.fori_loop(0, MOMENTS, try_unless_found, start)
    # What was lost may be found again within the moment.
    regained = (tried.use <= 1.0) & (tried.now.load > 0.0)
    after = tried.later.replace(mode=jnp.where(regained, state.mode, mode))
    # Its acceleration has grown from zero: half of it is the mean.
    stopped = held_rows(system, state.mode)
    departure = Departure(tried.now.load, tried.now.gain, stopped, *less, 0.5 * tried.moment)
    return after, ~regained, Contact.of(departs=jnp.asarray(True), departure=departure)


def _try_moment(
    system: BodyOnGround, state: State, mode: Array, less: tuple[Array, Array], i: Array, last: Trial
) -> Trial:
    """The next moment, as round i of `release`."""
    moment = last.coming
    later, (sight, kept) = see_after_short_time(system, state, moment, lambda seen: (seen.sight, seen.forces))
    now = onset(system, sight, mode, *less).now
    # How fast the body turns, or the contact goes round it (a disc that whirls does little else).
    roams = size(sight.facing.place_rate - later.v.velocity[:2]) / system.solid.radius()
    quickness = jnp.maximum(jnp.maximum(size(later.v.turning), roams), 1e-3)
    longest = jnp.minimum(SMALL_TURN / quickness, SMALL_CHANGE * _time_of_change(system, sight, kept, less))
    longest, pressed = jnp.where(i == 0, longest, last.longest), jnp.where(i == 0, kept.load, last.pressed)

    gained = now.acceleration - kept.acceleration
    growth = jnp.maximum(size(gained) / jnp.where(i == 0, 1.0, moment), 1e-9)
    path = jnp.maximum(RELEASE_PATH, RELEASE_SHARE * system.settle_height)
    longer = jnp.maximum(jnp.cbrt(6.0 * path / growth), jnp.sqrt(2.0 * CLEARLY * near(system, state.v) / growth))
    longer = jnp.clip(longer, 1e-6, jnp.minimum(1e-2, longest))
    # No longer than the ground presses: what holds on to it beyond that would be pulled.
    shorter = moment * pressed / jnp.maximum(pressed - now.load, LEAST)
    coming = jnp.where(now.load > 0.0, jnp.where(i == 1, longer, moment), shorter)
    coming = jnp.where(i == 0, jnp.minimum(PROBE, longest), coming)
    use = jnp.where(less[0], grip_use(system, kept, sight), turn_use(system, kept, sight))
    return Trial(coming, moment, later, now, use, longest, pressed)


def _time_of_change(system: BodyOnGround, sight: Sight, now: Wrench, less: tuple[Array, Array]) -> Array:
    """Time in which what goes on while the contact loses its hold would turn round: slip, or else turning [s].

    Friction is against it, so that a moment must be short against this time.

    Args:
        system: The system.
        sight: The contact.
        now: Its forces.
        less: Whether it has no slip, and whether it does not turn.
    """
    slip = size(sight.slip) / jnp.maximum(size(now.gain[1:3]), LEAST)
    gain = now.gain[3:6] if system.point else now.gain[3:5]
    turning = size(system.turning(sight)) / jnp.maximum(size(gain), LEAST)
    turns = ~less[1] & system.resisted
    return jnp.minimum(jnp.where(less[0], jnp.inf, slip), jnp.where(turns, turning, jnp.inf))


def _accelerations(now: Wrench) -> GroundMotion:
    return GroundMotion(now.acceleration, now.angular_acceleration)
