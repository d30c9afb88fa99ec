"""The Butterfly: a ball on the edges of two identical plates that turn together."""

from __future__ import annotations

import functools
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float

from saltus import checks
from saltus.hybrid import AbstractSystem, Guard, Parts, Quantity, Rate, State, part
from saltus.hybrid.parts import shift
from saltus.hybrid.state import same_types
from saltus.laws.friction import AbstractFrictionLaw, PointLimit, Reaction
from saltus.numerics.trees import choose
from saltus.programs import brief_program
from saltus.programs.arrays import numbers
from saltus.shapes.profile import AbstractProfile
from saltus.starts.ball import check_load, check_tilt
from saltus.systems.ball_common import (
    AXES,
    BALL_QUANTITIES,
    atol_limit,
    is_point,
    size,
    sliding_force,
)
from saltus.systems.butterfly.in_space import in_space, outline_in_space
from saltus.systems.butterfly.track import Demand, Track, demand, track
from saltus.systems.butterfly.turning import AbstractTurning
from saltus.systems.short_time import begin_slip, hold_on, time_to_stop

Scalar = Float[Array, ""]

MODES = ("slip", "forward", "backward", "stick")
SLIP, FORWARD, BACKWARD, STICK = range(4)
NEAR_REST = 1e-9  # slip and rim speed over sqrt(g r) at which a spot is tested for sticking
LONGEST_STRETCH = 1e-6  # [s]; before they vanish
ROUNDING = 1e-12  # slip over sqrt(g r) that counts as none: slip sets in without acceleration, so rounding could end it
_SWEEPS = 12  # for the load of a spot that grows with it: friction across the edges is a small part of it
LIFT_MESSAGE = "The ball lifted off the plates at t = {t:.6g} s."


class ProfilePlace(Parts):
    """Where the ball is: angle of the contact on the profile [rad]."""

    angle: Scalar = part()


class TrackMotion(Parts):
    """How it moves; or the rates of that.

    Args:
        speed: Of the centre along its track, relative to the plates [m s-1].
        turning: Angular velocity about y, in space [rad s-1].
    """

    speed: Scalar = part()
    turning: Scalar = part()


class PlateWork(Parts):
    """Work done since the start against friction, and by the plates on the ball [J]."""

    friction: Scalar = part()
    plates: Scalar = part()


class ButterflyContacts(NamedTuple):
    """The two mirror-image contacts: what the second one has is the mirror of the first.

    Args:
        track: Where the ball is.
        demand: What its motion asks for.
        load: Normal force of one contact [N].
        reaction: Friction of the first contact; components along the track, across it, about its normal.
        gain: Rates of the speed along the track [m/s2] and of the angular velocity [rad/s2].
        slip: Along the track [m/s].
        turning: Angular velocity relative to the plates [rad/s].
    """

    track: Track
    demand: Demand
    load: Scalar
    reaction: Reaction
    gain: TrackMotion
    slip: Scalar
    turning: Scalar


