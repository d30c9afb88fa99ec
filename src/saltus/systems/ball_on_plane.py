"""A ball that slides, spins and rolls on a plane."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Bool, Float

from saltus import checks
from saltus.contacts.ball_contact import ContactMotion
from saltus.hybrid import AbstractSystem, Guard, Parts, Quantity, Rate, State, part
from saltus.hybrid.guard import StagedJump, once
from saltus.hybrid.parts import shift
from saltus.hybrid.state import same_types
from saltus.laws.friction import AbstractFrictionLaw, AbstractSpotLaw, Reaction
from saltus.laws.friction.base import direction
from saltus.laws.friction.limit import LEAST
from saltus.laws.friction.spot import Coupling
from saltus.numerics.elimination import solve
from saltus.numerics.trees import choose
from saltus.programs import brief_program
from saltus.programs.arrays import numbers
from saltus.systems.ball_common import (
    AXES,
    BALL_QUANTITIES,
    Losses,
    atol_limit,
    is_point,
    size,
    spot_law,
)
from saltus.systems.short_time import begin_slip, time_to_stop

Scalar = Float[Array, ""]

MODES = ("slip", "spin_left", "spin_right", "roll", "pivot", "rest")
SLIP, SPIN_LEFT, SPIN_RIGHT, ROLL, PIVOT, REST = range(6)
CLEARLY = 4.0  # how many times as fast as what counts as none a motion is when it is told to have begun
LONGEST_MOMENT = 1e-6  # [s]; but no later
NEAR_REST = 1e-9  # speed over sqrt(g r) from which a stop is extrapolated: the last stretch is straight
LAST_MOMENT = 30.0  # of a pivot: with so many times that speed, the errors of slip decide on its direction
ON_RAY = 1e-3  # share of friction by which a ratio of slip to rim speed may still be driven where it is taken to stay
LET_GO = 10.0  # how many times `capture` slip may be off a ray that turns before it is let go
_NEWTON_STEPS = 5


class BallPlace(Parts):
    """Where a ball is.

    Args:
        centre: x, y [m].
        slip_ratio: Slip over rim speed (spin times radius of the spot) while the ball spins on the ray on which both
            fall together [-]; constant, or turning with the rolling that shifts the pressure.
    """

    centre: Float[Array, "2"] = part(1)
    slip_ratio: Float[Array, "2"] = part(1)


class BallMotion(Parts):
    """Velocity of the centre, x', y' [m s-1], rolling about x, y and spin about z [rad s-1]; or their rates."""

    centre: Float[Array, "2"] = part(1)
    rolling: Float[Array, "2"] = part(1)
    spin: Scalar = part()


class BallForces(eqx.Module):
    """What a ball feels in its present mode.

    Args:
        reaction: Friction.
        ratio_change: How fast the ratio of slip to rim speed changes on a ray [s-1].
        holding_shift: Shift of the pressure that would keep it from rolling; zero where nothing shifts it.
    """

    reaction: Reaction
    ratio_change: Float[Array, "2"]
    holding_shift: Float[Array, "2"]


class BallOnPlane(AbstractSystem):
    """A homogeneous ball on a plane, level or sloping down towards +x: billiards.

    A point contact slips until it rolls without slip. A finite spot that spins cannot stick: its slip dies away
    while it spins ("spin": in closed form once slip and spin are proportional), and it rolls when the spin has
    ended too. Rolling without resistance goes on for ever; a rolling shift of the pressure brings the ball to rest.
    With such a shift the rolling may end before the spin ("pivot"): then the shift is what keeps it from rolling.

    Where rolling shifts the pressure, it pushes a spinning spot aside, and slip and spin fall together along a ray that
    turns with the rolling. Slip comes to the ray ever faster, at a rate that grows as 1/spin, which no steps can follow
    to the end of the spin; once it is as near as `capture` says, slip is taken to follow spin and rolling on the ray.
    It leaves the ray where that turns too fast ("spin_slips"), as it may before the rolling ends.

    A sliding shift of the pressure pushes a spinning spot across its slip. Where nothing else pushes harder, the slip
    turns round ever faster while it dies away, in a spiral with infinitely many turns. Once the rest of the spiral
    moves the ball by less than `capture` times its radius, the ball spins without slip: friction then holds it on the
    average over the turns, as the convex combinations of the forces of vanishing slip can.

    State: q is a `BallPlace`, v a `BallMotion`, ledger `Losses`.

    Args:
        mass: Mass, > 0 [kg].
        radius: Radius of the ball, > 0 [m].
        law: Friction law of the contact.
        slope: Inclination of the plane, x pointing downhill [rad].
        gravity: [m/s2].
        capture: How near to proportional slip and spin, as a share of the speed, before slip is taken to follow the
            spin; with a sliding shift, how far the rest of a spiral may still move the ball, as a share of its radius.
    """

    kind: ClassVar[str] = "plane_ball"
    mode_names: ClassVar[tuple[str, ...]] = MODES

    mass: Scalar
    radius: Scalar
    law: AbstractFrictionLaw
    slope: Scalar
    gravity: Scalar
    capture: Scalar
    point: bool = eqx.field(static=True)
    shifted: bool = eqx.field(static=True)
    spirals: bool = eqx.field(static=True)
    ray_turns: bool = eqx.field(static=True)

    def __init__(self, mass, radius, law, slope=0.0, gravity=9.81, capture=1e-9):
        self.mass, self.radius, self.law = numbers(mass), numbers(radius), law
        self.slope, self.gravity, self.capture = numbers(slope), numbers(gravity), numbers(capture)
        self.point = is_point(law, self.radius)
        shifts = _shifts(law) if isinstance(law, AbstractSpotLaw) and not self.point else (False, False)
        self.shifted, self.spirals, self.ray_turns = any(shifts), *shifts

    def __check_init__(self):
        checks.positive("mass", self.mass)
        checks.positive("radius", self.radius)
        checks.positive("gravity", self.gravity)
        checks.between("slope", self.slope, -1.5707, 1.5707, "It is in radians.")
        checks.positive("capture", self.capture)

    @property
    def inertia(self) -> Scalar:
        """Moment of inertia of the homogeneous ball [kg m2]."""
        return 0.4 * self.mass * self.radius**2

    @property
    def load(self) -> Scalar:
        """Normal force [N]."""
        return self.mass * self.gravity * jnp.cos(self.slope)

    @property
    def capacity(self) -> Scalar:
        """Largest friction force at rest [N]."""
        return self.law.capacity(self.load)

    @property
    def speed(self) -> Scalar:
        """An ordinary speed of this ball, by which small ones are measured [m/s]."""
        return jnp.sqrt(self.gravity * self.radius)

    def atol_limit(self) -> float:
        """A tenth of the speed at which slip counts as none [m/s]."""
        return atol_limit(NEAR_REST, self.gravity, self.radius)

    def blank(self) -> State:
        """A state of the form that all have: the ball stands at the origin."""
        zero, two = numbers(0.0), numbers([0.0, 0.0])
        return State.of(0.0, BallPlace(two, two), BallMotion(two, two, zero), Losses(zero), SLIP)

    def start(self, velocity=(0.0, 0.0), angular_velocity=(0.0, 0.0, 0.0), position=(0.0, 0.0)) -> State:
        """The ball on the plane.

        Args:
            velocity: x', y' of the centre [m/s].
            angular_velocity: About x, y, z [rad/s].
            position: x, y [m].
        """
        for name, value, n in (
            ("velocity", velocity, 2),
            ("angular_velocity", angular_velocity, 3),
            ("position", position, 2),
        ):
            checks.shaped(name, value, (n,))
            checks.finite(name, value)
        place = BallPlace(numbers(position), numbers([0.0, 0.0]))
        motion = BallMotion(numbers(velocity), numbers(angular_velocity[:2]), numbers(angular_velocity[2]))
        state, spins = _settle(self, self.blank().replace(q=place, v=motion))
        known = checks.concrete(spins)
        # Few starts are on a ray or at the end of a spiral: for the others its program is not made.
        slips_on = not self.shifted or (known is not None and not known.any())
        return state if slips_on else _spin_at_once(self, state, spins)

    # ---- motion ---------------------------------------------------------------------------------------

    def motion(self, velocity: BallMotion) -> ContactMotion:
        """Slip, spin and rolling at the contact, frame (x, y, z)."""
        x, y = velocity.rolling
        return ContactMotion(velocity.centre + self.radius * jnp.stack([-y, x]), velocity.spin, velocity.rolling)

    def acceleration(self, reaction: Reaction) -> BallMotion:
        """Acceleration for given friction."""
        moved = reaction.force / self.mass + self._pull()
        lever = self.radius * jnp.stack([reaction.force[1], -reaction.force[0]])
        rolled = (lever + reaction.rolling_moment) / self.inertia
        return BallMotion(moved, rolled, reaction.spin_torque / self.inertia)

    def _pull(self) -> Float[Array, "2"]:
        """Acceleration downhill without friction [m/s2]."""
        pull = self.gravity * jnp.sin(self.slope)
        return jnp.stack([pull, jnp.zeros_like(pull)])

    def reaction(self, state: State) -> Reaction:
        """Friction in the present mode."""
        return self.see(state).reaction

    def entwined(self, mode: int | None = None) -> bool:
        """For a spot: rate and guards ask for its friction, which is most of them."""
        return not self.point

    def see(self, state: State) -> BallForces:
        """Friction in the present mode, and what follows from it for a ray and a pivot."""
        motion, ratio_change, shift = self.motion(state.v), jnp.zeros(2), jnp.zeros(2)
        if not self.point:
            turning = _sign(state.mode)
            spinning = ContactMotion(state.q.slip_ratio, turning / self.law.radius(self.load), motion.rolling)
            motion = choose(turning != 0.0, spinning, motion)
        if self.shifted:
            law = spot_law(self.law)
            if self.ray_turns:
                share, slope = law.share_with_slope(motion.slip, motion.spin, self.load)
                slips, ratio_change = self._on_turning_ray(state, motion, share, slope)
            else:
                share = law.share(motion.slip, motion.spin, self.load)
                slips = law.reaction_by(share, motion.slip, self.load, motion.rolling)
            if self.spirals:
                slips = choose(self._spins_without_slip(state), self.spinning_reaction(motion), slips)
            shift = self._holding_shift(motion, share)
            slips = choose(state.mode == PIVOT, self._pivoting_reaction(motion, share, shift), slips)
        else:
            slips = self.law.reaction(motion.slip, motion.spin, self.load, motion.rolling)
        rolls = self.rolling_reaction(motion)
        rests = self.resting_reaction()
        reaction = choose(state.mode == REST, rests, choose(state.mode == ROLL, rolls, slips))
        return BallForces(reaction, ratio_change, shift)

    def _off_ratio(self, motion: ContactMotion, share: Coupling, slope: Coupling) -> tuple[Array, Reaction, Array]:
        """How fast slip leaves a ratio to the rim speed, times the rim speed [m/s2]; friction; the derivative by ratio.

        Forces hang on the ratio alone, so this does too: where it vanishes, slip and spin fall together on a ray.

        Args:
            motion: Of a spot whose rim moves at 1 m/s, so that its slip is the ratio.
            share, slope: How it shares the friction, and the derivative by the squared slip.
        """
        law, ratio = spot_law(self.law), motion.slip
        reaction = law.reaction_by(share, ratio, self.load, motion.rolling)
        by_force, by_torque = law.slopes_by(share, slope, ratio, self.load, motion.rolling)
        gain = self._slip_and_rim(self.acceleration(reaction))
        spot = law.radius(self.load)
        turning, rim_per_torque = motion.spin * spot, spot / self.inertia
        by_ratio = 3.5 / self.mass * by_force - turning * (
            gain[2] * jnp.eye(2) + rim_per_torque * ratio[:, None] * by_torque
        )
        return gain[:2] - ratio * turning * gain[2], reaction, by_ratio

    def _on_turning_ray(
        self, state: State, motion: ContactMotion, share: Coupling, slope: Coupling
    ) -> tuple[Reaction, Array]:
        """Friction of a ball that slips or spins where the ray turns with its rolling, and the change of ratio [1/s].

        On the ray `_off_ratio` is zero, and stays so as the rolling changes. Slip follows by a little more force than
        that of the ratio alone, which turns the ball too. No direction in the plane is different but for the pull
        downhill: were ratio and rolling turned together, what `_off_ratio` has beside the pull would turn with them.
        That tells its derivative by the direction of rolling from that by the ratio.
        """
        on_ray, rim = self._is_on_ray(state), jnp.abs(state.v.spin) * self.law.radius(self.load)
        left, reaction, by_ratio = self._off_ratio(motion, share, slope)
        by_turn = _across(left - self._pull()) - by_ratio @ _across(motion.slip)
        # The rolling turns by the part of its change that is across it: of that by friction, and of that by the push
        # with which slip follows (as in `_push`).
        turn = _across(motion.rolling) / (jnp.sum(motion.rolling**2) + LEAST)
        turned = by_turn * jnp.sum(turn * self.acceleration(reaction).rolling)
        by_push = 2.5 / self.radius * by_turn[:, None] * _across(turn)
        answer = jnp.where(on_ray, by_ratio + rim * 2 / 7 * by_push, jnp.eye(2))  # off it there is none
        change = jnp.where(on_ray, solve(answer, -turned), 0.0)
        force = reaction.force + self.mass * rim * change * 2 / 7
        return Reaction(force, reaction.spin_torque, reaction.rolling_moment), change

    def _is_on_ray(self, state: State) -> Bool[Array, ""]:
        """Whether it spins with slip in proportion, and not without any, as after a spiral."""
        spins = _sign(state.mode) != 0.0
        return spins & (state.q.slip_ratio != 0.0).any() if self.spirals else spins

    def _spins_without_slip(self, state: State) -> Bool[Array, ""]:
        """Whether it spins on after a spiral of its slip."""
        return (_sign(state.mode) != 0.0) & ~self._is_on_ray(state)

    def _rolls_and_spins(self, state: State) -> Bool[Array, ""]:
        """Whether it does so while it rolls, and not at its place."""
        return self._spins_without_slip(state) & (state.v.centre != 0.0).any()

    def spinning_reaction(self, motion: ContactMotion) -> Reaction:
        """Friction of a ball that spins without slip, on the average over the fast turns of a vanishing slip."""
        still = (size(motion.rolling) == 0.0) & ~self._is_steep()
        holds = choose(still, self.resting_reaction(), self.rolling_reaction(motion))
        torque = self.law.reaction(jnp.zeros(2), motion.spin, self.load).spin_torque
        return Reaction(holds.force, torque, holds.rolling_moment)

    def mean_shift(self, motion: ContactMotion) -> Float[Array, "2"]:
        """Shift of the pressure by slip that holds a ball that spins without slip: a mean, never above the shift."""
        reaction, law = self.spinning_reaction(motion), spot_law(self.law)
        x, y = reaction.rolling_moment
        lever = law.pressure.centre_shift * law.radius(self.load) * self.load
        return law.shift_for_force(reaction.force, motion.spin, self.load) - jnp.stack([-y, x]) / lever

    def _pivoting_reaction(self, motion: ContactMotion, share: Coupling, shift: Float[Array, "2"]) -> Reaction:
        """Friction of a ball that slips and spins but does not roll, for a given shift of the pressure by rolling."""
        law = spot_law(self.law)
        slid = law.sliding_shift * direction(motion.slip)
        force, torque = law.forces_by(share, motion.slip, self.load, slid + shift)
        lever = law.pressure.centre_shift * law.radius(self.load) * self.load
        return Reaction(force, torque, lever * jnp.stack([shift[1], -shift[0]]))

    def _holding_shift(self, motion: ContactMotion, share: Coupling) -> Float[Array, "2"]:
        """Shift k of the pressure that keeps the ball from rolling.

        Friction F and the moment of the pressure turn it by radius F + lever k, in which F is linear in k (`Coupling`).
        """
        law, (x, y) = spot_law(self.law), motion.slip
        lever, strength = law.pressure.centre_shift * law.radius(self.load) * self.load, self.radius * self.capacity
        lift, skew = strength * share.lift, strength * share.skew
        slid = law.sliding_shift * direction(motion.slip)
        right_x, right_y = strength * share.drag * motion.slip + lift * jnp.stack([-slid[1], slid[0]])
        xx, xy, yx, yy = lever + skew * x * y, lift - skew * x * x, skew * y * y - lift, lever - skew * x * y
        return jnp.stack([yy * right_x - xy * right_y, xx * right_y - yx * right_x]) / (xx * yy - xy * yx)

    def rolling_reaction(self, motion: ContactMotion) -> Reaction:
        """What keeps the ball rolling without slip."""
        resistance = -self.resistance() * direction(motion.rolling)
        pull = self.mass * self.gravity * jnp.sin(self.slope)
        turned = jnp.stack([resistance[1], -resistance[0]]) / self.radius
        force = (2 * jnp.stack([-pull, jnp.zeros_like(pull)]) + 5 * turned) / 7
        return Reaction(force, jnp.zeros(()), resistance)

    def resting_reaction(self) -> Reaction:
        """What keeps the ball at rest."""
        pull = self.mass * self.gravity * jnp.sin(self.slope)
        nothing = jnp.zeros_like(pull)
        return Reaction(jnp.stack([-pull, nothing]), nothing, jnp.stack([nothing, -pull * self.radius]))

    def resistance(self) -> Scalar:
        """Largest rolling moment [N m]."""
        if self.point:
            return jnp.zeros(())
        return self.law.rolling_capacity(self.load)

    def rate(self, state: State) -> Rate:
        """Velocities and accelerations in the present mode, and the power lost."""
        return self.rate_by(state, self.see(state))

    def rate_by(self, state: State, seen: BallForces) -> Rate:
        """Velocities and accelerations where friction is known, and the power lost."""
        reaction, motion = seen.reaction, self.motion(state.v)
        power = -(
            jnp.sum(reaction.force * motion.slip)
            + reaction.spin_torque * motion.spin
            + jnp.sum(reaction.rolling_moment * motion.rolling)
        )
        rate = Rate(BallPlace(state.v.centre, seen.ratio_change), self.acceleration(reaction), Losses(power))
        return choose(state.mode == REST, jax.tree.map(jnp.zeros_like, rate), rate)

    # ---- events ---------------------------------------------------------------------------------------

    def guards(self) -> tuple[Guard, ...]:
        """Slip that ends, rolling that slips, spin that ends, rest."""
        return self._guards(once(self.see))

    def guards_by(self, state: State, seen: BallForces) -> list[Array]:
        """The value of each guard where friction is known."""
        return [guard.function(state) for guard in self._guards(lambda _: seen)]

    def _guards(self, seen: Callable[[State], BallForces]) -> tuple[Guard, ...]:
        rolls = StagedJump(self, _end_slip, _set_off)
        off_ray = once(lambda s: self._off_ray(s, seen(s)))
        guards = [
            Guard("rolls", self._slip_left, lambda s: s.mode == SLIP, singular=True, jump=rolls, data=_nothing_more,
                  likely=self._slips_without_spin),
            Guard("slips", self._grip_left, lambda s: s.mode == ROLL, jump=self._slips),
        ]  # fmt: skip
        if not self.point:
            may_spin = (lambda s: (s.mode == SLIP) | (s.mode == PIVOT)) if self.spirals else (lambda s: s.mode == SLIP)
            guards += [
                Guard("spins", lambda s: self._until_spin(s, off_ray(s)), may_spin, jump=self._spins),
                Guard("spin_ends", self._spin_left, lambda s: _sign(s.mode) != 0.0, jump=self._spin_ends),
            ]
        if self.shifted:
            guards += [
                Guard("rests", self._rolling_left, lambda s: s.mode == ROLL, singular=True, jump=self._rests),
                Guard("pivots", self._turning_left, self._turns, singular=True,
                      jump=StagedJump(self, _end_turning, _set_off), data=_nothing_more),
                Guard("sets_off", lambda s: self._pivot_left(s, seen(s)), lambda s: s.mode == PIVOT, jump=self._slips),
                Guard("pivot_ends", self._slip_left, lambda s: s.mode == PIVOT, singular=True, jump=rolls,
                      data=_nothing_more),
                Guard("spin_slips", lambda s: self._until_slip(s, off_ray(s)), lambda s: _sign(s.mode) != 0.0,
                      jump=self._spin_slips),
            ]  # fmt: skip
        if self.spirals:
            guards.append(Guard("stops", self._rolling_left, self._rolls_and_spins, singular=True, jump=self._stops))
        return tuple(guards)

    def _slips_without_spin(self, state: State) -> bool:
        """Whether it slips, which then ends in rolling; asked of known numbers. At rest nothing slips (`blank`)."""
        spins = not self.point and bool(state.v.spin != 0.0)
        moves = any(np.any(part) for part in (state.v.centre, state.v.rolling))
        return int(state.mode) == SLIP and moves and not spins

    def _slip_left(self, state: State) -> Scalar:
        return size(self._slip_and_rim(state.v)) / self.speed - NEAR_REST

    def _spin_left(self, state: State) -> Scalar:
        return _sign(state.mode) * state.v.spin

    def _slip_and_rim(self, velocity: BallMotion) -> Array:
        motion = self.motion(velocity)
        return jnp.append(motion.slip, motion.spin * self.law.radius(self.load))

    def _grip_left(self, state: State) -> Scalar:
        force = self.rolling_reaction(self.motion(state.v)).force
        return (self.capacity - size(force)) / self.load

    def _turns(self, state: State) -> Bool[Array, ""]:
        """Whether its rolling may end before its slip or its spin."""
        slips = state.mode == SLIP
        return slips | self._is_on_ray(state) if self.ray_turns else slips

    def _turning_left(self, state: State) -> Scalar:
        return self.radius * size(state.v.rolling) / self.speed - NEAR_REST

    def _shift_left(self, holding_shift: Float[Array, "2"]) -> Scalar:
        return spot_law(self.law).rolling_shift - size(holding_shift)

    def _can_pivot(self, state: State) -> Bool[Array, ""]:
        """Whether a shift of the pressure can keep the ball from rolling."""
        motion = self.motion(state.v)
        share = spot_law(self.law).share(motion.slip, motion.spin, self.load)
        return self._shift_left(self._holding_shift(motion, share)) > 0.0

    def _pivot_left(self, state: State, seen: BallForces) -> Scalar:
        """What is left of the shift while it pivots; in the last moment slip is noise, and the end of it decides."""
        near_end = LAST_MOMENT * NEAR_REST - size(self._slip_and_rim(state.v)) / self.speed
        return jnp.maximum(self._shift_left(seen.holding_shift), near_end)

    def _rolling_left(self, state: State) -> Scalar:
        return size(state.v.centre) / self.speed - NEAR_REST

    def _off_ray(self, state: State, seen: BallForces) -> Scalar:
        """Logarithm of the distance from proportional slip and spin over that allowed; its slope is left out."""
        state, seen = jax.lax.stop_gradient((state, seen))
        slip_and_rim = self._slip_and_rim(state.v)
        gain = self._slip_and_rim(self.rate_by(state, seen).v)
        rim, spins = slip_and_rim[2], slip_and_rim[2] != 0.0
        off = gain[:2] - slip_and_rim[:2] * gain[2] / jnp.where(spins, rim, 1.0)
        # Slip relaxes in about the time in which friction would take away slip and rim speed; the latter alone may be
        # passing through zero.
        time = size(slip_and_rim) * self.mass / (self.capacity + LEAST)
        speed = jnp.sum(state.v.centre**2) + self.radius**2 * jnp.sum(_angular_velocity(state.v) ** 2)
        # Near the end of all slip that is little, whatever the ratio is: on a ray it is little beside the forces, too.
        ease = self.mass / (self.capacity + LEAST)
        share = jnp.sum(off * off) * jnp.maximum(time * time / (speed + LEAST), (ease * self.capture / ON_RAY) ** 2)
        undefined = jnp.where(spins & (self.capacity > 0.0), 0.0, 1.0)
        return 0.1 * (0.5 * jnp.log(share + undefined + 1e-40) - jnp.log(self.capture))

    def _until_spin(self, state: State, off_ray: Scalar) -> Scalar:
        """How far slip is from a ray, or from the end of a spiral."""
        off_ray = jnp.where(state.mode == SLIP, off_ray, 1.0)
        return jnp.minimum(self._spiral_left(state), off_ray) if self.spirals else off_ray

    def _until_slip(self, state: State, off_ray: Scalar) -> Scalar:
        """What is left before a ball that spins slips: by itself again, off a ray that turns too fast, or at all."""
        near_ray = 0.1 * jnp.log(LET_GO) - off_ray
        return jnp.where(self._is_on_ray(state), near_ray, self._mean_shift_left(state)) if self.spirals else near_ray

    def _mean_shift_left(self, state: State) -> Scalar:
        return jnp.abs(spot_law(self.law).sliding_shift) - size(self.mean_shift(self.motion(state.v)))

    def _spiral_left(self, state: State) -> Scalar:
        """Logarithm of how far the rest of a spiral of slip moves the ball, over what is allowed; no slope, as above.

        The sliding shift pushes across the slip with an acceleration c and turns it at the rate c over the speed of
        slip. What friction brakes and what else pushes (a share q of c) is small beside that, or there is no spiral.
        """
        state = jax.lax.stop_gradient(state)
        motion, law = self.motion(state.v), jax.lax.stop_gradient(spot_law(self.law))
        ease = self._slip_ease(state)
        drag, _ = law.reaction_with_shift(motion.slip, motion.spin, self.load, jnp.zeros(2))
        across, _ = law.reaction_with_shift(
            jnp.zeros(2), motion.spin, self.load, jnp.stack([law.sliding_shift, jnp.zeros(())])
        )
        after = self.motion(self._without_slip(state).v)
        # Without its slip nothing keeps a ball that pivots on a steep plane from rolling down, and rolling is resisted.
        sets_off = (state.mode == PIVOT) & self._is_steep()
        downhill = jnp.stack([jnp.zeros(()), jnp.sign(self.slope)])
        after = ContactMotion(after.slip, after.spin, jnp.where(sets_off, downhill, after.rolling))
        share = size(self.mean_shift(after)) / (jnp.abs(law.sliding_shift) + LEAST)
        turns = (share < 1.0) & (size(across) > 0.0)
        room = jnp.where(turns, ease * size(across) * (1.0 - share), 1.0)
        uneven = (ease * size(drag) + share * ease * size(across)) / room
        path = jnp.sum(motion.slip**2) / room * uneven
        return jnp.where(turns, 0.1 * jnp.log((path + 1e-40) / (self.capture * self.radius)), 1.0)

    def _slip_ease(self, state: State) -> Scalar:
        """Acceleration of slip per force at the contact [kg-1]: a ball that pivots is kept from turning."""
        return jnp.where(state.mode == PIVOT, 1.0, 3.5) / self.mass

    def _without_slip(self, state: State) -> State:
        """The ball that spins, after the last of its slip has vanished."""
        slip = self.motion(state.v).slip
        stopped = BallMotion(jnp.zeros(2), jnp.zeros(2), state.v.spin)  # rolling is held at zero, but for rounding
        velocity = choose(state.mode == PIVOT, stopped, self._push(state.v, -slip * 2 / 7))
        return state.replace(v=velocity, mode=jnp.where(state.v.spin < 0.0, SPIN_RIGHT, SPIN_LEFT))

    def _end_spiral(self, state: State) -> State:
        """Slip has come to nothing in a spiral; what is left of it moves the ball across, and is lost."""
        slip, gain = (self.motion(motion).slip for motion in (state.v, self.rate(state).v))
        moved = 1.0 / (self._slip_ease(state) * self.mass)
        path = gain * jnp.sum(slip**2) / (jnp.sum(gain**2) + LEAST)
        return self._without_slip(state).replace(
            q=state.q.replace(centre=state.q.centre + moved * path, slip_ratio=jnp.zeros(2)),
            ledger=Losses(state.ledger.friction + 0.5 * self.mass * moved * jnp.sum(slip**2)),
        )

    def _spin_slips(self, state: State, index) -> State:
        """Off its ray slip goes on; where there is none, it begins along the mean shift, as large as that can be."""
        if not self.spirals:
            return self._slips(state, index)
        law = spot_law(self.law)
        way = jnp.sign(law.sliding_shift) * direction(self.mean_shift(self.motion(state.v)))
        begun = self._push(state.v, CLEARLY * NEAR_REST * self.speed * way * 2 / 7)
        return state.replace(v=choose(self._is_on_ray(state), state.v, begun), mode=jnp.asarray(SLIP))

    def _stops(self, state: State, index) -> State:
        """A ball that spins rolls no farther: it spins on at its place, unless the plane is steep."""
        stopped = _run_out(self, state, ROLLING)
        return stopped.replace(v=BallMotion(jnp.zeros(2), jnp.zeros(2), stopped.v.spin))

    def _slips(self, state: State, index) -> State:
        return state.replace(mode=jnp.asarray(SLIP))

    def _spins(self, state: State, index) -> State:
        on_ray = self._enter_ray(state)
        if not self.spirals:
            return on_ray
        spiral = (state.mode == PIVOT) | (self._spiral_left(state) <= self._off_ray(state, self.see(state)))
        return choose(spiral, self._end_spiral(state), on_ray)

    def _spin_ends(self, state: State, index) -> State:
        return self._begin_rolling(_without_spin(state))

    def _rests(self, state: State, index) -> State:
        return self._begin_rolling(_run_out(self, state, ROLLING))

    def _is_kept_from_rolling(self, state: State, seen: BallForces) -> State:
        """A ball that slips but does not roll pivots, if a shift of the pressure can keep it from rolling."""
        still = state.replace(v=state.v.replace(rolling=jnp.zeros(2)), mode=jnp.asarray(PIVOT))
        held = (self._turning_left(state) <= 1e-6 * NEAR_REST) & (self._shift_left(seen.holding_shift) > 0.0)
        return choose(held, still, state)

    def _begin_rolling(self, state: State) -> State:
        """Slip and spin have ended: the ball rolls if friction can hold it, and rests if resistance can."""
        rolls, held = self._try_rolling(state)
        return choose(held, rolls, (state if self.point else _without_spin(state)).replace(mode=jnp.asarray(SLIP)))

    def _try_rolling(self, state: State) -> tuple[State, Bool[Array, ""]]:
        """The ball without slip and spin, rolling or at rest; and whether friction holds it so."""
        slip = self.motion(state.v).slip
        if not self.point:
            state = _without_spin(state)
        # An impulse at the contact that takes the last of the slip away.
        rolls = state.replace(v=self._push(state.v, -slip * 2 / 7), mode=jnp.asarray(ROLL))
        still = size(rolls.v.centre) <= 2 * NEAR_REST * self.speed
        spinning = jnp.abs(rolls.v.spin) > 0.0
        stops = rolls.replace(v=jax.tree.map(jnp.zeros_like, rolls.v), mode=jnp.asarray(REST))
        rolls = choose(still & ~self._is_steep() & ~spinning, stops, rolls)
        return rolls, size(self.rolling_reaction(self.motion(rolls.v)).force) <= self.capacity

    def _is_steep(self) -> Bool[Array, ""]:
        """Whether rolling resistance cannot keep the ball from rolling down."""
        return jnp.abs(self.mass * self.gravity * jnp.sin(self.slope)) * self.radius > self.resistance()

    def _push(self, velocity: BallMotion, push: Float[Array, "2"]) -> BallMotion:
        """The motion after an impulse at the contact that changes the velocity of the centre by `push`."""
        turned = 2.5 * jnp.stack([push[1], -push[0]]) / self.radius
        return BallMotion(velocity.centre + push, velocity.rolling + turned, velocity.spin)

    def _enter_ray(self, state: State) -> State:
        """Onto the ray of proportional slip and spin, by Newton's method; the rolling momentum is kept."""
        slip_and_rim = self._slip_and_rim(state.v)
        turning = jnp.where(state.v.spin < 0.0, -1.0, 1.0)
        spin = turning / self.law.radius(self.load)

        def improve(ratio, _):
            motion = ContactMotion(ratio, spin, state.v.rolling)
            share_and_slope = spot_law(self.law).share_with_slope(ratio, spin, self.load)
            off, _, by_ratio = self._off_ratio(motion, *share_and_slope)
            return ratio - solve(by_ratio, off), None

        ratio = slip_and_rim[:2] / jnp.abs(slip_and_rim[2])
        ratio = jax.lax.scan(improve, ratio, None, length=_NEWTON_STEPS)[0]
        push = (ratio * jnp.abs(slip_and_rim[2]) - slip_and_rim[:2]) * 2 / 7
        return state.replace(
            q=state.q.replace(slip_ratio=ratio),
            v=self._push(state.v, push),
            mode=jnp.where(turning < 0.0, SPIN_RIGHT, SPIN_LEFT),
        )

    # ---- results --------------------------------------------------------------------------------------

    def quantities(self) -> dict[str, Quantity]:
        """Name and meaning of everything that `observe` returns."""
        return {**BALL_QUANTITIES, "mode": Quantity((), "1", "mode")}

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels of axes and contacts."""
        return {"axis": list(AXES), "contact": ["plane"]}

    def observe(self, state: State) -> dict[str, Array]:
        """Everything worth showing of one state."""
        reaction, motion = self.reaction(state), self.motion(state.v)
        kinetic = 0.5 * self.mass * jnp.sum(state.v.centre**2) + 0.5 * self.inertia * jnp.sum(
            _angular_velocity(state.v) ** 2
        )

        def in_space(tangent):
            return jnp.append(tangent, 0.0)[None]

        return {
            "position": jnp.append(state.q.centre, self.radius),
            "velocity": jnp.append(state.v.centre, 0.0),
            "angular_velocity": _angular_velocity(state.v),
            "contact_position": jnp.append(state.q.centre, 0.0)[None],
            "slip": in_space(motion.slip),
            "spin": motion.spin[None],
            "normal_force": self.load[None],
            "friction_force": in_space(reaction.force),
            "friction_torque": reaction.spin_torque[None],
            "rolling_moment": in_space(reaction.rolling_moment),
            "kinetic_energy": kinetic,
            "potential_energy": -self.mass * self.gravity * jnp.sin(self.slope) * state.q.centre[0],
            "dissipated_energy": state.ledger.friction,
            "mode": state.mode,
        }

    def event_data(self, guard: str, index: int, before: State, after: State) -> dict[str, Any]:
        """The instant, after the last stretch."""
        return {"t": float(after.t)}


@brief_program
def _settle(ball: BallOnPlane, state: State) -> tuple[State, Bool[Array, ""]]:
    """A start in its mode, and whether it spins at once: on a ray, or where a spiral of slip has come to its end."""
    ends = size(ball._slip_and_rim(state.v)) <= NEAR_REST * ball.speed
    slips, spins = state, jnp.asarray(False)
    if ball.shifted:
        seen = ball.see(state)
        slips = ball._is_kept_from_rolling(state, seen)
        spins = ~ends & (ball._until_spin(slips, ball._off_ray(state, seen)) <= 0.0)
    return same_types(state, choose(ends, ball._begin_rolling(state), slips)), spins


@brief_program
def _spin_at_once(ball: BallOnPlane, state: State, spins: Bool[Array, ""]) -> State:
    """The start of a ball that spins at once, if this one does."""
    return choose(spins, same_types(state, ball._spins(state, 0)), state)


SLIPPING, TURNING, ROLLING = range(3)  # speeds that vanish together: of slip and rim, of turning, of the centre


def _speeds(ball: BallOnPlane, velocity: BallMotion, which: int) -> Array:
    """The speeds of a motion that vanish together; or their rates [m/s]."""
    if which == SLIPPING:
        return ball._slip_and_rim(velocity)
    return ball.radius * velocity.rolling if which == TURNING else velocity.centre


def _with_speeds(ball: BallOnPlane, velocity: BallMotion, which: int, speeds: Array) -> BallMotion:
    """The motion with other ones; turning that changes leaves the slip as it is, and rolling is without."""
    slip = ball.motion(velocity).slip
    if which == SLIPPING:
        spin = velocity.spin if ball.point else speeds[2] / ball.law.radius(ball.load)
        return velocity.replace(centre=velocity.centre + speeds[:2] - slip, spin=spin)
    rolling = speeds / ball.radius if which == TURNING else jnp.stack([-speeds[1], speeds[0]]) / ball.radius
    moved = BallMotion(jnp.zeros(2), rolling, velocity.spin)
    return moved.replace(centre=(slip if which == TURNING else 0.0) - ball.motion(moved).slip)


def _gain_with(ball: BallOnPlane, state: State, which: int, speeds: Array) -> tuple[Array, tuple]:
    """Accelerations of a motion with these speeds."""
    return _speeds(ball, ball.rate(state.replace(v=_with_speeds(ball, state.v, which, speeds))).v, which), ()


def _run_out(ball: BallOnPlane, state: State, which: int) -> State:
    """The last stretch before some speeds vanish together."""
    rate = ball.rate(state)
    # A spot much smaller than the ball is slow to brake its spin.
    slow = 1.0 if ball.point else 1.0 + (ball.radius / ball.law.radius(ball.load)) ** 2
    longest = 100 * NEAR_REST * ball.speed / ball.gravity / jnp.minimum(ball.capacity / ball.load + 1e-9, 1.0)
    now, gain = (_speeds(ball, motion, which) for motion in (state.v, rate.v))
    left = time_to_stop(now, gain, Partial(_gain_with, ball, state, which), slow * longest)
    return state.replace(
        t=state.t + left,
        q=state.q.replace(centre=state.q.centre + left * (rate.q.centre + 0.5 * left * rate.v.centre)),
        v=shift(state.v, rate.v, left),
        ledger=shift(state.ledger, rate.ledger, 0.5 * left),
    )


def _end_slip(ball: BallOnPlane, state: State, index, variant) -> tuple[State, Bool[Array, ""], Array]:
    """Slip and rim speed have vanished: the ball rolls, if friction can hold it."""
    rolls, held = ball._try_rolling(_run_out(ball, state, SLIPPING))
    return rolls.replace(mode=jnp.where(held, rolls.mode, SLIP)), ~held, jnp.asarray(SLIPPING)


def _end_turning(ball: BallOnPlane, state: State, index, variant) -> tuple[State, Bool[Array, ""], Array]:
    """A ball that slips turns no more: it pivots, if a shift of the pressure can keep it from rolling."""
    ended = _run_out(ball, state, TURNING)
    still = ended.replace(v=_with_speeds(ball, ended.v, TURNING, jnp.zeros(2)), mode=jnp.asarray(PIVOT))
    held = ball._can_pivot(still)
    return still.replace(mode=jnp.where(held, PIVOT, SLIP)), ~held, jnp.asarray(TURNING)


def _nothing_more(index: int, before: State, after: State) -> dict[str, Any]:
    """Nothing is told of such a stop but its time; what begins again at once is let go a moment later."""
    return {}


def _set_off(ball: BallOnPlane, state: State, which: Array) -> State:
    """What has vanished begins again at once: slip, or else turning."""
    return jax.lax.cond(
        which == SLIPPING, lambda: _begin_again(ball, state, SLIPPING), lambda: _begin_again(ball, state, TURNING)
    )


def _begin_again(ball: BallOnPlane, state: State, which: int) -> State:
    """The state a moment later, when what has vanished clearly moves again."""
    # Without friction against it, it would begin so.
    free = _speeds(ball, ball.rate(state).v, which)
    slow = NEAR_REST * ball.speed
    way, gain, _ = begin_slip(functools.partial(_gain_with, ball, state, which), free / jnp.maximum(size(free), LEAST))
    moment = jax.lax.stop_gradient(jnp.minimum(CLEARLY * slow / jnp.maximum(size(gain), LEAST), LONGEST_MOMENT))
    rate = ball.rate(state.replace(v=_with_speeds(ball, state.v, which, slow * way)))
    short = jnp.maximum(2 * slow - moment * size(gain), 0.0)  # a speed that does not count
    begun = _with_speeds(ball, state.v, which, short * way)
    q, v, ledger = shift((state.q, begun, state.ledger), (rate.q, rate.v, rate.ledger), moment)
    return State(state.t + moment, q, v, ledger, state.mode)


def _without_spin(state: State) -> State:
    """The state with no turning about the normal."""
    return state.replace(v=state.v.replace(spin=jnp.zeros_like(state.v.spin)))


def _angular_velocity(velocity: BallMotion) -> Float[Array, "3"]:
    """Angular velocity about x, y, z [rad s-1]."""
    return jnp.append(velocity.rolling, velocity.spin)


def _across(vector: Float[Array, "2"]) -> Float[Array, "2"]:
    """A vector in the plane, turned to the left by a right angle."""
    return jnp.stack([-vector[1], vector[0]])


def _sign(mode: Array) -> Scalar:
    """+1 while it spins to the left (positive about z), -1 to the right, 0 otherwise."""
    return (mode == SPIN_LEFT) * 1.0 - (mode == SPIN_RIGHT) * 1.0


def _shifts(law: AbstractSpotLaw) -> tuple[bool, bool]:
    """Whether the pressure may be shifted by sliding, and by rolling; True where the numbers are not known yet."""
    known = [checks.concrete(x) for x in (law.sliding_shift, law.rolling_shift)]
    sliding, rolling = (x is None or bool(x.any()) for x in known)
    return sliding, rolling
