"""A shape with mass, place and motion."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.numerics import rotation
from saltus.numerics.components import Turn, Vec
from saltus.programs import brief_program, program
from saltus.programs.arrays import numbers, stack_numbers
from saltus.shapes.base import AbstractShape
from saltus.shapes.limits import check_inertia, check_quaternion


class Body(eqx.Module):
    """A rigid body: a shape with mass, principal inertia, place and velocity.

    Give `density` or `mass` for a homogeneous body, or `mass` and `principal_inertia` for any
    other whose centre of mass is the centre of the shape.

    Args:
        shape: Extent of the body.
        density: Mass per volume, > 0 [kg m-3]; 1 if neither it nor `mass` is given.
        mass: Mass, > 0 [kg].
        principal_inertia: Moments of inertia about the shape's axes, > 0, none larger than the
            sum of the other two [kg m2].
        center: Centre of mass [m].
        velocity: Velocity of the centre of mass [m s-1].
        quaternion: Orientation (w, x, y, z), body to lab; normalised here.
        angular_velocity: In the lab frame [rad s-1].
    """

    shape: AbstractShape
    mass: Array
    inertia: Float[Array, " 3"]
    center: Float[Array, " 3"]
    velocity: Float[Array, " 3"]
    quaternion: Float[Array, " 4"]
    angular_velocity: Float[Array, " 3"]

    def __init__(
        self,
        shape: AbstractShape,
        *,
        density=None,
        mass=None,
        principal_inertia=None,
        center=(0.0, 0.0, 0.0),
        velocity=(0.0, 0.0, 0.0),
        quaternion=(1.0, 0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
    ):
        if density is not None and mass is not None:
            raise ValueError("Both `density` and `mass` are given. Give one of them.")
        if principal_inertia is not None and mass is None:
            raise ValueError("`principal_inertia` is given without `mass`. Give both.")
        for name, value, length in (
            ("center", center, 3),
            ("velocity", velocity, 3),
            ("quaternion", quaternion, 4),
            ("angular_velocity", angular_velocity, 3),
        ):
            checks.shaped(name, value, (length,))
            checks.finite(name, value)
        check_quaternion(quaternion)
        checks.positive("density", 1.0 if density is None else density)
        checks.positive("mass", 1.0 if mass is None else mass)
        self.shape = shape
        density = 1.0 if density is None else density
        volume, gyration = measure(shape)
        self.mass = numbers(_product(volume, density) if mass is None else mass)
        if principal_inertia is None:
            self.inertia = numbers(_product(self.mass, gyration))
        else:
            check_inertia(principal_inertia)
            self.inertia = numbers(principal_inertia)
        self.center = numbers(center)
        self.velocity = numbers(velocity)
        self.quaternion = unit(quaternion)
        self.angular_velocity = numbers(angular_velocity)

    def turn(self) -> Turn:
        """Orientation as a matrix of `Vec` columns."""
        return Turn.of_quaternion(self.quaternion)

    def support_pair(self, n: Vec) -> tuple[Array, Vec]:
        """Support function about the centre, and the support point relative to it, in the lab."""
        turn = self.turn()
        value, point = self.shape.support_pair(turn.to_body(n))
        return value, turn.to_lab(point)

    def inverse_inertia(self) -> Float[Array, "3 3"]:
        """Inverse of the inertia tensor in the lab [kg-1 m-2]."""
        matrix = rotation.matrix(self.quaternion)
        return (matrix / self.inertia) @ matrix.T

    def angular_momentum(self) -> Float[Array, " 3"]:
        """Angular momentum about the centre of mass, in the lab [kg m2 s-1]."""
        q = self.quaternion
        return rotation.rotate(q, self.inertia * rotation.rotate_back(q, self.angular_velocity))

    def kinetic_energy(self) -> Array:
        """Energy of translation and rotation [J]."""
        spin = rotation.rotate_back(self.quaternion, self.angular_velocity)
        return 0.5 * (self.mass * jnp.sum(self.velocity**2) + jnp.sum(self.inertia * spin**2))

    def fastest_turn(self) -> Array:
        """Bound of the angular speed for all times of free motion [rad s-1]."""
        spin = rotation.rotate_back(self.quaternion, self.angular_velocity)
        return jnp.sqrt(jnp.sum(self.inertia * spin**2) / jnp.min(self.inertia))

    def after(self, duration: Array | float, gravity: Array | float = 0.0, compact: bool = False) -> Body:
        """The body after free motion for a time of either sign [s]; `compact` is quick to compile."""
        gravity = jnp.broadcast_to(jnp.asarray(gravity, float), (3,))
        return _after(self, jnp.asarray(duration, float), gravity, compact)

    def with_motion(self, center: Array, velocity: Array, quaternion: Array, angular_velocity: Array) -> Body:
        """The same body in another place and motion."""
        places = (center, velocity, quaternion, angular_velocity)
        return eqx.tree_at(lambda b: (b.center, b.velocity, b.quaternion, b.angular_velocity), self, places)

    def with_impulse(self, impulse: Array, arm: Array) -> Body:
        """The body after an impulse at `arm` from its centre."""
        velocity = self.velocity + impulse / self.mass
        omega = self.angular_velocity + self.inverse_inertia() @ jnp.cross(arm, impulse)
        return self.with_motion(self.center, velocity, self.quaternion, omega)

    moved, kicked = with_motion, with_impulse  # their names before, for code of users


@brief_program
def measure(shape: AbstractShape) -> tuple[Array, Array]:
    """Volume and squared radii of gyration."""
    return shape.volume(), shape.gyration()


def _plain(values) -> Array | np.ndarray:
    """Known numbers for NumPy, of which nothing need be compiled; traced ones as they are."""
    known = checks.concrete(values)
    return jnp.asarray(values, float) if known is None else known


def _product(first, second) -> Array | np.ndarray:
    return _plain(first) * _plain(second)


def unit(quaternion) -> Array:
    """A quaternion of length 1 in the direction of the given one."""
    known = checks.concrete(quaternion)
    if known is None:
        return rotation.normalise(jnp.asarray(quaternion, float))
    return numbers(known / np.sqrt((known * known).sum()))


@program
def _after(body: Body, duration: Array, gravity: Array, compact: bool) -> Body:
    q, omega = rotation.free_rotation(body.quaternion, body.angular_velocity, body.inertia, duration, compact)
    center = body.center + duration * body.velocity + 0.5 * duration * duration * gravity
    return body.with_motion(center, body.velocity + duration * gravity, q, omega)


def stack(bodies: Sequence[Body]) -> Body:
    """Bodies of one kind of shape as a batch: every array gets a leading axis for `vmap`."""
    return jax.tree.map(stack_numbers, *bodies)
