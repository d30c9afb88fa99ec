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

from saltus.numerics.components import Sym2, Turn, Vec, tangent_basis
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
        tangents: Unit vectors e1, e2.
        bend: S, curvature of the ground in the frame of the tangents, positive in a hollow [1/m].
        radii: W, radii of curvature of the body in the same frame [m].
    """

    place: Float[Array, " 2"]
    height: Array
    point: Vec
    normal: Vec
    tangents: tuple[Vec, Vec]
    bend: Sym2
    radii: Sym2

    @property
    def gap(self) -> Array:
        """Distance of the body's point from the tangent plane of the ground below it [m]; at a plane, the distance."""
        return self.height * self.normal.z

    def follow(self, aside: tuple[Array, Array]) -> tuple[Array, Array]:
        """The solution of (1 - W S) x = `aside`: how much the facing point follows."""
        (a, b, c, d), determinant = self._follow(), self.follow_determinant
        return (d * aside[0] - b * aside[1]) / determinant, (a * aside[1] - c * aside[0]) / determinant

    def _follow(self) -> tuple[Array, Array, Array, Array]:
        """1 - W S, row by row."""
        w, s = self.radii, self.bend
        return (
            1.0 - w.xx * s.xx - w.xy * s.xy,
            -w.xx * s.xy - w.xy * s.yy,
            -w.xy * s.xx - w.yy * s.xy,
            1.0 - w.xy * s.xy - w.yy * s.yy,
        )

    @property
    def follow_determinant(self) -> Array:
        """Determinant of 1 - W S."""
        a, b, c, d = self._follow()
        return a * d - b * c

    @property
    def singleness(self) -> Array:
        """1 less the largest eigenvalue of W S: positive where the body curves more than the ground."""
        a, _, _, d = self._follow()
        half = 0.5 * ((1.0 - a) + (1.0 - d))
        product = self.radii.determinant() * self.bend.determinant()
        # No question of its sign: a compiler may compute it twice, with other roundings, and get two answers.
        return 1.0 - half - jnp.sqrt(jnp.maximum(half * half - product, 1e-300))

    def in_space(self, along: Array | tuple[Array, Array]) -> Vec:
        """A tangential vector in the lab."""
        return self.tangents[0] * along[0] + self.tangents[1] * along[1]

    def tangential(self, vector: Vec) -> tuple[Array, Array]:
        """The parts of a vector along the tangents."""
        return self.tangents[0].dot(vector), self.tangents[1].dot(vector)


class FacingMotion(eqx.Module):
    """How the facing points move.

    Args:
        place_rate: Velocity of the place, x and y [m/s].
        normal_rate: Rate of the ground's normal at the place [1/s].
        arm_rate: Rate of the vector from the body's centre of mass to its facing point [m/s].
    """

    place_rate: Float[Array, " 2"]
    normal_rate: Vec
    arm_rate: Vec


def ground_touch(
    surface: AbstractSurface, shape: AbstractShape, center: Vec, turn: Turn, place: Array,
    newton_steps: int = NEWTON_STEPS, afar: Array | bool = False,
) -> GroundTouch:  # fmt: skip
    """The facing points, by Newton's method from a place nearby; on a plane from anywhere.

    Args:
        surface: The ground.
        shape: The body's shape.
        center: Centre of the shape [m].
        turn: Rotation, shape to lab.
        place: x, y near which to look [m].
        newton_steps: Steps of Newton's method.
        afar: Whether the place is only about as near as the body is large, so that more steps are needed.
    """
    if surface.flat:
        touch = _touch_at(surface, shape, center, turn, place)
        return eqx.tree_at(lambda t: t.place, touch, touch.place + _newton(touch))

    more = 0 if afar is False else FROM_AFAR

    def improve(carry):
        touch = _touch_at(surface, shape, center, turn, carry[0])
        return touch.place + _newton(touch), touch

    def improve_if_needed(i, carry):
        return jax.lax.cond(afar | (i >= more), improve, lambda carry: carry, carry) if more else improve(carry)

    # As a loop it stands once in the program; of a fixed length, so that derivatives of any kind go through.
    shapes = jax.eval_shape(lambda p: _touch_at(surface, shape, center, turn, p), place)
    nothing = jax.tree.map(jnp.zeros_like, shapes)
    return jax.lax.fori_loop(0, newton_steps + more, improve_if_needed, (place, nothing))[1]


