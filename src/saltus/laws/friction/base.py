"""What every friction law of a contact answers: force and moments for a given contact motion.

The contact frame is (e1, e2, n), right-handed, with the normal n pointing into the body on which the
results act. Arrays broadcast: slip (..., 2), spin (...), load (...).
"""

from __future__ import annotations

import abc
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus import checks
from saltus.laws.friction.limit import Number, PointLimit, SpotLimit, Tangent
from saltus.laws.friction.pressure import Pressure, pressure_of
from saltus.laws.friction.spot import Coupling
from saltus.programs.arrays import numbers as number

VANISHING = 2.0**-30  # [m/s]; a slip that tells the friction of a contact that is about to move


def _reach(sliding: Array, rolling: Array) -> Any:
    """How far the pressure is shifted at most; nothing is compiled for known numbers."""
    known = [checks.concrete(shift) for shift in (sliding, rolling)]
    return abs(sliding) + rolling if known[0] is None or known[1] is None else abs(known[0]) + known[1]


def optional_number(value) -> Array | None:
    """Like `number`, but None stays None."""
    return None if value is None else number(value)


class Reaction(eqx.Module):
    """What a contact does to the body on top.

    Args:
        force: Friction force along (e1, e2) [N].
        spin_torque: Moment about the normal, at the centre of the spot [N m].
        rolling_moment: Moment along (e1, e2) from the shifted pressure [N m].
    """

    force: Tangent
    spin_torque: Number
    rolling_moment: Tangent


class AbstractFrictionLaw(eqx.Module):
    """Dry friction of one contact. Numbers are differentiable leaves; a law works under jit and vmap.

    A law answers for its forces in motion (`reaction`) and for what it bears at rest (`capacity`, `limit`,
    `rolling_capacity`); systems ask it and read none of its numbers.
    """

    @abc.abstractmethod
    def reaction(self, slip: Tangent, spin: Number, load: Number, rolling: Tangent | None = None) -> Reaction:
        """Force and moments on the body.

        Args:
            slip: Velocity of the body relative to the support at the centre of the spot [m/s].
            spin: Angular velocity of the body relative to the support about the normal [rad/s].
            load: Normal force [N].
            rolling: Tangential part of the relative angular velocity [rad/s]; zero if left out.
        """

    @abc.abstractmethod
    def radius(self, load: Number) -> Number:
        """Radius of the contact spot under this load [m]; 0 for a point contact."""

    @property
    def proportional(self) -> bool:
        """Whether all forces and moments are proportional to the load, which saves a search for the loads."""
        return False

    def capacity(self, load: Number) -> Number:
        """Largest friction force at rest, without torque [N]: that of vanishing slip, unless a law says otherwise."""
        load = jnp.asarray(load, float)
        slip = jnp.stack([jnp.full_like(load, VANISHING), jnp.zeros_like(load)], -1)
        return -self.reaction(slip, jnp.zeros_like(load), load).force[..., 0]

    def grip(self, speed: Number) -> Number:
        """Friction force per load of a contact that slips at this speed and does not spin [-]."""
        speed = jnp.asarray(speed, float)
        slip = jnp.stack([speed, jnp.zeros_like(speed)], -1)
        return -self.reaction(slip, jnp.zeros_like(speed), jnp.ones_like(speed)).force[..., 0]

    def rolling_capacity(self, load: Number) -> Number:
        """Largest moment against rolling [N m]."""
        return jnp.zeros_like(jnp.asarray(load, float))

    def limit(self, load: Number) -> PointLimit | SpotLimit:
        """What the contact bears at rest under this load: whether a force and a torque are held, and what begins."""
        return PointLimit(self.capacity(load))

    def coefficient(self) -> Number:
        """The friction coefficient, for who sets it [-]; systems ask the law for its forces."""
        mu = getattr(self, "mu", None)
        if mu is None:
            raise AttributeError(
                f"{type(self).__name__} has no coefficient `mu`: ask for its `capacity` and its `grip`."
            )
        return mu

    def with_coefficient(self, mu: Number) -> Self:
        """The law with another friction coefficient, such as that of the ground at a place."""
        return eqx.tree_at(lambda law: law.coefficient(), self, mu)

    def for_masses(self, n: int) -> AbstractFrictionLaw:
        """The law of n masses, each with its own numbers where the law has any that can differ."""
        return self

    def dissipated_power(self, slip: Tangent, spin: Number, load: Number, rolling: Tangent | None = None) -> Number:
        """Power that friction takes from the body, >= 0 [W]."""
        r = self.reaction(slip, spin, load, rolling)
        power = -jnp.sum(r.force * slip, -1) - r.spin_torque * spin
        return power if rolling is None else power - jnp.sum(r.rolling_moment * rolling, -1)


