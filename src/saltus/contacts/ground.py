"""Contact of a convex body with the ground z = f(x, y).

The body's point that faces the ground is the one whose outward normal is opposite to the ground's normal right
below (or above) it: there the height over the ground, measured along z, is stationary. That height is zero exactly
where body and ground touch, and unlike the distance it has no focal points high above a valley.

Frame of a contact: tangents e1, e2 and the normal n out of the ground, right-handed. In it the ground bends by S
(n changes by -S dx; positive in a hollow) and the body has the radii of curvature W (its point changes by W dm with
the direction m). The point moves over the ground like (1 - W S)^-1: the contact is a single one while all
eigenvalues of W S are below 1, which says that the body curves more than the ground.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.numerics.components import Vec, tangent_basis
from saltus.shapes.base import AbstractShape
from saltus.surfaces.base import AbstractSurface

NEWTON_STEPS = 2  # at the ground, from a place known to about 1e-8: Newton's method squares that
FROM_AFAR = 2  # more from a place as far away as the body is large
WIDEST = 1e7  # bound of the radii of curvature over the body's size: flats have none


class GroundTouch(eqx.Module):
    """Where a body faces the ground.

    Args:
        place: x, y of the facing points [m].
        height: Height of the body's point over the ground's, along z; negative inside the ground [m].
        point: The body's point [m].
        normal: Unit normal out of the ground.
        tangents: Unit vectors e1, e2 as rows.
        bend: S, curvature of the ground in the frame of the tangents, positive in a hollow [1/m].
        radii: W, radii of curvature of the body in the same frame [m].
    """

    place: Float[Array, " 2"]
    height: Array
    point: Float[Array, " 3"]
    normal: Float[Array, " 3"]
    tangents: Float[Array, "2 3"]
    bend: Float[Array, "2 2"]
    radii: Float[Array, "2 2"]

    @property
    def gap(self) -> Array:
        """Distance of the body's point from the tangent plane of the ground below it [m]; at a plane, the distance."""
        return self.height * self.normal[2]

    @property
    def follow(self) -> Float[Array, "2 2"]:
        """1 - W S: how much the facing point follows."""
        return jnp.eye(2) - self.radii @ self.bend

    @property
    def singleness(self) -> Array:
        """1 less the largest eigenvalue of W S: positive where the body curves more than the ground."""
        product = self.radii @ self.bend
        half = 0.5 * (product[0, 0] + product[1, 1])
        # No question of its sign: a compiler may compute it twice, with other roundings, and get two answers.
        return 1.0 - half - jnp.sqrt(jnp.maximum(half * half - determinant(product), 1e-300))

    def in_space(self, tangential: Float[Array, " 2"]) -> Float[Array, " 3"]:
        """A tangential vector in the lab."""
        return tangential @ self.tangents


class FacingMotion(eqx.Module):
    """How the facing points move.

    Args:
        place_rate: Velocity of the place, x and y [m/s].
        normal_rate: Rate of the ground's normal at the place [1/s].
        arm_rate: Rate of the vector from the body's centre of mass to its facing point [m/s].
    """

    place_rate: Float[Array, " 2"]
    normal_rate: Float[Array, " 3"]
    arm_rate: Float[Array, " 3"]


def determinant(m: Float[Array, "2 2"]) -> Array:
    """Determinant of a 2 x 2 matrix."""
    return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]


def solve_pair(m: Float[Array, "2 2"], b: Float[Array, " 2"]) -> Float[Array, " 2"]:
    """Solution of a 2 x 2 system."""
    return jnp.stack([m[1, 1] * b[0] - m[0, 1] * b[1], m[0, 0] * b[1] - m[1, 0] * b[0]]) / determinant(m)


