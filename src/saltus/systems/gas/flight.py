"""Free flight in closed form, as rows of numbers that a compiled loop can read and write.

A row holds one body at its own clock: place, velocity, orientation, angular momentum, shape, and what its
flight needs. Two kinds of flight share all columns but the last: bodies of revolution turn about their angular
momentum at a constant rate (one sine and cosine), bodies with three different axes follow a power series of
their quaternion that is good for a limited time.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.numerics.components import Sym, Turn, Vec
from saltus.numerics.rotation import next_terms, product

# Columns of a row.
CLOCK = 0
PLACE, VELOCITY, QUATERNION, MOMENTUM = slice(1, 4), slice(4, 7), slice(7, 11), slice(11, 14)
SQUARES = slice(14, 17)  # of the semi-axes; of an ellipsoid that holds the body, where it is none
FREEDOM = slice(17, 20)  # 1 / principal moments of inertia
LIGHTNESS = 20  # 1 / mass
RADIUS = 21  # of a ball about the body
KIND = 22  # which shape it has, where bodies are not ellipsoids
BEND = 23  # bound of the second derivative of the support function in any fixed direction
SWAY = 24  # bound of its first derivative
DRIFT = 25  # bound of the speed at which the body leaves its place: |v| + SWAY
LASTS = 26  # how long after the clock the flight is known
COMMON = 27


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Pose:
    """Where a body is at one moment: centre, velocity, A with support function sqrt(n . A n), angular velocity.

    The angular velocity is that with which the surface turns: without the spin of a body of revolution about its axis.
    The orientation is known where bodies may have any shape.
    """

    center: Vec
    velocity: Vec
    form: Sym
    omega: Vec
    turn: Turn | None = None

    @property
    def orientation(self) -> Turn:
        """The orientation, where it is known."""
        if self.turn is None:
            raise TypeError("Flights of bodies of revolution know their axes alone; take `SeriesFlight`.")
        return self.turn


def vector(row: Array, columns: slice) -> Vec:
    """Three columns of a row, or of many rows."""
    return Vec(*(row[..., k] for k in range(columns.start, columns.stop)))


@dataclasses.dataclass(frozen=True)
class RoundFlight:
    """Bodies of revolution (and balls): the axis turns about the angular momentum."""

    WIDTH: ClassVar[int] = COMMON + 10
    AXIS: ClassVar[slice] = slice(COMMON, COMMON + 3)  # unit vector of the axis of revolution
    POLE: ClassVar[slice] = slice(COMMON + 3, COMMON + 6)  # unit vector along the angular momentum
    RATE: ClassVar[int] = COMMON + 6  # |angular momentum| / equatorial moment of inertia
    ACROSS: ClassVar[int] = COMMON + 7  # square of the equatorial semi-axis
    ALONG: ClassVar[int] = COMMON + 8  # square of the polar semi-axis less that
    TWIST: ClassVar[int] = COMMON + 9  # rate of the spin about the body's own axis, beside the turning

    def pose(self, row: Array, t: Array, gravity: Vec) -> Pose:
        """The body of a row (or of many) at time `t`."""
        since = t - row[..., CLOCK]
        axis, pole, rate = vector(row, self.AXIS), vector(row, self.POLE), row[..., self.RATE]
        cos, sin = jnp.cos(rate * since), jnp.sin(rate * since)
        axis = axis * cos + pole.cross(axis) * sin + pole * (pole.dot(axis) * (1.0 - cos))
        across, along = row[..., self.ACROSS], row[..., self.ALONG]
        part = axis * along
        form = Sym(
            across + part.x * axis.x,
            part.x * axis.y,
            part.x * axis.z,
            across + part.y * axis.y,
            part.y * axis.z,
            across + part.z * axis.z,
        )
        return Pose(*_carry(row, since, gravity), form, pole * rate)

    def quaternion(self, row: Array, since: Array) -> tuple[Array, ...]:
        """The quaternion a time after the clock: a turn about the body's axis, then one about the pole."""
        symmetry = self._symmetry(row)
        first = _axis_turn(symmetry, row[self.TWIST] * since)
        second = _axis_turn(vector(row, self.POLE), row[self.RATE] * since)
        return _unit(product(product(second, tuple(row[QUATERNION])), first))

    def _symmetry(self, row: Array) -> Vec:
        """The axis of revolution in the body's frame: the one whose square differs from the others."""
        a, b, c = (row[k] for k in range(SQUARES.start, SQUARES.stop))
        x = (b == c).astype(float)
        y = jnp.where(b == c, 0.0, (a == c).astype(float))
        return Vec(x, y, 1.0 - x - y)

    def tilt(self, row: Array, quaternion: Array) -> Array:
        """Angle between the axis of revolution of a row and that of another orientation [rad]."""
        there = Turn.of_quaternion(quaternion).to_lab(self._symmetry(row))
        return 2.0 * jnp.arcsin(jnp.minimum(0.5 * (vector(row, self.AXIS) - there).norm(), 1.0))

    def derived_columns(self, row: Array) -> Array:
        """The columns from BEND on for the place and motion in a row."""
        symmetry = self._symmetry(row)
        axis = Turn.of_quaternion(row[QUATERNION]).to_lab(symmetry)
        squares, freedom = vector(row, SQUARES), vector(row, FREEDOM)
        momentum = vector(row, MOMENTUM)
        along2 = symmetry.dot(squares)
        # Any axis but that of symmetry is equatorial.
        equatorial = Vec(1.0 - symmetry.x, symmetry.x, jnp.zeros_like(symmetry.x))
        across2, free, polar = equatorial.dot(squares), equatorial.dot(freedom), symmetry.dot(freedom)
        size = momentum.norm()
        pole = momentum / jnp.maximum(size, 1e-300)
        rate = size * free
        twist = momentum.dot(axis) * (polar - free)
        smaller = jnp.sqrt(jnp.minimum(along2, across2))
        turns = jnp.abs(along2 - across2) > 0.0
        bend = rate * rate * jnp.abs(along2 - across2) / jnp.where(turns, smaller, 1.0)
        sway = rate * jnp.abs(jnp.sqrt(along2) - jnp.sqrt(across2))
        drift = vector(row, VELOCITY).norm() + sway
        lasts = jnp.full_like(rate, jnp.inf)
        return jnp.stack([bend, sway, drift, lasts, *axis, *pole, rate, across2, along2 - across2, twist])


