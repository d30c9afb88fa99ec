"""What can happen to a ball on rails, and what follows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.tree_util import Partial
from jaxtyping import Array, Bool

from saltus.contacts.ball_contact import ContactMotion
from saltus.hybrid import Guard, State
from saltus.hybrid.guard import StagedJump, always, once
from saltus.hybrid.parts import shift
from saltus.laws.friction import PointLimit, Reaction, SpotLimit
from saltus.laws.friction.limit import LEAST
from saltus.numerics.trees import choose
from saltus.systems.ball_common import size
from saltus.systems.ball_on_rails import creep, forces
from saltus.systems.ball_on_rails.forces import Contacts, Place, RailMotion, RailPlace, Scalar
from saltus.systems.ball_on_rails.stick import (
    CREEP_BACKWARD,
    CREEP_FORWARD,
    JAMMED,
    OPEN,
    REST,
    SLIP,
    STICK,
    coupling,
    sign_of,
    straight_modes,
)
from saltus.systems.short_time import LONGEST_MOMENT, begin_slip, hold_on, time_to_stop

if TYPE_CHECKING:
    from saltus.systems.ball_on_rails.system import BallOnRails

NEAR_REST = 1e-8  # speed over sqrt(g r) from which a stop is extrapolated: the last stretch is straight
SINGULAR = 1e-6  # determinant of the loads at which the ball counts as jammed: they are a million weights

AT_ONCE = 1e-12  # [s]
SOON = 0.3  # share of the time to a landing within which a contact that tears loose is let go
LANDS, SETTLES = range(2)  # how a ball comes down on both rails: at one landing, or after ever quicker ones

LEFT_MESSAGE = "The ball left the rails at t = {t:.6g} s."
JAM_MESSAGE = (
    "The ball jammed between the rails at t = {t:.6g} s: friction across the rails and load increase each other "
    "without bound, which needs mu > 1 / tan(half_angle)."
)


def all_guards(ball: BallOnRails, contacts: Callable[[State], Contacts] | None = None) -> tuple[Guard, ...]:
    """A rail lost, landing, leaving, jamming; sticking and slipping of points; creep and rest of spots."""

    def both_slide(state):
        return (state.mode == SLIP).all()

    def one_rail(state):
        return (state.mode == OPEN).any()

    def slips_on_one(state):
        return one_rail(state) & (state.mode == SLIP)

    def holds_on_one(state):
        return one_rail(state) & (state.mode == STICK).any()

    def slides_or_jammed(state):
        return both_slide(state) | (state.mode == JAMMED).any()

    def after(jump):
        return functools.partial(jump, ball)

    def in_stages(begin, variant=0):
        """A jump that may end in rest, which takes long to find and to compile; of a point only the first stage."""
        if ball.point:
            return lambda state, index: begin(ball, state, index, variant)[0]
        return StagedJump(ball, begin, _come_to_rest, variant)

    look = _GuardValues(ball, contacts or once(ball.contacts))
    guards = []
    if not ball.secure:
        guards += [
            Guard("rail_lost", lambda s: look(s).loads.margin, both_slide, jump=after(_lose_rail)),
            Guard(
                "landing",
                lambda s: s.q.tilt,
                one_rail,
                jump=in_stages(_land, LANDS),
                settle=in_stages(_land, SETTLES),
                likely=always,
            ),
            Guard("leaves", look.share_of_load, one_rail, "left_domain", LEFT_MESSAGE),
            Guard("jams", look.room_left, slides_or_jammed, "jammed", JAM_MESSAGE),
        ]
    if ball.point:
        guards += [
            Guard("slip_ends", look.signed_slip, lambda s: sign_of(s.mode) != 0.0, jump=after(_end_slip)),
            Guard("slip_vanishes", look.slip_left, lambda s: s.mode == SLIP, singular=True, jump=after(_finish_slip)),
        ]
    else:
        guards += [
            Guard("creeps", look.off_creep, both_slide, jump=after(_enter_creep)),
            Guard("stops", look.speed_left, both_slide, singular=True, jump=in_stages(_run_out)),
            Guard("rests", look.creep_left, lambda s: (sign_of(s.mode) != 0.0).any(), jump=in_stages(_as_it_is)),
        ]
    if not ball.secure:
        slips = Guard("slips", look.grip_left, holds_on_one, jump=after(_tear_loose), data=ball.slips_data)
        guards.append(slips)
    if not ball.secure and not ball.point:
        guards.append(Guard("slip_vanishes", look.slip_left, slips_on_one, singular=True, jump=after(_finish_slip)))
    return tuple(guards)


def _lose_rail(ball: BallOnRails, state: State, index) -> State:
    """The ball begins to tilt about the rail that it still touches."""
    seat = _with_tilt(state, 0.0)
    return seat.replace(mode=state.mode.at[index].set(OPEN))


def _with_tilt(state: State, rate) -> State:
    """The state with no tilt, but this rate of it."""
    return state.replace(
        q=state.q.replace(tilt=jnp.zeros_like(state.q.tilt)),
        v=state.v.replace(tilt=jnp.full_like(state.v.tilt, rate)),
    )


def _finish_slip(ball: BallOnRails, state: State, index) -> State:
    """The slip of a contact dies away."""
    return _end_slip(ball, _run_out_slip(ball, state, index), index)


def _end_slip(ball: BallOnRails, state: State, index) -> State:
    """A contact without slip sticks or slides on."""
    if not ball.point:
        return _stick_on_one_rail(ball, state)
    if ball.secure:
        return _straight(ball, state)
    return choose((state.mode == OPEN).any(), _stick_on_one_rail(ball, state), _straight(ball, state))


def seat(ball: BallOnRails, state: State) -> tuple[State, Bool[Array, ""]]:
    """A ball that has just come to sit on both rails, and whether that is where it comes to rest (`at_rest`)."""
    state, still = state.replace(mode=jnp.full(2, SLIP)), jnp.asarray(False)
    if ball.point:
        straight = jnp.abs(state.v.turning[0]) * ball.radius <= ball.near_stick * ball.speed
        state = choose(straight, _straight(ball, state), state)
    else:
        still = size(ball.speeds(state.v)) <= NEAR_REST * ball.speed
    if ball.secure:
        return state, still
    place = forces.place_contacts(ball, state.q.tilt, state.v)
    loads = forces.contacts_under(ball, place, state.v).loads
    lost = (loads.margin < 0.0) & (state.mode == SLIP)
    jammed = (state.mode == SLIP).all() & (loads.determinant <= SINGULAR)
    return state.replace(mode=jnp.where(jammed, JAMMED, jnp.where(lost, OPEN, state.mode))), still


def on_both(ball: BallOnRails, state: State, tilt_rate: Scalar) -> State:
    """The ball down on both rails, with this rate of tilt left; the energy lost goes to the ledger."""
    loss = 0.5 * ball.mass * ball.radius**2 * (state.v.tilt**2 - tilt_rate**2)
    lost = state.ledger.replace(impact=state.ledger.impact + loss)
    return _with_tilt(state, tilt_rate).replace(ledger=lost)


def _land(ball: BallOnRails, state: State, index, variant) -> tuple[State, Bool[Array, ""], tuple]:
    """Plastic impact on the rail that was lost; where the normals are less than 90 degrees apart it rocks over.

    Rocking that has died down ends with the ball on both rails.
    """
    rate = -state.v.tilt * jnp.cos(2 * ball.half_angle)
    rocks = (rate > ball.near_stick * ball.speed / ball.radius) & (variant == LANDS)
    down = on_both(ball, state, jnp.where(rocks, rate, 0.0))
    other = down.replace(mode=jnp.where(state.mode == OPEN, SLIP, OPEN))
    seated, still = seat(ball, down)
    return choose(rocks, other, seated), still & ~rocks, ()


def _straight(ball: BallOnRails, state: State) -> State:
    """Point contacts that slide along the rails only: who sticks and who slides, with exact zeros."""
    v = state.v.replace(turning=state.v.turning.at[0].set(0.0))
    negligible = 2 * ball.near_stick * ball.speed
    place = forces.place_contacts(ball, jnp.zeros(()), v)
    slip = place.motion.slip[:, 0]
    mode = straight_modes(ball, slip, negligible)
    sticks = mode == STICK
    own, other = coupling(ball)
    one = -ball.mass * slip / own
    both = -ball.mass * (own * slip - other * slip[::-1]) / (own**2 - other**2)
    impulse = jnp.where(sticks, jnp.where(sticks.all(), both, one), 0.0)
    pushed = forces.push(ball, place, forces.along_rails(impulse))
    return state.replace(v=jax.tree.map(jnp.add, v, pushed), mode=mode)


def _stick_on_one_rail(ball: BallOnRails, state: State) -> State:
    """A contact that stops slipping (and spinning) while the other rail is lost; it sticks if friction can hold it."""
    place = ball.contacts_of(state)
    slip, spin = jnp.sum(place.motion.slip, 0), jnp.sum(place.motion.spin)
    v = _with_slip(ball, state, place, -slip, jnp.zeros(()) if ball.point else -spin)
    stuck = state.replace(v=v, mode=jnp.where(state.mode == SLIP, STICK, state.mode))
    return choose(_GuardValues(ball, ball.contacts).grip_left(stuck) >= 0.0, stuck, state)


def _with_slip(ball: BallOnRails, state: State, place: Place, slip: Array, spin: Scalar) -> RailMotion:
    """Velocities after an impulse at the only contact that adds this slip and spin."""
    here = place.touches
    impulse = Reaction(
        jnp.where(here[:, None], ball.mass / coupling(ball)[0] * slip, 0.0),
        jnp.where(here, ball.inertia * spin, 0.0),
        jnp.zeros((2, 2)),
    )
    return jax.tree.map(jnp.add, state.v, forces.push(ball, place, impulse))


def _tear_loose(ball: BallOnRails, state: State, index) -> State:
    """The only contact slips, a moment after friction has ceased to hold it."""
    lands_in = jnp.where(state.v.tilt < 0.0, state.q.tilt / jnp.maximum(-state.v.tilt, LEAST), jnp.inf)
    longest = jax.lax.stop_gradient(jnp.minimum(LONGEST_MOMENT, SOON * lands_in))
    held = hold_on(ball, state, functools.partial(_begin_slip, ball), 4 * ball.near_stick * ball.speed, longest)
    later, (first, last) = held.later, (held.first, held.last)
    gained = jax.tree.map(held.velocity, first.gained, last.gained)
    # What is hardly accelerated is given a speed that does not count.
    fast = size(held.velocity(first.gain, last.gain))
    short = jnp.maximum(2 * ball.near_stick * ball.speed - fast, 0.0) * last.direction
    spin = jnp.zeros(()) if ball.point else short[2] / creep.spot_radius(ball)
    moving = later.replace(v=jax.tree.map(jnp.add, later.v, gained))
    v = _with_slip(ball, moving, ball.contacts_of(later), short[:2], spin)
    ahead = jax.tree.map(held.path, first.gained, last.gained)
    q = later.q.replace(along=later.q.along + ahead.along, tilt=later.q.tilt + ahead.tilt)
    lost = size(held.path(first.gain, last.gain)) * last.drag
    ledger = later.ledger.replace(friction=later.ledger.friction + lost)
    return State(later.t, q, v, ledger, jnp.where(state.mode == STICK, SLIP, state.mode))


class _Beginning(eqx.Module):
    """How the only contact begins to slip.

    Args:
        direction: Of the slip, and of the rim of a spot.
        gain: Their acceleration [m/s2].
        gained: Acceleration of the ball, less that while it is held.
        drag: Power that friction takes, per speed of the slip [N].
    """

    direction: Array
    gain: Array
    gained: RailMotion
    drag: Scalar


def _begin_slip(ball: BallOnRails, state: State) -> tuple[Scalar, _Beginning]:
    """How the only contact would begin to slip, with the size of its acceleration."""
    held = ball.contacts(state)
    act = functools.partial(_slip_gain, ball, state, jnp.argmax(held.place.touches))
    radius = _rim_radius(ball)

    force, torque = jnp.sum(held.reaction.force, 0), jnp.sum(held.reaction.spin_torque)
    slip, spin = _limit(ball, held).motion(-force, -torque)
    guess = slip if ball.point else jnp.append(slip, radius * spin)
    direction, gain, (acceleration, drag) = begin_slip(act, guess / size(guess))
    gained = jax.tree.map(jnp.subtract, acceleration, held.acceleration)
    return size(gain), _Beginning(direction, gain, gained, drag)


def _rim_radius(ball: BallOnRails) -> Scalar:
    """Radius of the spot; 1 m for a point, which has none."""
    return jnp.ones(()) if ball.point else creep.spot_radius(ball)


def _slip_and_rim(ball: BallOnRails, motion: ContactMotion) -> Array:
    """Slip of each contact, with the speed of the rim of a spot."""
    if ball.point:
        return motion.slip
    return jnp.concatenate([motion.slip, creep.spot_radius(ball) * motion.spin[:, None]], -1)


def _with_gain(ball: BallOnRails, state: State, index, acceleration: RailMotion) -> tuple[Array, Array]:
    """Slip and rim speed of a contact, and how fast they change with this acceleration of the ball."""

    def slip_and_rim(q, v):
        return _slip_and_rim(ball, ball.contacts_of(state.replace(q=q, v=v)).motion)[index]

    moving = RailPlace(state.v.along, state.v.tilt, jnp.zeros(()))
    return jax.jvp(slip_and_rim, (state.q, state.v), (moving, acceleration))


def _slip_gain(ball: BallOnRails, state: State, index: Array, speeds: Array) -> tuple[Array, tuple[RailMotion, Scalar]]:
    """Accelerations of slip and rim of a contact that moves in the direction of these speeds.

    With them the acceleration of the ball, and the power that friction takes from these speeds [W].
    """
    place = ball.contacts_of(state)
    slip = place.motion.slip.at[index].set(speeds[:2])
    spin = place.motion.spin if ball.point else place.motion.spin.at[index].set(speeds[2] / _rim_radius(ball))
    loose = forces.contacts_under(ball, place, state.v, ContactMotion(slip, spin, place.motion.rolling))
    _, gain = _with_gain(ball, state, index, loose.acceleration)
    drag = -jnp.sum(loose.reaction.force[index] * slip[index])
    if not ball.point:
        drag = drag - loose.reaction.spin_torque[index] * spin[index]
    return gain, (loose.acceleration, drag)


def _limit(ball: BallOnRails, contacts: Contacts) -> PointLimit | SpotLimit:
    """What the only contact bears at rest; a spot so small that it counts as a point bears no torque."""
    load = jnp.sum(contacts.loads.load)
    return PointLimit(ball.law.capacity(load)) if ball.point else ball.law.limit(load)


def _enter_creep(ball: BallOnRails, state: State, index) -> State:
    """Onto the ray of self-similar creep; the momentum that friction along the rails cannot change is kept."""
    forward = jnp.where(state.v.turning[1] < 0.0, -1.0, 1.0)
    angle = creep.refine_angle(ball, creep.ray_angle(ball, state.v), forward)
    direction = creep.ray(ball, angle)
    kept, unit = creep.momentum(ball, state.v), creep.momentum(ball, direction)
    v = jax.tree.map(lambda x: x * kept / unit, direction)
    return state.replace(q=state.q.replace(creep_angle=angle), v=v, mode=_creep_mode(forward))


def _creep_mode(forward: Scalar) -> Array:
    return jnp.full(2, jnp.where(forward < 0, CREEP_BACKWARD, CREEP_FORWARD))


def _as_it_is(ball: BallOnRails, state: State, index, variant) -> tuple[State, Bool[Array, ""], tuple]:
    """Nothing comes before the rest."""
    return state, jnp.asarray(True), ()


def _run_out(ball: BallOnRails, state: State, index, variant) -> tuple[State, Bool[Array, ""], tuple]:
    """The last stretch before a stop: velocities go straight to zero together."""
    rate = ball.rate(state)
    act = Partial(_gain_at, ball, state)
    left = time_to_stop(ball.speeds(state.v), ball.speeds(rate.v), act, jnp.inf)
    q, ledger = (shift(*pair, 0.5 * left) for pair in ((state.q, rate.q), (state.ledger, rate.ledger)))
    return state.replace(t=state.t + left, q=q, ledger=ledger), jnp.asarray(True), ()


def _gain_at(ball: BallOnRails, state: State, speeds: Array) -> tuple[Array, tuple]:
    """Accelerations of a ball that moves with these speeds."""
    turning = speeds[1:] / ball.radius
    return ball.speeds(ball.rate(state.replace(v=RailMotion(speeds[0], turning[0], turning[1:]))).v), ()


def _run_out_slip(ball: BallOnRails, state: State, index) -> State:
    """The last stretch before the slip of a contact vanishes."""
    rate = ball.rate(state)
    slip, gain = _with_gain(ball, state, index, rate.v)
    longest = 10 * ball.near_stick * ball.speed / (forces.grip(ball) * ball.gravity + LEAST)
    left = time_to_stop(slip, gain, Partial(_slip_gain, ball, state, index), longest)
    return state.replace(
        t=state.t + left,
        q=shift(state.q, rate.q, left),
        v=shift(state.v, rate.v, left),
        ledger=shift(state.ledger, rate.ledger, 0.5 * left),
    )


def _come_to_rest(ball: BallOnRails, state: State, known: tuple) -> State:
    return at_rest(ball, state)


def at_rest(ball: BallOnRails, state: State) -> State:
    """At rest for good, or on the way down a slope that is too steep for rest."""
    still = RailMotion.still()
    downhill = jnp.where(ball.slope < 0.0, -1.0, 1.0)
    angle = creep.creep_angle(ball, downhill)
    leaves = state.replace(q=state.q.replace(creep_angle=angle), v=still, mode=_creep_mode(downhill))
    return choose(creep.rests(ball), state.replace(v=still, mode=jnp.full(2, REST)), leaves)


class _GuardValues:
    """Guard values; the contacts of a state are computed once for all guards."""

    def __init__(self, ball: BallOnRails, contacts: Callable[[State], Contacts]):
        self.ball = ball
        self._contacts = contacts

    def __call__(self, state: State) -> Contacts:
        return self._contacts(state)

    def share_of_load(self, state: State) -> Scalar:
        """Sum of the loads over the weight."""
        return jnp.sum(self(state).loads.load) / forces.weight(self.ball)

    def room_left(self, state: State) -> Scalar:
        """How far the loads are from growing without bound; a ball that is jammed from the start says so at once."""
        at_once = AT_ONCE - state.t
        return jnp.where((state.mode == JAMMED).any(), at_once, self(state).loads.determinant - SINGULAR)

    def signed_slip(self, state: State) -> Array:
        """Slip along the rails in the direction of the mode, over an ordinary speed."""
        return sign_of(state.mode) * self.ball.contacts_of(state).motion.slip[:, 0] / self.ball.speed

    def slip_left(self, state: State) -> Array:
        """Slip (and rim speed of a spot) over that at which a contact counts as come to rest."""
        speeds = _slip_and_rim(self.ball, self.ball.contacts_of(state).motion)
        return size(speeds) / self.ball.speed - self.ball.near_stick

    def grip_left(self, state: State) -> Scalar:
        """Friction that is not used by the only contact while it sticks, over the weight."""
        contacts = self(state)
        force, torque = jnp.sum(contacts.reaction.force, 0), jnp.sum(contacts.reaction.spin_torque)
        return _limit(self.ball, contacts).margin(force, torque) / forces.weight(self.ball)

    def off_creep(self, state: State) -> Scalar:
        """Logarithm of the distance from self-similar creep, as a share of the speed, over that allowed.

        The instant does not matter, so the slope of this guard is left out: half of the compiled program.
        """
        ball, gain = self.ball, jax.lax.stop_gradient(self(state).acceleration)
        state = jax.lax.stop_gradient(state)
        momentum = creep.momentum(ball, state.v)
        growth = creep.momentum(ball, gain) / jnp.where(momentum == 0.0, 1.0, momentum)
        off = ball.speeds(shift(gain, state.v, -growth))
        about_x, rolling, about_z = state.v.turning
        # Slip relaxes in about the time in which friction would take away slip and rim speed; the latter alone may be
        # passing through zero, where nothing creeps yet.
        rim = creep.spot_radius(ball) * jnp.sin(ball.half_angle) * rolling
        slip = state.v.along - ball.radius * jnp.cos(ball.half_angle) * rolling
        time = size(jnp.stack([slip, rim])) / (forces.grip(ball) * ball.gravity + LEAST)
        lateral = ball.radius**2 * (about_x**2 + about_z**2)
        share = (jnp.sum(off * off) * time * time + lateral) / (jnp.sum(ball.speeds(state.v) ** 2) + LEAST)
        undefined = jnp.where((momentum == 0.0) | (forces.grip(ball) == 0.0), 1.0, 0.0)
        return 0.1 * (0.5 * jnp.log(share + undefined + 1e-40) - jnp.log(ball.capture))

    def speed_left(self, state: State) -> Scalar:
        """Speed over that from which a stop is extrapolated."""
        return size(self.ball.speeds(state.v)) / self.ball.speed - NEAR_REST

    def creep_left(self, state: State) -> Scalar:
        """Momentum of the creep in its direction; zero at the stop."""
        ball = self.ball
        return sign_of(state.mode)[0] * creep.momentum(ball, state.v) / (ball.mass * ball.radius * ball.speed)