def _newton(touch: GroundTouch) -> Float[Array, " 2"]:
    """The way in x and y to where the points face each other."""
    x, y = touch.place[0], touch.place[1]
    way = touch.in_space(touch.follow(_aside(touch, Vec(touch.point.x - x, touch.point.y - y, touch.height))))
    return jnp.stack([way.x, way.y])


def _aside(touch: GroundTouch, over: Vec) -> tuple[Array, Array]:
    """Tangential part of a vector, less that of the vertical one with the same normal part."""
    e1, e2 = touch.tangents
    vertical = touch.normal.dot(over) / touch.normal.z
    return e1.dot(over) - vertical * e1.z, e2.dot(over) - vertical * e2.z


def _touch_at(surface: AbstractSurface, shape: AbstractShape, center: Vec, turn: Turn, place: Array) -> GroundTouch:
    x, y = place[0], place[1]
    ground = surface.local(x, y)
    normal = Vec(*ground.unit_normal)
    e1, e2 = tangent_basis(normal)
    own = turn.to_body(e1), turn.to_body(e2)
    arm, bulge = _bulge(shape, -turn.to_body(normal), own)
    both = 0.5 * (own[0].dot(bulge[1]) + own[1].dot(bulge[0]))
    radii = _bound_radii(Sym2(own[0].dot(bulge[0]), both, own[1].dot(bulge[1])), shape)
    point = center + turn.to_lab(arm)
    if surface.flat:
        bend = Sym2(*[jnp.zeros_like(normal.z)] * 3)
    else:
        fxx, fxy, fyy = ground.curvature

        def bending(a: Vec, b: Vec) -> Array:
            return normal.z * (a.x * (fxx * b.x + fxy * b.y) + a.y * (fxy * b.x + fyy * b.y))

        bend = Sym2(bending(e1, e1), bending(e1, e2), bending(e2, e2))
    # Along the normal first: so the height is right to second order in the error of the place.
    over = point - Vec(x, y, ground.height)
    return GroundTouch(place, normal.dot(over) / normal.z, point, normal, (e1, e2), bend, radii)


def _bulge(shape: AbstractShape, inward: Vec, tangents: tuple[Vec, Vec]) -> tuple[Vec, list[Vec]]:
    """The support point of a direction, and how it moves as the direction turns along two tangents; in its frame."""

    def support(direction: Vec) -> Vec:
        return shape.support_pair(direction)[1]

    arm, push = jax.linearize(support, inward)
    return arm, [push(tangent) for tangent in tangents]


def _bound_radii(radii: Sym2, shape: AbstractShape) -> Sym2:
    """Radii of curvature kept finite where the body is flat."""
    most = WIDEST * shape.radius()
    return jax.tree.map(
        lambda part: jnp.clip(jnp.nan_to_num(part, nan=most, posinf=most, neginf=-most), -most, most), radii
    )


def facing_motion(touch: GroundTouch, arm: Vec, velocity: Vec, angular_velocity: Vec) -> FacingMotion:
    """How the facing points move with the body.

    Args:
        touch: Where they are.
        arm: From the centre of mass to the body's facing point [m].
        velocity: Of the centre of mass [m/s].
        angular_velocity: In the lab [rad/s].
    """
    carried = angular_velocity.cross(arm)
    tilt = touch.tangential(angular_velocity.cross(touch.normal))
    aside, rolled = _aside(touch, velocity + carried), touch.radii @ tilt
    along = touch.follow((aside[0] + rolled[0], aside[1] + rolled[1]))
    turned = touch.bend @ along
    way = touch.in_space(along)
    return FacingMotion(
        place_rate=jnp.stack([way.x, way.y]),
        normal_rate=-touch.in_space(turned),
        arm_rate=carried + touch.in_space(touch.radii @ (turned[0] + tilt[0], turned[1] + tilt[1])),
    )
