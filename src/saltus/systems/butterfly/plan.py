"""The inverse job: how to turn the plates so that the ball rolls as wanted."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.hybrid import AbstractSystem, Guard, Parts, Quantity, Rate, State, part
from saltus.programs.arrays import numbers as number
from saltus.shapes.profile import AbstractProfile
from saltus.systems.ball_common import AXES
from saltus.systems.butterfly.in_space import in_space, outline_in_space
from saltus.systems.butterfly.track import demand, track
from saltus.systems.butterfly.turning import AbstractTurning

Scalar = Float[Array, ""]


class PlateAngle(Parts):
    """Angle of the plates [rad]; or its rate."""

    plates: Scalar = part()


class PlateWork(Parts):
    """Work of the plates on the ball since the start [J]."""

    plates: Scalar = part()


class ButterflyPlan(AbstractSystem):
    """The plate motion theta(t) for which a ball rolls along the profile as phi(t) says.

    Rolling without slip leaves one equation of second order for theta, which is run from a given angle and rate.
    The results tell the friction that the motion requires and whether the contact is kept; where it is not, the
    run ends with `left_domain`. Feed the result to `TurningTable` to turn plates by it.

    State: q and v are a `PlateAngle` and its rate, ledger is `PlateWork`.

    Args:
        mass: Mass, > 0 [kg].
        radius: Radius of the ball, > 0 [m].
        half_angle: Angle of the contact normals from the middle plane, in [0, pi/2) [rad].
        profile: Outline of the plates.
        wanted: The wanted angle phi of the contact over time (any `Turning`).
        gravity: [m/s2].
    """

    kind: ClassVar[str] = "butterfly_plan"
    mode_names: ClassVar[tuple[str, ...]] = ("roll",)

    mass: Scalar = eqx.field(converter=number)
    radius: Scalar = eqx.field(converter=number)
    half_angle: Scalar = eqx.field(converter=number)
    profile: AbstractProfile
    wanted: AbstractTurning
    gravity: Scalar = eqx.field(converter=number, default=9.81)

    def __check_init__(self):
        checks.positive("mass", self.mass)
        checks.positive("radius", self.radius)
        checks.positive("gravity", self.gravity)
        checks.between("half_angle", self.half_angle, 0.0, float(np.nextafter(np.pi / 2, 0)), "It is in radians.")
        self.profile.check_ball(self.radius * jnp.cos(self.half_angle))

    def start(self, angle: float = 0.0, rate: float = 0.0) -> State:
        """Plates at this angle [rad], turning at this rate [rad/s]."""
        checks.finite("angle", angle)
        checks.finite("rate", rate)
        return State.of(0.0, PlateAngle(number(angle)), PlateAngle(number(rate)), PlateWork(number(0.0)), 0)

    def _solve(self, state: State):
        """Track, speed along it, plate motion with its acceleration, and what the motion demands."""
        effective = self.radius * jnp.cos(self.half_angle)
        share = 0.4 / jnp.cos(self.half_angle) ** 2
        phi, phi_rate, phi_gain = self.wanted.at(state.t)

        def arc(phi):
            return track(self.profile, phi, effective).arc

        here, stretch = eqx.filter_jvp(arc, (phi,), (jnp.ones_like(phi),))
        place = track(self.profile, phi, effective)
        speed, gain = here * phi_rate, here * phi_gain + stretch * phi_rate**2
        still = demand(place, speed, (state.q.plates, state.v.plates, jnp.zeros_like(phi)), self.gravity)
        turn_gain = (still.pull - (1 + share) * gain) / (place.outward + share * effective)
        plates = state.q.plates, state.v.plates, turn_gain
        return place, speed, gain, plates, demand(place, speed, plates, self.gravity)

    def rate(self, state: State) -> Rate:
        """The plates turn so that the rolling ball follows."""
        place, speed, gain, (_, turn_rate, turn_gain), asked = self._solve(state)
        effective = self.radius * jnp.cos(self.half_angle)
        spin, spin_gain = turn_rate + speed / effective, turn_gain + gain / effective
        along = self.mass * (gain - asked.pull) * (speed + turn_rate * place.outward)
        outward = -self.mass * asked.load * turn_rate * place.along
        work = along + outward + 0.4 * self.mass * self.radius**2 * spin * spin_gain
        return Rate(q=state.v, v=PlateAngle(turn_gain), ledger=PlateWork(work))

    def guards(self) -> tuple[Guard, ...]:
        """The ball lifts off."""
        message = "The wanted motion lifts the ball off the plates at t = {t:.6g} s."
        return (
            Guard("lift_off", lambda s: self._solve(s)[4].load / self.gravity, ends="left_domain", message=message),
        )

    def quantities(self) -> dict[str, Quantity]:
        """Name and meaning of everything that `observe` returns."""
        return {
            "plate_angle": Quantity((), "rad", "angle of the plates"),
            "plate_rate": Quantity((), "rad s-1", "angular velocity of the plates"),
            "plate_acceleration": Quantity((), "rad s-2", "angular acceleration of the plates"),
            "profile_angle": Quantity((), "rad", "wanted angle of the contact on the profile"),
            "outline": Quantity(("outline", "axis"), "m", "edge of the plates, seen from the side"),
            "position": Quantity(("axis",), "m", "position of the centre"),
            "angular_velocity": Quantity(("axis",), "rad s-1", "angular velocity"),
            "contact_position": Quantity(("contact", "axis"), "m", "point of the support at the contact"),
            "normal_force": Quantity((), "N", "normal force of each contact"),
            "required_friction": Quantity((), "1", "friction coefficient that rolling requires"),
            "kinetic_energy": Quantity((), "J", "kinetic energy"),
            "potential_energy": Quantity((), "J", "potential energy"),
            "dissipated_energy": Quantity((), "J", "energy lost to friction"),
            "supplied_energy": Quantity((), "J", "work of the plates on the ball"),
            "mode": Quantity((), "1", "mode"),
        }

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels of the axes."""
        return {"axis": list(AXES), "contact": ["plate y>0", "plate y<0"]}

    def observe(self, state: State) -> dict[str, Array]:
        """The plate motion, and what it asks of the contacts."""
        place, speed, gain, plates, asked = self._solve(state)
        load = 0.5 * self.mass * asked.load / jnp.cos(self.half_angle)
        along = 0.5 * self.mass * (gain - asked.pull)
        tangent, normal = place.outline.tangent, place.outline.normal
        effective = self.radius * jnp.cos(self.half_angle)
        aside = jnp.zeros((2, 3)).at[:, 1].set(jnp.array([1.0, -1.0]) * self.radius * jnp.sin(self.half_angle))
        centre = in_space(place.along * tangent + place.outward * normal, plates[0])
        velocity = (speed + plates[1] * place.outward) ** 2 + (plates[1] * place.along) ** 2
        spin = plates[1] + speed / effective
        kinetic = 0.5 * self.mass * velocity + 0.2 * self.mass * self.radius**2 * spin**2
        return {
            "plate_angle": plates[0],
            "plate_rate": plates[1],
            "plate_acceleration": plates[2],
            "profile_angle": self.wanted.angle(state.t),
            "outline": outline_in_space(self.profile, plates[0]),
            "position": centre,
            "angular_velocity": jnp.stack([jnp.zeros_like(spin), spin, jnp.zeros_like(spin)]),
            "contact_position": centre - effective * in_space(normal, plates[0]) + aside,
            "normal_force": load,
            "required_friction": jnp.where(load > 0.0, jnp.abs(along) / jnp.where(load > 0.0, load, 1.0), jnp.inf),
            "kinetic_energy": kinetic,
            "potential_energy": self.mass * self.gravity * centre[2],
            "dissipated_energy": jnp.zeros_like(kinetic),
            "supplied_energy": state.ledger.plates,
            "mode": state.mode,
        }
