"""Bodies with faces on a wall: a face claps onto it, then lies on it, slides and turns on its spot, and rests.

A smooth body that rocks on a flat part of its surface would do so for ever: its contact point runs over the flat in
next to no time, under a force without bound. There, rigid contact in a point is no model of a body any more. Where a
face is nearer to a wall than a small part of its height it therefore touches with a spot, and
- a contact point that runs into the spot is an impact of the face: of the rate of rocking, the part rho + (1 - rho) e
  is left, with restitution e and Housner's rho = (I + m (h^2 - r^2)) / (I + m (h^2 + r^2)) for a block of half width r;
- a body that has too little energy to leave the spot lies; friction acts on the whole spot.

References:
    Housner 1963, The behavior of inverted pendulum structures during earthquakes.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.numerics.on_host import rotation_matrices
from saltus.shapes.superellipsoid import Superellipsoid
from saltus.systems.bodies.columns import (
    CENTRE,
    CLOCK,
    HEAD,
    LOST,
    MOTION,
    PLACE,
    QUATERNION,
    ROW,
    TURNING,
    VELOCITY,
    rows_in,
    with_unit_quaternions,
)
from saltus.systems.bodies.state import place_of

if TYPE_CHECKING:
    from saltus.systems.bodies.bond import Contacts

FLAT = 3.0  # exponent from which on a superellipsoid has faces
ARM = 2.0 / 3.0  # of the radius of a spot: its moment against turning over its friction force, at even pressure


@dataclasses.dataclass(frozen=True)
class Face:
    """A face of a body near a wall, and what counts as lying on it.

    Args:
        normal: Of the wall, towards the body.
        offset: Of the wall [m].
        height: Of the centre above the wall if the body lies on the face [m].
        sides: Axes of the body along the face.
        reach: How far the spot reaches along them [m].
        kept: Part of the rate of rocking that is left when the face claps onto the wall.
        mass: Of the body [kg].
        inertia: Principal moments, that about the axis of the face last [kg m2].
        load: Component of gravity onto the wall [m s-2].
        pull: Gravity along the wall [m s-2].
        limit: Energy of rocking below which the body lies [J].
    """

    normal: np.ndarray
    offset: float
    height: float
    sides: list[int]
    reach: np.ndarray
    kept: float
    mass: float
    inertia: np.ndarray
    load: float
    pull: np.ndarray
    limit: float

    @staticmethod
    def of(plan, contact: tuple[int, int], q: np.ndarray) -> Face | None:
        """The face with which the body of a contact is turned to a wall, if it can lie on it."""
        system, (wall, member) = plan.system, contact
        shape, part = system.stock.shape, float(system.rocking_limit)
        if wall < system.n or not isinstance(shape, Superellipsoid) or plan.restitution >= 1.0 or part == 0.0:
            return None
        axes, exponents = np.asarray(shape.axes)[member], np.asarray(shape.exponents)[member]
        normal = np.asarray(system.walls.normal)[wall - system.n]
        tip = int(np.argmax(np.abs(rotation_matrices(place_of(q[member]).quaternion).T @ normal)))
        sides = [axis for axis in range(3) if axis != tip]
        load = -float(plan.gravity @ normal)
        pull = plan.gravity + load * normal
        # The force along the wall must not tip the body over the edge of the face.
        steepest = max(plan.mu, float(np.linalg.norm(pull)) / load) if load > 0.0 else np.inf
        if exponents[sides].min() < FLAT or steepest * axes[tip] > axes[sides].min():
            return None
        reach = axes[sides] * np.minimum(exponents[sides] * part, 1.0) ** (1.0 / exponents[sides])
        mass = float(np.asarray(system.stock.mass)[member])
        inertia, height = plan.inertia[member][[*sides, tip]], float(axes[tip])
        block, square = float(inertia[:2].mean()) + mass * height**2, mass * float(reach.prod())
        plastic = max((block - square) / (block + square), 0.0)
        # The body leaves the spot if it can rise by as much as the slope at its border lifts it.
        rise = part * height * float(exponents[sides].min() - 1.0)
        return Face(
            normal=normal,
            offset=float(np.asarray(system.walls.offset)[wall - system.n]),
            height=height,
            sides=sides,
            reach=reach,
            kept=plastic + (1.0 - plastic) * plan.restitution,
            mass=mass,
            inertia=inertia,
            load=load,
            pull=pull,
            limit=mass * load * rise,
        )

    @property
    def spot(self) -> float:
        """Radius of a round spot of the same size [m]."""
        return float(np.sqrt(self.reach.prod()))

    def outside(self, mark: np.ndarray) -> float:
        """How far a contact point, in the frame of the body, is outside of the spot, in units of its reach."""
        return float(np.linalg.norm(mark[self.sides] / self.reach)) - 1.0

    def rocking_energy(self, center: np.ndarray, velocity: np.ndarray, omega: np.ndarray) -> float:
        """Energy of rocking of a body in this place and motion [J]."""
        tilting = omega - self.normal * (self.normal @ omega)
        rises, lifted = float(self.normal @ velocity), float(self.normal @ center) - self.offset - self.height
        turning = float(tilting @ tilting) * (self.mass * self.height**2 + float(self.inertia[:2].max()))
        return 0.5 * (self.mass * rises**2 + turning) + self.mass * self.load * max(lifted, 0.0)

    def clap(self, velocity: np.ndarray, omega: np.ndarray, arm: np.ndarray, sticks: bool):
        """Velocity and angular velocity after the face has clapped onto the wall with its contact point at `arm`."""
        n = self.normal
        spin = n * (n @ omega)
        turned = spin + self.kept * (omega - spin)
        carried = -np.cross(turned, arm)
        along = carried if sticks else velocity
        return along + n * (n @ (carried - along)), turned

    def without_rocking(self, velocity: np.ndarray, omega: np.ndarray, sticks: bool) -> tuple[np.ndarray, np.ndarray]:
        """Velocity and angular velocity without the rocking."""
        n = self.normal
        along = np.zeros(3) if sticks else velocity - n * (n @ velocity)
        return along, n * (n @ omega)


@dataclasses.dataclass(frozen=True)
class LyingBody:
    """A body that lies on a face (`hybrid.members.Band`), sliding and turning or at rest.

    Friction force and moment are those of an elliptic limit surface: with c = 2/3 of the radius of the spot and
    s^2 = v^2 + (c w)^2 they are mu N v / s and mu N c^2 w / s. Slip and turning end together. The tilt with which the
    body has come to lie is kept, so that no gap changes. Variables as those of a `Bond`.

    Args:
        members: The body, by its number in the crowd.
        start: The variables now.
        contacts: As of the `Bond` that it was.
        face: The face.
        mu: Coefficient of friction.
        stop: Speed s below which it rests [m s-1].
        rests: Whether it rests.
        size: Radius of the body [m].
        pace: Rate of the motion [s-1].
        longest: For how long it may be left alone at a time [s].
    """

    members: tuple[int, ...]
    start: np.ndarray
    contacts: Contacts
    face: Face
    mu: float
    stop: float
    rests: bool
    size: float
    pace: float
    longest: float

    @staticmethod
    def of(bond, rests: bool) -> LyingBody:
        """A bond of one body on a face, from now on lying."""
        names = ("members", "start", "contacts", "face", "mu", "stop", "size", "pace", "longest")
        return LyingBody(**{name: getattr(bond, name) for name in names}, rests=rests)

    @property
    def stride(self) -> float:
        """A first step to try."""
        return 1e-2 / self.pace

    @property
    def names(self) -> list[tuple[str, int]]:
        """What each guard tells."""
        return [("rest", 0)] if self._can_rest else []

    @property
    def at_once(self) -> np.ndarray:
        """A body that is slow enough rests at once."""
        return np.ones(len(self.names), bool)

    @property
    def _can_rest(self) -> bool:
        steep = float(np.linalg.norm(self.face.pull)) > self.mu * self.face.load
        return not self.rests and self.mu > 0.0 and not steep

    def rate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rates of the variables, and the guard: the speed above that of rest."""
        (row,), change, face = rows_in(y, 1), np.zeros_like(y), self.face
        change[CLOCK] = 1.0
        if self.rests:
            return change, np.zeros(0)
        velocity, omega, arm = row[VELOCITY], row[TURNING], ARM * face.spot
        speed = float(np.sqrt(velocity @ velocity + arm**2 * (omega @ omega)))
        grip = self.mu * face.load / max(speed, 1e-300)
        change[LOST] = face.mass * self.mu * face.load * speed
        (rate,) = rows_in(change, 1)
        rate[CENTRE] = velocity
        rate[QUATERNION] = 0.5 * turning(omega, row[QUATERNION])
        rate[VELOCITY] = face.pull - grip * velocity
        rate[TURNING] = -grip * face.mass * arm**2 / float(face.inertia[2]) * omega
        return change, np.full(len(self.names), speed - self.stop)

    def clock(self, y: np.ndarray) -> Any:
        """Time since the start [s]."""
        return y[..., CLOCK]

    def tidy(self, y: np.ndarray) -> np.ndarray:
        """With a quaternion of length one."""
        return with_unit_quaternions(y, 1)

    def rows(self, y: np.ndarray, whole: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Place and orientation; velocities and the normal force; energy lost to friction."""
        (row,) = rows_in(y, 1)
        return row[None, PLACE].copy(), np.append(row[MOTION], self.face.mass * self.face.load)[None], y[[LOST]]

    def scales(self, y: np.ndarray) -> np.ndarray:
        """Size of each variable."""
        speed = self.pace * self.size
        row = np.concatenate([np.full(3, self.size), np.ones(4), np.full(3, speed), np.full(3, self.pace)])
        return np.concatenate(
            [[1.0 / self.pace, self.face.mass * speed**2], row, np.full(len(y) - HEAD - ROW, self.size)]
        )

    def onward(self, y: np.ndarray) -> LyingBody:
        """The body from here on."""
        y = y.copy()
        y[:HEAD] = 0.0
        return dataclasses.replace(self, start=y)


def turning(omega: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The quaternion (0, omega) times q; their numbers along the last axis."""
    a, b, c = np.moveaxis(omega, -1, 0)
    w, x, y, z = np.moveaxis(q, -1, 0)
    return np.stack(
        [-a * x - b * y - c * z, a * w + b * z - c * y, b * w + c * x - a * z, c * w + a * y - b * x], axis=-1
    )
