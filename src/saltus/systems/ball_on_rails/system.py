"""A ball on two parallel rails."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus import checks
from saltus.contacts.ball_contact import across
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State
from saltus.hybrid.parts import as_numpy
from saltus.hybrid.state import same_types
from saltus.laws.friction import AbstractFrictionLaw
from saltus.numerics.trees import choose
from saltus.programs import brief_program
from saltus.programs.arrays import numbers
from saltus.systems.ball_common import AXES, BALL_QUANTITIES, atol_limit, is_point, no_smaller
from saltus.systems.ball_on_rails import creep, events, forces, stick
from saltus.systems.ball_on_rails.forces import LEAN, Contacts, Place, RailLosses, RailMotion, RailPlace, Scalar
from saltus.systems.ball_on_rails.stick import JAMMED, MODES, OPEN, REST, SLIP, STICK


class BallOnRails(AbstractSystem):
    """A homogeneous ball on two parallel rails: sliding, creeping, spinning, rolling, losing a rail.

    Point contacts (`Coulomb`, or a spot of radius 0) slide or stick one by one. Finite spots never stick while
    they spin; once slip and spin have become proportional the motion goes on in closed form ("creep"), down to
    exact rest. A rail is lost when its load vanishes; the ball then turns about the other (an edge), lands again
    without bounce and without friction impulse, or leaves the rails, which ends the run. The run also ends
    ("jammed") where the loads grow without bound, which needs mu > 1 / tan(half_angle).

    Not covered: one rail stuck while the other slips, with spots larger than about radius * sin(2 half_angle).

    Args:
        mass: Mass, > 0 [kg].
        radius: Radius of the ball, > 0 [m].
        half_angle: Angle of the contact normals from the vertical, in (0, pi/2) [rad]. For 0 use `BallOnPlane`.
        law: Friction law of both contacts.
        slope: Inclination of the rails, x pointing downhill [rad].
        gravity: [m/s2].
        capture: How near to self-similar creep, as a share of the speed, before the motion goes on in closed form.
        secure: Whether no rail can be lost and nothing can jam, which makes a shorter program; found from the
            numbers (mu below tan and cot of half_angle) if left out. False for one program for all numbers.
        near_stick: Slip, over an ordinary speed, that counts as none. A run with a larger `rtol` takes that instead.

    What the numbers exclude (`point`: spots; `secure`: losing a rail) is left out of the compiled program, so build a
    new ball rather than exchange its law.

    State: q is a `RailPlace`, v a `RailMotion`, ledger `RailLosses`, mode the mode of each contact.

    References:
        Kireenkov 2021, COUPLED PROBLEMS: ball on two rails (signs of the second rail corrected).
    """

    kind: ClassVar[str] = "rails"
    mode_names: ClassVar[tuple[str, ...]] = MODES

    mass: Scalar
    radius: Scalar
    half_angle: Scalar
    law: AbstractFrictionLaw
    slope: Scalar
    gravity: Scalar
    capture: Scalar
    near_stick: Scalar
    point: bool = eqx.field(static=True)
    secure: bool = eqx.field(static=True)

    def __init__(self, mass, radius, half_angle, law, slope=0.0, gravity=9.81, capture=1e-9, secure=None,
                 near_stick=1e-10):  # fmt: skip
        self.mass, self.radius, self.half_angle = numbers(mass), numbers(radius), numbers(half_angle)
        self.law, self.slope, self.gravity, self.capture = law, numbers(slope), numbers(gravity), numbers(capture)
        self.near_stick = numbers(near_stick)
        self.point = is_point(law, self.radius)
        self.secure = _keeps_both_rails(self.half_angle, law) if secure is None else secure

    def __check_init__(self):
        checks.positive("mass", self.mass)
        checks.positive("radius", self.radius)
        checks.positive("gravity", self.gravity)
        checks.positive("half_angle", self.half_angle, "For half_angle = 0 use `BallOnPlane`.")
        checks.between("half_angle", self.half_angle, 0.0, float(np.nextafter(np.pi / 2, 0)), "It is in radians.")
        checks.between("slope", self.slope, -1.5707, 1.5707, "It is in radians.")
        checks.positive("capture", self.capture)
        checks.positive("near_stick", self.near_stick)

    @property
    def inertia(self) -> Scalar:
        """Moment of inertia of the homogeneous ball [kg m2]."""
        return 0.4 * self.mass * self.radius**2

    @property
    def speed(self) -> Scalar:
        """An ordinary speed of this ball, by which small ones are measured [m/s]."""
        return jnp.sqrt(self.gravity * self.radius)

    def speeds(self, velocity: RailMotion) -> Array:
        """The parts of a motion as speeds [m/s]: what turns, times the radius."""
        turning = jnp.append(velocity.tilt, velocity.turning) * self.radius
        return jnp.append(velocity.along, turning)

    @property
    def eventful(self) -> bool:
        """A ball that rocks from rail to rail has hundreds; one that cannot lose a rail has a few."""
        return not self.secure

    def atol_limit(self) -> float:
        """A tenth of the speed at which slip counts as none [m/s]."""
        return atol_limit(self.near_stick, self.gravity, self.radius)

    def with_tolerance(self, rtol: float) -> BallOnRails:
        """With slip that counts as none no smaller than the errors of the velocities that it is the difference of."""
        return eqx.tree_at(lambda ball: ball.near_stick, self, no_smaller(self.near_stick, rtol))

    def begin_run(self, start: State) -> State:
        """A ball on points that hardly turns about the track is held from turning, as `start` has it."""
        if not (self.point and (np.asarray(start.mode) == SLIP).all()):
            return start
        near_stick, gravity, radius = (float(number) for number in (self.near_stick, self.gravity, self.radius))
        turning = abs(float(np.asarray(start.v.turning)[0])) * radius
        return _seat(self, start)[0] if turning <= near_stick * np.sqrt(gravity * radius) else start

    def blank(self) -> State:
        """A state of the form that all have: the ball stands at the origin."""
        zero, vector = numbers(0.0), numbers([0.0, 0.0, 0.0])
        place, motion = RailPlace(zero, zero, zero), RailMotion(zero, zero, vector)
        return State.of(0.0, place, motion, RailLosses(zero, zero), [SLIP, SLIP])

    def start(self, velocity: float = 0.0, angular_velocity=(0.0, 0.0, 0.0), position: float = 0.0) -> State:
        """The ball on both rails, moving along them.

        Args:
            velocity: Along the rails [m/s].
            angular_velocity: About x, y, z [rad/s]; y > 0 rolls forward.
            position: Along the rails [m].
        """
        checks.shaped("angular_velocity", angular_velocity, (3,))
        checks.finite("angular_velocity", angular_velocity)
        checks.finite("velocity", velocity)
        zero = numbers(0.0)
        place = RailPlace(numbers(position), zero, zero)
        motion = RailMotion(numbers(velocity), zero, numbers(angular_velocity))
        seated, still = _seat(self, self.blank().replace(q=place, v=motion))
        if self.point:
            return seated
        known = checks.concrete(still)
        if known is None:
            return jax.lax.cond(still, _at_rest, lambda _, state: state, self, seated)
        return _at_rest(self, seated) if known else seated

    def rate(self, state: State) -> Rate:
        """Velocities and accelerations in the present mode, and the power lost."""
        return self.rate_by(state, self.contacts(state))

    def see(self, state: State) -> Contacts:
        """Loads, friction and accelerations in the present mode."""
        return self.contacts(state)

    def rate_by(self, state: State, seen: Contacts) -> Rate:
        """The rate, where the contacts are known."""
        moves = ~((state.mode == REST) | (state.mode == JAMMED)).any()
        zero = jnp.zeros(())
        rate = Rate(
            q=RailPlace(state.v.along, state.v.tilt, zero),
            v=seen.acceleration,
            ledger=RailLosses(seen.power, zero),
        )
        return choose(moves, rate, jax.tree.map(jnp.zeros_like, rate))

    def contacts(self, state: State) -> Contacts:
        """Loads, friction and accelerations in the present mode."""
        place = self.contacts_of(state)
        direction = stick.sign_of(state.mode)
        if not self.point:
            return self._spots(state, place, direction[0])
        straight = forces.along_rails(stick.forces_along(self, direction, place.motion.slip[:, 0]))

        def holding(loads):
            if self.secure:
                return straight
            return choose(place.one_rail, forces.rolling_on_one(self, place, state.v, loads), straight)

        motion, held = forces.known_direction(self, place.motion), ~(state.mode == SLIP).any()
        return forces.contacts_under(self, place, state.v, motion, (held, holding))

    def _spots(self, state: State, place: Place, forward: Scalar) -> Contacts:
        """Finite spots: sliding as they move, creeping on the ray, or at rest."""
        creeping = jax.tree.map(lambda x: forward * x, creep.ray_motion(self, state.q.creep_angle))
        motion = choose(forward != 0.0, creeping, forces.known_direction(self, place.motion))
        sticks = (state.mode == STICK).any()

        def holding(loads):
            if self.secure:
                return creep.static_reaction(self)
            return choose(sticks, forces.rolling_on_one(self, place, state.v, loads), creep.static_reaction(self))

        held = (state.mode == REST).any() | sticks
        return forces.contacts_under(self, place, state.v, motion, (held, holding))

    def contacts_of(self, state: State) -> Place:
        """Where and how the ball touches in the present mode."""
        if self.secure:
            return forces.place_contacts(self, state.q.tilt, state.v)
        return forces.place_contacts(self, state.q.tilt, state.v, state.mode == OPEN)

    def guards(self) -> tuple[Guard, ...]:
        """What can happen; see `events.all_guards`."""
        return events.all_guards(self)

    def guards_by(self, state: State, seen: Contacts) -> list[Array]:
        """The value of each guard, where the contacts are known."""
        return [guard.function(state) for guard in events.all_guards(self, lambda _: seen)]

    def quantities(self) -> dict[str, Quantity]:
        """Name and meaning of everything that `observe` returns."""
        return {
            **BALL_QUANTITIES,
            "tilt": Quantity((), "rad", "angle by which the ball has turned about its only rail"),
            "mode": Quantity(("contact",), "1", "mode of each contact"),
        }

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels of axes and contacts."""
        return {"axis": list(AXES), "contact": ["rail y>0", "rail y<0"]}

    def observe(self, state: State) -> dict[str, Array]:
        """Everything worth showing of one state."""
        contacts = self.contacts(state)
        place, normals = contacts.place, contacts.place.normals
        velocity = place.centre
        lean = place.kept * place.lean[0]
        side = jnp.where(place.one_rail, place.kept * self.radius * (jnp.sin(lean) - jnp.sin(self.half_angle)), 0.0)
        height = self.radius * jnp.cos(place.lean[0])
        rails = -LEAN * self.radius * jnp.sin(self.half_angle)
        kinetic = 0.5 * self.mass * jnp.sum(velocity**2) + 0.5 * self.inertia * jnp.sum(state.v.turning**2)
        down, up = jnp.sin(self.slope), jnp.cos(self.slope)
        lifted = height - self.radius * jnp.cos(self.half_angle)
        e1, e2 = jnp.zeros((2, 3)).at[:, 0].set(1.0), across(normals)

        def in_space(tangent):
            return tangent[:, :1] * e1 + tangent[:, 1:] * e2

        return {
            "position": jnp.stack([state.q.along, side, height]),
            "velocity": velocity,
            "angular_velocity": state.v.turning,
            "contact_position": jnp.zeros((2, 3)).at[:, 0].set(state.q.along).at[:, 1].set(rails),
            "slip": in_space(contacts.motion.slip),
            "spin": contacts.motion.spin,
            "normal_force": contacts.loads.load,
            "friction_force": in_space(contacts.reaction.force),
            "friction_torque": contacts.reaction.spin_torque,
            "rolling_moment": in_space(contacts.reaction.rolling_moment),
            "kinetic_energy": kinetic,
            "potential_energy": self.mass * self.gravity * (up * lifted - down * state.q.along),
            "dissipated_energy": state.ledger.friction + state.ledger.impact,
            "tilt": jnp.where(place.one_rail, state.q.tilt, 0.0),
            "mode": state.mode,
        }

    def event_data(self, guard: str, index: int, before: State, after: State) -> dict[str, Any]:
        """The instant (after the last stretch before a stop), which rail, and the energy lost at once."""
        lost = as_numpy(after.ledger) - as_numpy(before.ledger)
        return {"t": float(np.asarray(after.t)), "rail": index, "energy_loss": float(np.sum(lost))}

    def slips_data(self, index: int, before: State, after: State) -> dict[str, Any]:
        """What belongs to an event of a contact that slips: its time is that before the jump, which takes a moment."""
        return self.event_data("slips", index, before, after) | {"t": float(np.asarray(before.t))}


@brief_program
def _seat(ball: BallOnRails, state: State) -> tuple[State, Array]:
    seated, still = events.seat(ball, state)
    return same_types(state, seated), still


@brief_program
def _at_rest(ball: BallOnRails, state: State) -> State:
    return same_types(state, events.at_rest(ball, state))


def _keeps_both_rails(half_angle: Scalar, law: AbstractFrictionLaw) -> bool:
    """Whether no slip at all can unload a rail or jam the ball; False where the numbers are not known yet."""
    if not law.proportional:
        return False
    mu, angle = checks.concrete(law.capacity(numbers(1.0))), checks.concrete(half_angle)
    if mu is None or angle is None or not 0.0 < angle < np.pi / 2:
        return False
    # Approximate laws may exceed mu N by a few per cent where slip and shifted pressure meet.
    return bool(1.05 * mu < min(np.tan(angle), 1.0 / np.tan(angle)))