class AbstractSpotLaw(AbstractFrictionLaw):
    """Friction of a round spot with a pressure (1 - r^2/R^2)^(gamma - 2) (1 + k . r/R).

    Subclasses say how slip and spin share the friction (`coupling`); the rest is common:

    - the shift k = `sliding_shift` along the slip + `rolling_shift` along the rolling direction;
    - the rolling moment R/(2 gamma) `rolling_shift` N against the rolling angular velocity (the sliding
      shift has none: its power would not have a sign);
    - the radius, constant or growing with the cube root of the load as Hertz says.

    At rest the law is set-valued and the result is zero; `limit` tells what rest can bear. Approximations are exact
    for pure slip and pure spin, and bear at rest what the exact law does.

    Args:
        mu: Friction coefficient, >= 0 [-].
        spot_radius: Radius of the spot, >= 0 [m]; 0 is a point contact (Coulomb).
        pressure: "hertz", "uniform", "punch" or an exponent gamma > 1.
        sliding_shift: Shift of the pressure along the slip, as a share of the largest possible [-].
        rolling_shift: Shift of the pressure along the rolling direction, 0 to 1 [-]; gives rolling resistance.
        reference_load: If given, the radius grows with the cube root of load / reference_load (Hertz) [N].
    """

    mu: Number = eqx.field(converter=number)
    spot_radius: Number = eqx.field(converter=number)
    pressure: Pressure = eqx.field(converter=pressure_of, default="hertz")
    sliding_shift: Number = eqx.field(converter=number, default=0.0)
    rolling_shift: Number = eqx.field(converter=number, default=0.0)
    reference_load: Number | None = eqx.field(converter=optional_number, default=None)

    def __check_init__(self):
        checks.nonnegative("mu", self.mu)
        checks.nonnegative("spot_radius", self.spot_radius, "It is a length in metres; 0 is a point contact.")
        checks.between("sliding_shift", self.sliding_shift, -1.0, 1.0, "Otherwise the pressure would pull.")
        checks.between("rolling_shift", self.rolling_shift, 0.0, 1.0, "Otherwise the pressure would pull or drive.")
        checks.between(
            "|sliding_shift| + rolling_shift",
            _reach(self.sliding_shift, self.rolling_shift),
            0.0,
            1.0,
            "Otherwise the pressure would pull at the rim of the spot.",
        )
        if self.reference_load is not None:
            checks.positive("reference_load", self.reference_load, "It is the load at which the radius is given.")

    @abc.abstractmethod
    def coupling(self, slip_square: Number, rim_speed: Number) -> Coupling:
        """How slip and spin share the friction, for the squared slip and the signed rim speed."""

    def radius(self, load: Number) -> Number:
        """Radius of the spot [m]: as given, or growing with the cube root of the load."""
        if self.reference_load is None:
            return self.spot_radius * jnp.ones_like(load)
        pressed = load > 0.0
        share = jnp.where(pressed, load, 1.0) / self.reference_load
        return jnp.where(pressed, self.spot_radius * jnp.cbrt(share), 0.0)

    def with_radius(self, radius: Number) -> Self:
        """The law of a spot of another radius [m]."""
        return eqx.tree_at(lambda law: law.spot_radius, self, radius)

    @property
    def proportional(self) -> bool:
        """Whether the spot keeps its radius under any load; a subclass with forces of its own has to say so itself."""
        return self.reference_load is None and type(self).reaction is AbstractSpotLaw.reaction

    def capacity(self, load: Number) -> Number:
        """Largest friction force at rest, without torque: mu times the load [N]."""
        return self.mu * jnp.asarray(load, float)

    def rolling_capacity(self, load: Number) -> Number:
        """Largest moment against rolling: that of the pressure shifted as far as it goes [N m]."""
        load = jnp.asarray(load, float)
        return self.pressure.centre_shift * self.radius(load) * self.rolling_shift * load

    def limit(self, load: Number) -> SpotLimit:
        """What the spot bears at rest under this load; it has the radius with which it slides."""
        load = jnp.asarray(load, float)
        return SpotLimit(self.capacity(load), self.radius(load), self.pressure)

    def reaction(self, slip: Tangent, spin: Number, load: Number, rolling: Tangent | None = None) -> Reaction:
        """Force and moments on the body; see `AbstractFrictionLaw.reaction`."""
        slip, spin, load = jnp.asarray(slip), jnp.asarray(spin), jnp.asarray(load)
        return self.reaction_by(self.share(slip, spin, load), slip, load, rolling)

    def share(self, slip: Tangent, spin: Number, load: Number) -> Coupling:
        """How this slip and spin share the friction."""
        return self.coupling(jnp.sum(slip * slip, -1), spin * self.radius(load))

    def share_with_slope(self, slip: Tangent, spin: Number, load: Number) -> tuple[Coupling, Coupling]:
        """How this slip and spin of one contact share the friction, and the derivative by the squared slip."""
        square, rim_speed = jnp.sum(slip * slip), spin * self.radius(load)
        return jax.jvp(lambda square: self.coupling(square, rim_speed), (square,), (jnp.ones_like(square),))

    def reaction_by(self, share: Coupling, slip: Tangent, load: Number, rolling: Tangent | None = None) -> Reaction:
        """Force and moments for a coupling that is known: plain arithmetic, with the coupling most of the law."""
        shift = self.sliding_shift * direction(slip)
        moment = jnp.zeros_like(slip)
        if rolling is not None:
            turning = direction(jnp.asarray(rolling))
            # The ball rolls towards (angular velocity) x n, and there the pressure grows.
            shift = shift + self.rolling_shift * jnp.stack([turning[..., 1], -turning[..., 0]], -1)
            moment = -self.rolling_capacity(load)[..., None] * turning
        force, torque = self.forces_by(share, slip, load, shift)
        return Reaction(force, torque, moment)

    def slopes_by(
        self, share: Coupling, slope: Coupling, slip: Tangent, load: Number, rolling: Tangent
    ) -> tuple[Float[Array, "2 2"], Float[Array, "2"]]:
        """Derivatives of force and spin torque of one contact by the slip, for a coupling that is known with its slope.

        The coupling hangs on the squared slip: one derivative of it serves for both directions, and the rest is
        arithmetic. As by `jax.jacfwd` of `reaction`, in a program of half the size.
        """
        square = jnp.sum(slip * slip)
        ahead, turning = direction(slip), direction(rolling)
        shift = self.rolling_shift * jnp.stack(
            [turning[1], -turning[0]]
        )  # the one by rolling; that by slip turns with it
        across, by_across = shift[1] * slip[0] - shift[0] * slip[1], jnp.stack([shift[1], -shift[0]])
        along = share.drag + share.skew * across
        by_along = 2.0 * (slope.drag + slope.skew * across) * slip + share.skew * by_across
        whole = self.sliding_shift * ahead + shift
        lifted, sideways = (jnp.stack([-vector[1], vector[0]]) for vector in (whole, slip))
        turn = self.sliding_shift * share.lift * sideways / jnp.where(square > 0.0, square, 1.0)
        by_slip = (
            along * jnp.eye(2)
            + slip[:, None] * by_along
            + 2.0 * slope.lift * lifted[:, None] * slip
            - ahead[:, None] * turn
        )
        twisted = 2.0 * (slope.twist + slope.tilt * across) * slip + share.tilt * by_across
        strength = self.mu * load
        return -strength * by_slip, -strength * self.radius(load) * twisted

    def reaction_with_shift(self, slip: Tangent, spin: Number, load: Number, shift: Tangent) -> tuple[Tangent, Number]:
        """Force and spin torque for a given shift k of the pressure (dimensionless, |k| <= 1)."""
        return self.forces_by(self.share(slip, spin, load), slip, load, shift)

    def forces_by(self, share: Coupling, slip: Tangent, load: Number, shift: Tangent) -> tuple[Tangent, Number]:
        """Force and spin torque for a known coupling and a given shift k of the pressure."""
        # k . (n x v) and n x k, with n x a = (-a2, a1).
        across = shift[..., 1] * slip[..., 0] - shift[..., 0] * slip[..., 1]
        lifted = jnp.stack([-shift[..., 1], shift[..., 0]], -1)
        along = share.drag + share.skew * across
        strength = self.mu * load
        force = -strength[..., None] * (along[..., None] * slip + share.lift[..., None] * lifted)
        return force, -strength * self.radius(load) * (share.twist + share.tilt * across)

    def shift_for_force(self, force: Tangent, spin: Number, load: Number) -> Tangent:
        """Shift k of the pressure with which a spot that spins in place exerts this force; its size may exceed 1."""
        lift = self.coupling(jnp.zeros_like(spin), spin * self.radius(load)).lift
        strength = self.mu * load * lift
        safe = jnp.where(strength == 0.0, 1e-280, strength)[..., None]
        return jnp.stack([-force[..., 1], force[..., 0]], -1) / safe


def direction(vector: Tangent) -> Tangent:
    """Unit vector, and zero for zero; finite derivatives everywhere."""
    square = jnp.sum(vector * vector, -1, keepdims=True)
    moves = square > 1e-280
    return jnp.where(moves, vector / jnp.sqrt(jnp.where(moves, square, 1.0)), 0.0)