def ground_touch(
    surface: AbstractSurface, shape: AbstractShape, center: Array, turn: Float[Array, "3 3"], place: Array,
    newton_steps: int = NEWTON_STEPS, afar: Array | bool = False,
) -> GroundTouch:  # fmt: skip
    """The facing points, by Newton's method from a place nearby; on a plane from anywhere.

    Args:
        surface: The ground.
        shape: The body's shape.
        center: Centre of the shape [m].
        turn: Rotation matrix, shape to lab.
        place: x, y near which to look [m].
        newton_steps: Steps of Newton's method.
        afar: Whether the place is only about as near as the body is large, so that more steps are needed.
    """
    if surface.flat:
        touch = _faced(surface, shape, center, turn, place)
        return eqx.tree_at(lambda t: t.place, touch, touch.place + _newton(touch))

    more = 0 if afar is False else FROM_AFAR

    def improve(i, carry):
        touch = _faced(surface, shape, center, turn, carry[0])
        way = _newton(touch)
        return touch.place + (jnp.where(afar | (i >= more), way, 0.0) if more else way), touch

    # As a loop it stands once in the program.
    shapes = jax.eval_shape(lambda p: _faced(surface, shape, center, turn, p), place)
    nothing = jax.tree.map(lambda part: jnp.zeros(part.shape, part.dtype), shapes)
    return jax.lax.fori_loop(0, newton_steps + more, improve, (place, nothing))[1]


def _newton(touch: GroundTouch) -> Float[Array, " 2"]:
    """The way in x and y to where the points face each other."""
    over = touch.point - jnp.append(touch.place, touch.point[2] - touch.height)
    aside = touch.tangents @ over - over_vertical(touch, over)
    return (solve_pair(touch.follow, aside) @ touch.tangents)[:2]


def over_vertical(touch: GroundTouch, over: Array) -> Float[Array, " 2"]:
    """Tangential part of the vertical vector that has the same normal part as `over`."""
    return (touch.normal @ over) / touch.normal[2] * touch.tangents[:, 2]


def _faced(surface: AbstractSurface, shape: AbstractShape, center: Array, turn: Array, place: Array) -> GroundTouch:
    x, y = place[0], place[1]
    fx, fy = surface.gradient(x, y)
    upward = jax.lax.rsqrt(1.0 + fx * fx + fy * fy)
    normal = jnp.stack([-fx * upward, -fy * upward, upward])
    tangents = jnp.stack([one.array() for one in tangent_basis(Vec.of(normal))])

    def support(direction):
        return shape.supported(Vec.of(direction))[1].array()

    inward = -(normal @ turn)
    arm, push = jax.linearize(support, inward)
    radii = tangents @ turn @ jax.vmap(push)(tangents @ turn).T
    radii = _bound_radii(0.5 * (radii + radii.T), shape)
    point = center + turn @ arm
    if surface.flat:
        bend = jnp.zeros((2, 2))
    else:
        fxx, fxy, fyy = surface.curvature(x, y)
        second = jnp.stack([jnp.stack([fxx, fxy]), jnp.stack([fxy, fyy])])
        bend = upward * (tangents[:, :2] @ second @ tangents[:, :2].T)
    # Along the normal first: so the height is right to second order in the error of the place.
    over = point - jnp.stack([x, y, surface.height(x, y)])
    return GroundTouch(place, normal @ over / upward, point, normal, tangents, bend, radii)


def _bound_radii(radii: Array, shape: AbstractShape) -> Array:
    """Radii of curvature kept finite where the body is flat."""
    most = WIDEST * shape.radius()
    return jnp.clip(jnp.nan_to_num(radii, nan=most, posinf=most, neginf=-most), -most, most)


def facing_motion(touch: GroundTouch, arm: Array, velocity: Array, angular_velocity: Array) -> FacingMotion:
    """How the facing points move with the body.

    Args:
        touch: Where they are.
        arm: From the centre of mass to the body's facing point [m].
        velocity: Of the centre of mass [m/s].
        angular_velocity: In the lab [rad/s].
    """
    drift = velocity + jnp.cross(angular_velocity, arm)
    tilt = touch.tangents @ jnp.cross(angular_velocity, touch.normal)
    aside = touch.tangents @ drift - over_vertical(touch, drift)
    along = solve_pair(touch.follow, aside + touch.radii @ tilt)
    turned = touch.bend @ along
    return FacingMotion(
        place_rate=touch.in_space(along)[:2],
        normal_rate=-touch.in_space(turned),
        arm_rate=jnp.cross(angular_velocity, arm) + touch.in_space(touch.radii @ (turned + tilt)),
    )
