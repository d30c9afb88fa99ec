"""What can happen to a ball on rails, and what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.hybrid import Guard, State
from saltus.laws.friction import Reaction
from saltus.systems.ball_on_rails import creep, forces
from saltus.systems.ball_on_rails.forces import LEAN, Scalar
from saltus.systems.ball_on_rails.stick import (
    CREEP_BACKWARD,
    CREEP_FORWARD,
    OPEN,
    REST,
    SLIP,
    STICK,
    coupling,
    sign_of,
    straight_modes,
)

if TYPE_CHECKING:
    from saltus.systems.ball_on_rails.system import BallOnRails

NEAR_REST = 1e-8  # speed over sqrt(g r) from which a stop is extrapolated: the last stretch is straight
NEAR_STICK = 1e-11  # slip over sqrt(g r) at which a sliding point contact counts as come to rest
JAMMED = 1e-6  # determinant of the loads at which the ball counts as jammed: they are a million weights
KICK = 1e-13  # speed over sqrt(g r) with which a ball that cannot rest sets out on its creep

JAM_MESSAGE = (
    "The ball jammed between the rails at t = {t:.6g} s: friction across the rails and load increase each other "
    "without bound, which needs mu > 1 / tan(half_angle)."
)


def all_guards(ball: BallOnRails) -> tuple[Guard, ...]:
    """A rail lost, landing, leaving, jamming; sticking and slipping of points; creep and rest of spots."""

    def both_slide(state):
        return (state.mode == SLIP).all()

    def one_rail(state):
        return (state.mode == OPEN).any()

    common = (
        Guard("rail_lost", lambda s: forces.seated(ball, s.v).margin, both_slide),
        Guard("landing", lambda s: s.q[1], one_rail),
        Guard("leaves", ball.share_of_load, one_rail, "left_domain", "The ball left the rails at t = {t:.6g} s."),
        Guard("jams", lambda s: forces.seated(ball, s.v).determinant - JAMMED, both_slide, "jammed", JAM_MESSAGE),
    )
    if ball.point:
        return (
            *common,
            Guard("slip_ends", lambda s: _signed_slip(ball, s), lambda s: sign_of(s.mode) != 0.0),
            Guard("slip_vanishes", lambda s: _slip_left(ball, s), lambda s: s.mode == SLIP),
            Guard("slips", lambda s: _grip_left(ball, s), lambda s: one_rail(s) & (s.mode == STICK).any()),
        )
    return (
        *common,
        Guard("creeps", lambda s: _off_creep(ball, s), both_slide),
        Guard("stops", lambda s: _speed_left(ball, s), both_slide),
        Guard("rests", lambda s: _creep_left(ball, s), lambda s: (sign_of(s.mode) != 0.0).any()),
    )


def after(ball: BallOnRails, state: State, guard: str, index) -> State:
    """The state after the event of a guard."""
    if guard == "rail_lost":
        seat = changed(state, q=state.q.at[1].set(0.0), v=state.v.at[1].set(0.0))
        return changed(seat, mode=state.mode.at[index].set(OPEN))
    if guard == "landing":
        return _landed(ball, state)
    if guard in ("slip_ends", "slip_vanishes"):
        one_rail = (state.mode == OPEN).any()
        return choose(one_rail, _stuck_on_one_rail(ball, state), _straight(ball, state))
    if guard == "slips":
        return changed(state, mode=jnp.where(state.mode == STICK, SLIP, state.mode))
    if guard == "creeps":
        return _creeping(ball, state)
    if guard == "stops":
        return _at_rest(ball, _run_out(ball, state))
    if guard == "rests":
        return _at_rest(ball, state)
    return state


def seated(ball: BallOnRails, state: State) -> State:
    """Modes of a ball that has just come to sit on both rails."""
    state = changed(state, mode=jnp.full(2, SLIP))
    if ball.point:
        straight = jnp.abs(state.v[2]) * ball.radius <= NEAR_STICK * ball.speed
        state = choose(straight, _straight(ball, state), state)
    else:
        still = size(state.v * ball.lengths) <= NEAR_REST * ball.speed
        state = choose(still, _at_rest(ball, state), state)
    lost = (forces.seated(ball, state.v).margin < 0.0) & (state.mode == SLIP)
    return changed(state, mode=jnp.where(lost, OPEN, state.mode))


def on_both(ball: BallOnRails, state: State, tilt_rate: Scalar) -> State:
    """The ball down on both rails, with this rate of tilt left; the energy lost goes to the ledger."""
    loss = 0.5 * ball.mass * ball.radius**2 * (state.v[1] ** 2 - tilt_rate**2)
    return changed(state, q=state.q.at[1].set(0.0), v=state.v.at[1].set(tilt_rate), ledger=state.ledger.at[1].add(loss))


def _landed(ball: BallOnRails, state: State) -> State:
    """Plastic impact on the rail that was lost; where the normals are less than 90 degrees apart it rocks over."""
    rate = -state.v[1] * jnp.cos(2 * ball.half_angle)
    rocks = rate > NEAR_STICK * ball.speed / ball.radius
    down = on_both(ball, state, jnp.where(rocks, rate, 0.0))
    return choose(rocks, changed(down, mode=jnp.where(state.mode == OPEN, SLIP, OPEN)), seated(ball, down))


def _straight(ball: BallOnRails, state: State) -> State:
    """Point contacts that slide along the rails only: who sticks and who slides, with exact zeros."""
    v = state.v.at[2].set(0.0)
    negligible = 2 * NEAR_STICK * ball.speed
    slip = forces.seated_motion(ball, v).slip[:, 0]
    mode = straight_modes(ball, slip, negligible)
    sticks = mode == STICK
    own, other = coupling(ball)
    one = -ball.mass * slip / own
    both = -ball.mass * (own * slip - other * slip[::-1]) / (own**2 - other**2)
    impulse = jnp.where(sticks, jnp.where(sticks.all(), both, one), 0.0)
    nothing = jnp.zeros(2)
    pushed = forces.acceleration(ball, Reaction(jnp.stack([impulse, nothing], -1), nothing, jnp.zeros((2, 2))))
    pushed = pushed.at[0].add(-ball.gravity * jnp.sin(ball.slope))
    return changed(state, v=v + pushed, mode=mode)


def _stuck_on_one_rail(ball: BallOnRails, state: State) -> State:
    """A point contact that stops slipping while the other rail is lost; it sticks if friction can hold it."""
    kept = jnp.where(state.mode[0] == OPEN, 1.0, -1.0)
    slip = jnp.sum(one_rail_slip(ball, state), 0)
    v = state.v.at[0].add(-slip[0]).at[1].add(kept * slip[1] / ball.radius)
    stuck = changed(state, v=v, mode=jnp.where(state.mode == SLIP, STICK, state.mode))
    return choose(_grip_left(ball, stuck) >= 0.0, stuck, state)


def _creeping(ball: BallOnRails, state: State) -> State:
    """Onto the ray of self-similar creep; the momentum that friction along the rails cannot change is kept."""
    forward = jnp.where(state.v[3] < 0.0, -1.0, 1.0)
    angle = creep.refined_angle(ball, creep.ray_angle(ball, state.v), forward)
    direction = creep.ray(ball, angle, forward)
    v = direction * creep.momentum(ball, state.v) / creep.momentum(ball, direction)
    sign = jnp.sign(creep.momentum(ball, v))
    return changed(state, v=v, mode=jnp.full(2, jnp.where(sign < 0, CREEP_BACKWARD, CREEP_FORWARD)))


def _run_out(ball: BallOnRails, state: State) -> State:
    """The last stretch before a stop: velocities go straight to zero together."""
    rate = ball.rate(state)
    scaled, gain = state.v * ball.lengths, rate.v * ball.lengths
    left = -jnp.sum(scaled * scaled) / jnp.minimum(jnp.sum(scaled * gain), -1e-300)
    energy = 0.5 * jnp.sum(rate.ledger) * left
    return changed(
        state, t=state.t + left, q=state.q + 0.5 * left * rate.q, ledger=state.ledger.at[0].add(energy)
    )


def _at_rest(ball: BallOnRails, state: State) -> State:
    """At rest for good, or on the way down a slope that is too steep for rest."""
    still = changed(state, v=jnp.zeros_like(state.v), mode=jnp.full(2, REST))
    downhill = jnp.where(ball.slope < 0.0, -1.0, 1.0)
    direction = creep.ray(ball, creep.creep_angle(ball, downhill), downhill)
    kicked = direction * (KICK * ball.speed / size(direction * ball.lengths))
    mode = jnp.full(2, jnp.where(downhill < 0, CREEP_BACKWARD, CREEP_FORWARD))
    return choose(creep.rests(ball), still, changed(state, v=kicked, mode=mode))


def _signed_slip(ball: BallOnRails, state: State) -> Array:
    return sign_of(state.mode) * forces.seated_motion(ball, state.v).slip[:, 0] / ball.speed


def one_rail_slip(ball: BallOnRails, state: State) -> Float[Array, "2 2"]:
    """Slip at the contact that is kept, zero at the other."""
    return forces.on_one_rail(ball, state.q[1], state.v, state.mode == OPEN, jnp.asarray(False)).motion.slip


def _slip_left(ball: BallOnRails, state: State) -> Array:
    one = (state.mode == OPEN).any()
    slip = jnp.where(one, one_rail_slip(ball, state), forces.seated_motion(ball, state.v).slip)
    return size(slip) / ball.speed - NEAR_STICK


def _grip_left(ball: BallOnRails, state: State) -> Scalar:
    contacts = ball.contacts(state)
    used = jnp.sum(size(contacts.reaction.force))
    return (ball.law.mu * jnp.sum(contacts.load) - used) / forces.weight(ball)


def _off_creep(ball: BallOnRails, state: State) -> Scalar:
    """Logarithm of the distance from self-similar creep, as a share of the speed, over that allowed."""
    here = forces.seated(ball, state.v)
    momentum = creep.momentum(ball, state.v)
    growth = creep.momentum(ball, here.acceleration) / jnp.where(momentum == 0.0, 1.0, momentum)
    off = (here.acceleration - growth * state.v) * ball.lengths
    # Slip relaxes in about the time in which friction would take away the rim speed.
    rim = creep.spot_radius(ball) * jnp.sin(ball.half_angle) * state.v[3]
    time = rim / (ball.law.mu * ball.gravity + 1e-300)
    lateral = ball.radius**2 * (state.v[2] ** 2 + state.v[4] ** 2)
    share = (jnp.sum(off * off) * time * time + lateral) / (jnp.sum((state.v * ball.lengths) ** 2) + 1e-300)
    undefined = jnp.where((momentum == 0.0) | (ball.law.mu == 0.0), 1.0, 0.0)
    return 0.1 * (0.5 * jnp.log(share + undefined + 1e-40) - jnp.log(ball.capture))


def _speed_left(ball: BallOnRails, state: State) -> Scalar:
    return size(state.v * ball.lengths) / ball.speed - NEAR_REST


def _creep_left(ball: BallOnRails, state: State) -> Scalar:
    return sign_of(state.mode)[0] * creep.momentum(ball, state.v) / (ball.mass * ball.radius * ball.speed)


def size(vector: Array) -> Array:
    """Length of the vector(s), with finite derivatives."""
    square = jnp.sum(vector * vector, -1)
    some = square > 1e-280
    return jnp.where(some, jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)


def changed(state: State, **fields) -> State:
    """The state with some of its parts replaced."""
    names = list(fields)
    return eqx.tree_at(lambda s: [getattr(s, n) for n in names], state, [fields[n] for n in names])


def choose(condition, one, other):
    """`one` where the condition holds, else `other`; for whole states and results."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), one, other)


__all__ = ["JAMMED", "LEAN", "all_guards", "after", "changed", "choose", "on_both", "seated", "size"]