@dataclasses.dataclass(frozen=True)
class SeriesFlight:
    """Bodies with any axes: a power series of the quaternion."""

    ORDER: ClassVar[int] = 22
    WIDTH: ClassVar[int] = COMMON + 4 * (ORDER + 1)

    def pose(self, row: Array, t: Array, gravity: Vec) -> Pose:
        """The body of a row (or of many) at time `t`."""
        since = t - row[..., CLOCK]
        turn = Turn.of_parts(*self._quaternion(row, since))
        spin = turn.to_body(vector(row, MOMENTUM)).times(vector(row, FREEDOM))
        return Pose(*_carry(row, since, gravity), turn.spread(vector(row, SQUARES)), turn.to_lab(spin), turn)

    def _quaternion(self, row: Array, since: Array) -> tuple[Array, ...]:
        # The four components of a power stand together: a fourth of the operations to compile.
        powers = [row[..., COMMON + 4 * k : COMMON + 4 * k + 4] for k in range(self.ORDER + 1)]
        total, since = powers[-1], since[..., None]
        for power in reversed(powers[:-1]):
            total = total * since + power
        return tuple(total[..., part] for part in range(4))

    def quaternion(self, row: Array, since: Array) -> tuple[Array, ...]:
        """The quaternion a time after the clock."""
        return _unit(self._quaternion(row, since))

    def tilt(self, row: Array, quaternion: Array) -> Array:
        """Angle of the turn between the orientation of a row and another one [rad]."""
        nearness = jnp.abs(jnp.sum(row[QUATERNION] * quaternion))
        return 2.0 * jnp.arccos(jnp.minimum(nearness, 1.0))

    def derived_columns(self, row: Array) -> Array:
        """The columns from BEND on for the place and motion in a row."""
        squares, freedom = vector(row, SQUARES), vector(row, FREEDOM)
        spin = Turn.of_quaternion(row[QUATERNION]).to_body(vector(row, MOMENTUM)).times(freedom)
        freest = jnp.maximum(jnp.maximum(freedom.x, freedom.y), freedom.z)
        moments = Vec(*(1.0 / jnp.where(f > 0.0, f, 1.0) for f in freedom))
        # The angular speed never exceeds what all energy about the freest axis would give.
        fastest2 = spin.dot(spin.times(moments)) * freest
        ratios = Vec(
            (moments.y - moments.z) * freedom.x,
            (moments.z - moments.x) * freedom.y,
            (moments.x - moments.y) * freedom.z,
        )
        wobble = jnp.maximum(jnp.maximum(jnp.abs(ratios.x), jnp.abs(ratios.y)), jnp.abs(ratios.z))
        largest = jnp.maximum(jnp.maximum(squares.x, squares.y), squares.z)
        smallest = jnp.minimum(jnp.minimum(squares.x, squares.y), squares.z)
        small = jnp.sqrt(jnp.where(smallest > 0.0, smallest, 1.0))
        bend = fastest2 * (largest - smallest) / small * (1.125 + wobble / 3.4641)
        sway = jnp.sqrt(fastest2) * (jnp.sqrt(largest) - jnp.sqrt(smallest))
        drift = vector(row, VELOCITY).norm() + sway
        series = _quaternion_series(row[QUATERNION], spin.array(), ratios.array(), self.ORDER)
        return jnp.concatenate([jnp.stack([bend, sway, drift, _reach(series)]), series.T.reshape(-1)])