class Butterfly(AbstractSystem):
    """A ball that rolls or slips on the edges of two plates turning by a given angle about the y axis.

    Motion is symmetric: the ball stays in the middle between the plates. Point contacts roll ("stick") or slip
    forward or backward; finite spots slip or creep, and stick only where slip and relative spin vanish together.
    The run ends with `left_domain` where the ball lifts off.

    State: q is a `ProfilePlace`, v a `TrackMotion`, ledger a `PlateWork`.

    Args:
        mass: Mass, > 0 [kg].
        radius: Radius of the ball, > 0 [m].
        half_angle: Angle of the contact normals from the middle plane, in [0, pi/2), but not 0 with spots [rad].
        profile: Outline of the plates.
        turning: Angle of the plates over time.
        law: Friction law of both contacts.
        gravity: [m/s2].

    References:
        Surov, Shiriaev et al. 2015, ICRA, 1484-1489 (the "Butterfly" robot).
    """

    kind: ClassVar[str] = "butterfly"
    mode_names: ClassVar[tuple[str, ...]] = MODES

    mass: Scalar
    radius: Scalar
    half_angle: Scalar
    profile: AbstractProfile
    turning: AbstractTurning
    law: AbstractFrictionLaw
    gravity: Scalar
    point: bool = eqx.field(static=True)

    def __init__(self, mass, radius, half_angle, profile, turning, law, gravity=9.81):
        self.mass, self.radius, self.half_angle = numbers(mass), numbers(radius), numbers(half_angle)
        self.profile, self.turning, self.law, self.gravity = profile, turning, law, numbers(gravity)
        self.point = is_point(law, self.radius)

    def __check_init__(self):
        checks.positive("mass", self.mass)
        checks.positive("radius", self.radius)
        checks.positive("gravity", self.gravity)
        checks.between("half_angle", self.half_angle, 0.0, float(np.nextafter(np.pi / 2, 0)), "It is in radians.")
        check_tilt(self.half_angle, self.point)
        self.profile.check_ball(self.effective_radius)

    @property
    def inertia(self) -> Scalar:
        """Moment of inertia of the homogeneous ball [kg m2]."""
        return 0.4 * self.mass * self.radius**2

    @property
    def effective_radius(self) -> Scalar:
        """Height of the centre above the edges [m]."""
        return self.radius * jnp.cos(self.half_angle)

    @property
    def speed(self) -> Scalar:
        """An ordinary speed of this ball [m/s]."""
        return jnp.sqrt(self.gravity * self.radius)

    def atol_limit(self) -> float:
        """A tenth of the speed at which slip counts as none [m/s]."""
        return atol_limit(NEAR_REST, self.gravity, self.radius)

    def start(self, phi: float = 0.0, speed: float = 0.0, angular_velocity: float | None = None) -> State:
        """The ball on the plates.

        Args:
            phi: Angle of the contact on the profile [rad].
            speed: Of the centre along its track, relative to the plates [m/s].
            angular_velocity: About y, in space [rad/s]; rolling without slip if left out.
        """
        for name, value in (("phi", phi), ("speed", speed)):
            checks.finite(name, value)
        spin = None if angular_velocity is None else numbers(angular_velocity)
        state, load = _place(self, numbers(phi), numbers(speed), spin)
        checks.note(lambda: load > 0.0)
        check_load(load)
        return _settle(self, state)

    def state(self, phi, speed, angular_velocity, t=0.0, mode: int = SLIP) -> State:
        """A state with these numbers, as `start` has them; nothing is checked."""
        motion = TrackMotion(numbers(speed), numbers(angular_velocity))
        return State.of(t, ProfilePlace(numbers(phi)), motion, PlateWork(numbers(0.0), numbers(0.0)), mode)

    # ---- motion ---------------------------------------------------------------------------------------

    def contacts(self, state: State) -> ButterflyContacts:
        """Loads, friction and accelerations in the present mode."""
        place, plates = self._track(state), self.turning.at(state.t)
        asked = demand(place, state.v.speed, plates, self.gravity)
        turning = state.v.turning - plates[1]
        slip = state.v.speed - self.effective_radius * turning
        load = 0.5 * self.mass * asked.load / jnp.cos(self.half_angle)
        if self.point:
            sliding = self._sliding_force(state, slip, load)
            along = jnp.where(state.mode == STICK, self._rolling_force(asked, plates), sliding)
            nothing = jnp.zeros(())
            reaction = Reaction(jnp.stack([along, nothing]), nothing, jnp.zeros(2))
        else:
            # At rest no friction across the edges: slip that is rounding must not decide on its direction.
            resting = load, self._resting_spot(asked, plates, load)
            load, reaction = choose(state.mode == STICK, resting, self._sliding_spot(asked, slip, turning))
        gain = self._gain(asked, reaction)
        return ButterflyContacts(place, asked, load, reaction, gain, slip, turning)

    def _track(self, state: State) -> Track:
        return track(self.profile, state.q.angle, self.effective_radius)

    def _sliding_spot(self, asked: Demand, slip: Scalar, turning: Scalar) -> tuple[Scalar, Reaction]:
        """Load of one spot, which friction across the edges changes, and its friction."""
        S, C = jnp.sin(self.half_angle), jnp.cos(self.half_angle)
        nothing = jnp.zeros_like(slip)

        def friction(load):
            pressed = jnp.where(load > 0.0, load, 1.0)
            full = self.law.reaction(
                jnp.stack([slip, nothing]), -turning * S, pressed, jnp.stack([nothing, turning * C])
            )
            return jax.tree.map(lambda x: x / pressed, full)

        def consistent(load):
            return 0.5 * self.mass * asked.load / (C + friction(load).force[1] * S)

        load = consistent(0.5 * self.mass * asked.load / C)
        if not self.law.proportional:
            load = jax.lax.scan(lambda load, _: (consistent(load), None), load, None, length=_SWEEPS)[0]
        return load, jax.tree.map(lambda x: load * x, friction(load))

    def _gain(self, asked: Demand, reaction: Reaction) -> TrackMotion:
        S, C = jnp.sin(self.half_angle), jnp.cos(self.half_angle)
        along = asked.pull + 2 * reaction.force[0] / self.mass
        moment = -self.effective_radius * reaction.force[0] - S * reaction.spin_torque + C * reaction.rolling_moment[1]
        return TrackMotion(along, 2 * moment / self.inertia)

    def _rolling_force(self, asked: Demand, plates) -> Scalar:
        """Force along the track at one contact that keeps the ball rolling."""
        share = 0.4 / jnp.cos(self.half_angle) ** 2
        gain = (asked.pull - share * self.effective_radius * plates[2]) / (1 + share)
        return 0.5 * self.mass * (gain - asked.pull)

    def _sliding_force(self, state: State, slip: Scalar, load: Scalar) -> Scalar:
        sign = (state.mode == FORWARD) * 1.0 - (state.mode == BACKWARD) * 1.0
        return sliding_force(self.law, sign, slip, load)

    def _resting_spot(self, asked: Demand, plates, load: Scalar) -> Reaction:
        """Friction that keeps a spot at rest on its plate: no slip, no relative spin."""
        S, C = jnp.sin(self.half_angle), jnp.cos(self.half_angle)
        along = -0.5 * self.mass * asked.pull
        moment = 0.5 * self.inertia * plates[2] + self.effective_radius * along
        limit = self.law.rolling_capacity(load)
        resistance = jnp.clip(moment / C, -limit, limit)
        torque = (C * resistance - moment) / jnp.where(S > 0.0, S, 1.0)
        nothing = jnp.zeros(())
        return Reaction(jnp.stack([along, nothing]), jnp.where(S > 0.0, torque, 0.0), jnp.stack([nothing, resistance]))

    def rate(self, state: State) -> Rate:
        """Velocities and accelerations in the present mode, and the powers."""
        now = self.contacts(state)
        S, C = jnp.sin(self.half_angle), jnp.cos(self.half_angle)
        lost = -2 * (
            now.reaction.force[0] * now.slip
            - now.reaction.spin_torque * now.turning * S
            + now.reaction.rolling_moment[1] * now.turning * C
        )
        rate = self.turning.at(state.t)[1]
        along = 2 * now.reaction.force[0] * (state.v.speed + rate * now.track.outward)
        outward = -self.mass * now.demand.load * rate * now.track.along
        given = along + outward + self.inertia * now.gain.turning * state.v.turning
        gain = now.gain
        if not self.point:
            held = TrackMotion(jnp.zeros(()), self.turning.at(state.t)[2])
            gain = choose(state.mode == STICK, held, gain)
        return Rate(ProfilePlace(state.v.speed / now.track.arc), gain, PlateWork(lost, given + lost))

    # ---- events ---------------------------------------------------------------------------------------

    def guards(self) -> tuple[Guard, ...]:
        """Lift-off, slip that ends or turns round, rolling that slips."""
        lift = Guard("lift_off", self._load, ends="left_domain", message=LIFT_MESSAGE)
        slips = Guard("slips", self._grip_left, lambda s: s.mode == STICK, jump=self._tear_loose)
        if self.point:
            return lift, slips, Guard("slip_ends", self._signed_slip, self._slides, jump=self._hold_or_reverse)

        def by_spots(name, value, jump, instant, **more):
            """A stop: its instant is after the last stretch, and what slips is let go a moment later."""

            def data(index, before, after):
                return {"t": float(instant(before, after))}

            return Guard(name, value, lambda s: s.mode == SLIP, singular=True, jump=jump, data=data, **more)

        sticks = by_spots("sticks", self._until_it_sticks, self._stick, lambda before, after: after.t)
        reverses = by_spots(
            "reverses",
            self._until_it_reverses,
            self._reverse,
            lambda before, after: _stop_time(self, before),
            meanwhile=self._stand_still,
        )
        return lift, slips, sticks, reverses

    def _slides(self, state: State) -> Array:
        return (state.mode == FORWARD) | (state.mode == BACKWARD)

    def _load(self, state: State) -> Scalar:
        place = self._track(state)
        return demand(place, state.v.speed, self.turning.at(state.t), self.gravity).load / self.gravity

    def _signed_slip(self, state: State) -> Scalar:
        sign = (state.mode == FORWARD) * 1.0 - (state.mode == BACKWARD) * 1.0
        return sign * self._slip_and_rim(state)[0] / self.speed + ROUNDING

    def _slip_and_rim(self, state: State) -> Float[Array, "2"]:
        turning = state.v.turning - self.turning.at(state.t)[1]
        return self._at_contact(state.v.speed, turning)

    def _at_contact(self, speed: Scalar, turning: Scalar) -> Float[Array, "2"]:
        """Slip and rim speed of a ball that moves and turns so relative to the plates; or their rates."""
        return jnp.stack([speed - self.effective_radius * turning, self._rim() * turning])

    def _rim(self) -> Scalar:
        """Rim speed of a spot per angular velocity [m]."""
        return self.law.radius(self.mass * self.gravity) * jnp.sin(self.half_angle)

    def _motion_with(self, state: State, slip_and_rim: Float[Array, "2"]) -> TrackMotion:
        """The motion of a ball with this slip and rim speed of its spots."""
        turning = slip_and_rim[1] / self._rim()
        return TrackMotion(slip_and_rim[0] + self.effective_radius * turning, self.turning.at(state.t)[1] + turning)

    def _slip_left(self, state: State) -> Scalar:
        return size(self._slip_and_rim(state)) / self.speed - NEAR_REST

    def _until_it_sticks(self, state: State) -> Scalar:
        """Slip and rim speed that are left, unless friction cannot hold the ball: then they pass through zero."""
        return jnp.maximum(self._slip_left(state), -self._grip_left(self._still(state)))

    def _until_it_reverses(self, state: State) -> Scalar:
        """Slip and rim speed that are left where friction cannot hold the ball; elsewhere it sticks."""
        return jnp.maximum(self._slip_left(state), self._grip_left(self._still(state)))

    def _still(self, state: State) -> State:
        """The state with a ball that sticks to the plates by its spots."""
        rate = self.turning.at(state.t)[1]
        return state.replace(v=TrackMotion(jnp.zeros_like(rate), rate), mode=jnp.asarray(STICK))

    def _grip_left(self, state: State) -> Scalar:
        now = self.contacts(state.replace(mode=jnp.asarray(STICK)))
        limit = PointLimit(self.law.capacity(now.load)) if self.point else self.law.limit(now.load)
        return limit.margin(now.reaction.force, now.reaction.spin_torque) / (self.mass * self.gravity)

    def _tear_loose(self, state: State, index) -> State:
        if self.point:
            return state.replace(mode=jnp.where(self.contacts(state).reaction.force[0] < 0.0, FORWARD, BACKWARD))
        held = hold_on(self, state, self._begin_slip, 4 * NEAR_REST * self.speed)
        later, ((way, first, _), (_, last, drag)) = held.later, (held.first, held.last)
        gained, path = held.velocity(first, last), held.path(first, last)
        # What is hardly accelerated is given a speed that does not count.
        gained = gained + jnp.maximum(2 * NEAR_REST * self.speed - size(gained), 0.0) * way
        place = self._track(later)
        ahead = self._motion_with(later, path).speed / place.arc
        q, v = ProfilePlace(later.q.angle + ahead), self._motion_with(later, gained)
        loose, lost = later.replace(q=q, v=v, mode=jnp.asarray(SLIP)), size(path) * drag
        given = sum(self._energies(loose, self._track(loose))) - sum(self._energies(later, place)) + lost
        ledger = PlateWork(later.ledger.friction + lost, later.ledger.plates + given)
        return loose.replace(ledger=ledger)

    def _begin_slip(self, state: State) -> tuple[Scalar, tuple[Array, Array, Scalar]]:
        """How spots that stick would begin to slip: size of the acceleration; direction, acceleration, power lost.

        The last is per speed.
        """
        now = self.contacts(state)
        slip, spin = self.law.limit(now.load).motion(-now.reaction.force, -now.reaction.spin_torque)
        guess = jnp.stack([slip[0], -self._rim() * spin / jnp.sin(self.half_angle)])
        way, gain, lost = begin_slip(functools.partial(_slip_gain, self, state), guess / size(guess))
        return size(gain), (way, gain, lost)

    def _hold_or_reverse(self, state: State, index=0) -> State:
        if not self.point:
            return self._hold(state)
        rate = self.turning.at(state.t)[1]
        speed = state.v.speed
        rolling = state.replace(v=TrackMotion(speed, rate + speed / self.effective_radius))
        force = self.contacts(rolling.replace(mode=jnp.asarray(STICK))).reaction.force[0]
        sliding = jnp.where(force < 0.0, FORWARD, BACKWARD)
        return rolling.replace(mode=jnp.where(self._grip_left(rolling) > 0.0, STICK, sliding))

    def _hold(self, state: State) -> State:
        """Spots that slip no more stick, if friction can hold the ball."""
        still = self._still(state)
        return choose(self._grip_left(still) > 0.0, still, state)

    def _stick(self, state: State, index) -> State:
        """Slip and spin of the spots have vanished, and friction holds the ball."""
        return self._hold(_run_out(self, state))

    def _reverse(self, state: State, index) -> State:
        """Slip and spin of the spots have vanished, and begin again at once: friction cannot hold the ball."""
        return self._tear_loose(self._stand_still(state, index), index)

    def _stand_still(self, state: State, index) -> State:
        """Slip and spin of the spots have vanished."""
        return self._still(_run_out(self, state))

    # ---- results --------------------------------------------------------------------------------------

    def quantities(self) -> dict[str, Quantity]:
        """Name and meaning of everything that `observe` returns."""
        return {
            **BALL_QUANTITIES,
            "outline": Quantity(("outline", "axis"), "m", "edge of the plates, seen from the side"),
            "plate_angle": Quantity((), "rad", "angle of the plates"),
            "profile_angle": Quantity((), "rad", "angle of the contact on the profile"),
            "required_friction": Quantity((), "1", "force along the track over normal force"),
            "supplied_energy": Quantity((), "J", "work of the plates on the ball"),
            "mode": Quantity((), "1", "mode"),
        }

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels of axes and contacts."""
        return {"axis": list(AXES), "contact": ["plate y>0", "plate y<0"]}

    def _centre(self, state: State, place: Track) -> tuple[Array, Array]:
        """Position and velocity of the centre, in space."""
        angle, rate, _ = self.turning.at(state.t)
        tangent, normal = place.outline.tangent, place.outline.normal
        centre = place.along * tangent + place.outward * normal
        velocity = (state.v.speed + rate * place.outward) * tangent - rate * place.along * normal
        return in_space(centre, angle), in_space(velocity, angle)

    def _energies(self, state: State, place: Track) -> tuple[Scalar, Scalar]:
        """Kinetic and potential energy [J]."""
        position, velocity = self._centre(state, place)
        kinetic = 0.5 * self.mass * jnp.sum(velocity**2) + 0.5 * self.inertia * state.v.turning**2
        return kinetic, self.mass * self.gravity * position[2]

    def observe(self, state: State) -> dict[str, Array]:
        """Everything worth showing of one state; vectors are in space, not turning with the plates."""
        now, angle = self.contacts(state), self.turning.at(state.t)[0]
        tangent, normal = now.track.outline.tangent, now.track.outline.normal
        position, velocity = self._centre(state, now.track)
        kinetic, potential = self._energies(state, now.track)
        S = jnp.sin(self.half_angle)
        mirror = jnp.array([1.0, -1.0])
        e1 = in_space(tangent, angle)
        side = in_space(normal, angle) * S
        cosine = jnp.cos(self.half_angle)
        lateral = jnp.array([0.0, 1.0, 0.0]) * cosine
        lateral_normal = -mirror[:, None] * jnp.array([0.0, 1.0, 0.0]) * S
        e2 = lateral + mirror[:, None] * side
        force = now.reaction.force[0] * e1 + (mirror * now.reaction.force[1])[:, None] * e2
        rolling = (now.reaction.rolling_moment[1] * jnp.ones(2))[:, None] * e2
        turning = state.v.turning
        pressed = jnp.where(now.load > 0.0, now.load, 1.0)
        return {
            "position": position,
            "velocity": velocity,
            "angular_velocity": jnp.stack([jnp.zeros_like(turning), turning, jnp.zeros_like(turning)]),
            "contact_position": position - self.radius * (lateral_normal + in_space(normal, angle) * cosine),
            "slip": jnp.broadcast_to(now.slip * e1, (2, 3)),
            "spin": -mirror * now.turning * S,
            "normal_force": jnp.full(2, now.load),
            "friction_force": force,
            "friction_torque": mirror * now.reaction.spin_torque,
            "rolling_moment": rolling,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
            "dissipated_energy": state.ledger.friction,
            "outline": outline_in_space(self.profile, angle),
            "plate_angle": angle,
            "profile_angle": state.q.angle,
            "required_friction": jnp.where(now.load > 0.0, jnp.abs(now.reaction.force[0]) / pressed, jnp.inf),
            "supplied_energy": state.ledger.plates,
            "mode": state.mode,
        }


def _slip_gain(ball: Butterfly, state: State, speeds: Float[Array, "2"]) -> tuple[Float[Array, "2"], Scalar]:
    """Accelerations of slip and rim with friction against the direction of these speeds; its power, per speed [N]."""
    slow = NEAR_REST * ball.speed  # so slow that it does not change the load
    moving = state.replace(v=ball._motion_with(state, slow * speeds / size(speeds)), mode=jnp.asarray(SLIP))
    rate = ball.rate(moving)
    gain = ball._at_contact(rate.v.speed, rate.v.turning - ball.turning.at(state.t)[2])
    return gain, rate.ledger.friction / slow


def _run_out(ball: Butterfly, state: State) -> State:
    """The last stretch before slip and spin of the spots vanish."""
    rate, speeds = ball.rate(state), ball._slip_and_rim(state)
    gain = ball._at_contact(rate.v.speed, rate.v.turning - ball.turning.at(state.t)[2])
    left = time_to_stop(speeds, gain, Partial(_slip_gain, ball, state), LONGEST_STRETCH)
    q, ledger = (shift(*pair, 0.5 * left) for pair in ((state.q, rate.q), (state.ledger, rate.ledger)))
    return state.replace(t=state.t + left, q=q, ledger=ledger)


@brief_program
def _stop_time(ball: Butterfly, state: State) -> Scalar:
    return _run_out(ball, state).t


@brief_program
def _place(ball: Butterfly, phi: Scalar, speed: Scalar, spin: Scalar | None) -> tuple[State, Scalar]:
    """The ball slipping on the plates, and its load; rolling if no angular velocity is given."""
    if spin is None:
        spin = ball.turning.at(jnp.zeros(()))[1] + speed / ball.effective_radius
    state = ball.state(phi, speed, spin)
    return state, ball._load(state)


@brief_program
def _settle(ball: Butterfly, state: State) -> State:
    """The right mode for a start."""
    slip_and_rim = ball._slip_and_rim(state)
    if not ball.point:
        held = choose(size(slip_and_rim) <= NEAR_REST * ball.speed, ball._hold_or_reverse(state), state)
        return same_types(state, held)
    sliding = state.replace(mode=jnp.where(slip_and_rim[0] > 0.0, FORWARD, BACKWARD))
    held = choose(jnp.abs(slip_and_rim[0]) <= 1e-12 * ball.speed, ball._hold_or_reverse(state), sliding)
    return same_types(state, held)