def _carry(row: Array, since: Array, gravity: Vec) -> tuple[Vec, Vec]:
    """Centre and velocity after a time of fall; walls, which have no lightness, do not fall."""
    velocity = vector(row, VELOCITY)
    gravity = gravity * (row[..., LIGHTNESS] > 0.0)
    center = vector(row, PLACE) + (velocity + gravity * (0.5 * since)) * since
    return center, velocity + gravity * since


def _quaternion_series(q: Array, spin: Array, ratios: Array, order: int) -> Array:
    """Taylor coefficients of the quaternion for Euler's equations (4, order + 1); `spin` in the body's frame."""
    w = jnp.zeros((3, order + 1)).at[:, 0].set(spin)
    p = jnp.zeros((4, order + 1)).at[:, 0].set(q)
    # Columns in reverse, so that a sum over products of coefficients is one sum over two slices.
    back = jnp.zeros((3, 2 * order + 1)).at[:, order].set(spin)

    def one(k, carry):
        w, p, back = carry
        turned = jax.lax.dynamic_slice(back, (0, order - k), (3, order + 1))
        ww = jnp.sum(w[:, None, :] * turned[None, :, :], axis=2)
        pw = jnp.sum(p[:, None, :] * turned[None, :, :], axis=2)
        scale = 1.0 / (k + 1)
        spin, turn = next_terms(ratios * scale, ww, pw)
        w = jax.lax.dynamic_update_slice(w, spin[:, None], (0, k + 1))
        p = jax.lax.dynamic_update_slice(p, (0.5 * scale * turn)[:, None], (0, k + 1))
        back = jax.lax.dynamic_update_slice(back, spin[:, None], (0, order - k - 1))
        return w, p, back

    return jax.lax.fori_loop(0, order, one, (w, p, back))[1]


def _reach(series: Array) -> Array:
    """How far a series is good to rounding: its last three terms decide."""
    order = series.shape[1] - 1
    reaches = []
    for k in (order - 2, order - 1, order):
        size = jnp.sqrt(jnp.sum(series[:, k] ** 2))
        reaches.append(jnp.exp(jnp.log(1e-17 / jnp.maximum(size, 1e-300)) / k))
    return jnp.minimum(jnp.minimum(reaches[0], reaches[1]), reaches[2])


def _axis_turn(axis: Vec, angle: Array):
    sin = jnp.sin(0.5 * angle)
    return jnp.cos(0.5 * angle), axis.x * sin, axis.y * sin, axis.z * sin


def _unit(q):
    scale = 1.0 / jnp.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return tuple(part * scale for part in q)


Flight = RoundFlight | SeriesFlight


def settle_row(flight: Flight, row: Array) -> Array:
    """A row whose common columns have changed, with all that follows from them."""
    return jnp.concatenate([row[:BEND], flight.derived_columns(row)])


def move_row(flight: Flight, row: Array, t: Array, gravity: Vec) -> Array:
    """A row with its clock put forward to `t`; what follows from it is for `settle_row`."""
    since = t - row[CLOCK]
    center, velocity = _carry(row, since, gravity)
    quaternion = flight.quaternion(row, since)
    return jnp.concatenate([jnp.stack([t, *center, *velocity, *quaternion]), row[MOMENTUM.start :]])
