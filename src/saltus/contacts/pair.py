"""Two placed shapes: the function whose maximum over directions is their gap."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.numerics.components import Sym, Turn, Vec, tangent_basis
from saltus.shapes.base import AbstractShape
from saltus.shapes.body import Body


class Pair(eqx.Module):
    """Two shapes with their orientations, and the way from the first centre to the second."""

    shape1: AbstractShape
    shape2: AbstractShape
    turn1: Turn
    turn2: Turn
    offset: Vec

    @staticmethod
    def of(body1: Body, body2: Body) -> Pair:
        """The pair of two bodies where they are."""
        return Pair(body1.shape, body2.shape, body1.turn(), body2.turn(), Vec.of(body2.center - body1.center))

    def size(self) -> Array:
        """Length scale of the pair."""
        return self.shape1.radius() + self.shape2.radius()


class Facing(eqx.Module):
    """Both bodies seen along a common direction: support points and the slab between them.

    Points are relative to the centre of the first body, in the lab. `width` is the signed width
    of the slab between the two supporting planes, a lower bound of the gap.
    """

    n: Vec
    point1: Vec
    point2: Vec
    width: Array


def face(pair: Pair, n: Vec) -> Facing:
    """Support points and slab width for the direction `n`."""
    height1, point1 = pair.shape1.support_pair(pair.turn1.to_body(n))
    height2, point2 = pair.shape2.support_pair(-pair.turn2.to_body(n))
    width = n.dot(pair.offset) - height1 - height2
    return Facing(n, pair.turn1.to_lab(point1), pair.offset + pair.turn2.to_lab(point2), width)


def growth_of(pair: Pair, seen: Facing) -> Array:
    """Merit for a separating direction: how far both bodies can grow before they fill the slab.

    Linear over convex in n, so every local maximum is global, also for overlapping bodies.
    """
    reach = seen.n.dot(pair.offset)
    return jnp.where(reach > 0.0, reach / (reach - seen.width), -jnp.inf)


def best_of(merits: Array, several: Facing) -> Facing:
    """The one of largest merit, of several along a leading axis."""
    merits = jnp.where(jnp.isnan(merits), -jnp.inf, merits)
    chosen = jnp.arange(merits.shape[0]) == jnp.argmax(merits)
    return jax.tree.map(lambda part: jnp.sum(jnp.where(chosen, part, 0.0)), several)


class Plane2(eqx.Module):
    """A symmetric 2 x 2 tensor in the tangent plane."""

    aa: Array
    ab: Array
    bb: Array

    def times(self, u: tuple[Array, Array]) -> tuple[Array, Array]:
        """Product with a tangent vector."""
        return self.aa * u[0] + self.ab * u[1], self.ab * u[0] + self.bb * u[1]


def level_at(shape: AbstractShape, turn: Turn, point: Vec) -> tuple[Array, Vec, Sym]:
    """Level function, unit-free: value over steepness, normal in the lab, bare Hessian in the body."""
    value, gradient, second = shape.level_parts(turn.to_body(point))
    steepness = gradient.norm()
    hessian = Sym(*(entry / steepness for entry in (second.xx, second.xy, second.xz, second.yy, second.yz, second.zz)))
    return value / steepness, turn.to_lab(gradient / steepness), hessian


def in_plane(hessian: Sym, turn: Turn, first: Vec, second: Vec) -> Plane2:
    """Components of a body-frame tensor along two lab vectors."""
    a, b = turn.to_body(first), turn.to_body(second)
    on_a, on_b = hessian @ a, hessian @ b
    return Plane2(a.dot(on_a), a.dot(on_b), b.dot(on_b))


class Step(eqx.Module):
    """Newton's step of the common-normal problem: how both contact points and the normal move.

    `drop` in the code is the turn of a normal as its point, slightly off the surface, moves onto it.
    """

    move1: Vec
    move2: Vec
    normal1: Vec
    turn: Vec


def newton_step(pair: Pair, point1: Vec, point2: Vec, growth: Array | None = None) -> Step:
    """Newton's step for two surface points whose normals are to be opposite and along their line.

    With curvatures A and B in the tangent plane, distance g, mismatch c of the normals and offset r
    along the plane: (A + B + g B A) move1 = B r - c, move2 = move1 + g A move1 - r. No inverse
    curvature appears, so flats do no harm, and nothing is singular at g = 0.

    With a `growth` below infinity the points are to meet (g = 0) once both bodies have grown by that factor.
    """
    value1, normal1, hessian1 = level_at(pair.shape1, pair.turn1, point1)
    value2, normal2, hessian2 = level_at(pair.shape2, pair.turn2, point2 - pair.offset)
    s, t = tangent_basis(normal1)
    a, b = in_plane(hessian1, pair.turn1, s, t), in_plane(hessian2, pair.turn2, s, t)
    drop1 = pair.turn1.to_lab(hessian1 @ pair.turn1.to_body(normal1)) * (-value1)
    drop2 = pair.turn2.to_lab(hessian2 @ pair.turn2.to_body(normal2)) * (-value2)
    apart, mismatch = point2 - point1, normal1 + normal2 + drop1 + drop2
    if growth is not None:
        grown = growth < jnp.inf
        apart = apart + pair.offset * jnp.where(grown, 1.0 / growth - 1.0, 0.0)
    g = normal1.dot(apart)
    if growth is not None:
        g = jnp.where(grown, 0.0, g)
    r = (s.dot(apart), t.dot(apart))
    pull = b.times(r)
    # Turns of the two normals beside those by curvature; the second point follows the first's turn.
    early = (g * s.dot(drop1), g * t.dot(drop1))
    lag = b.times(early)
    right = (pull[0] - lag[0] - s.dot(mismatch), pull[1] - lag[1] - t.dot(mismatch))
    u = _solve_step(a, b, g, right)
    bend = a.times(u)
    w = (u[0] + g * bend[0] + early[0] - r[0], u[1] + g * bend[1] + early[1] - r[1])
    return Step(
        s * u[0] + t * u[1] - normal1 * value1,
        s * w[0] + t * w[1] - normal2 * value2,
        normal1,
        s * (bend[0] + s.dot(drop1)) + t * (bend[1] + t.dot(drop1)),
    )


def follow_contact(pair: Pair, point1: Vec, point2: Vec, steps: int = 3) -> tuple[Vec, Vec, Vec]:
    """Normal and closest points next to two points that are nearly so, by Newton steps."""

    def improve(_, carry):
        _, point1, point2 = carry
        step = newton_step(pair, point1, point2)
        return (step.normal1 + step.turn).unit(), point1 + step.move1, point2 + step.move2

    return jax.lax.fori_loop(0, steps, improve, (point1, point1, point2))


def _solve_step(a: Plane2, b: Plane2, g: Array, right: tuple[Array, Array]) -> tuple[Array, Array]:
    """Solve (A + B + g B A) u = right; in a deep overlap, where that is indefinite, without g."""

    def matrix(g):
        m00 = a.aa + b.aa + g * (b.aa * a.aa + b.ab * a.ab)
        m01 = a.ab + b.ab + g * (b.aa * a.ab + b.ab * a.bb)
        m10 = a.ab + b.ab + g * (b.ab * a.aa + b.bb * a.ab)
        m11 = a.bb + b.bb + g * (b.ab * a.ab + b.bb * a.bb)
        return m00, m01, m10, m11, m00 * m11 - m01 * m10

    full, flat = matrix(g), matrix(jnp.zeros_like(g))
    m00, m01, m10, m11, determinant = (
        jnp.where(full[4] > 0.0, with_g, without) for with_g, without in zip(full, flat, strict=True)
    )
    safe = determinant > 1e-290
    determinant = jnp.where(safe, determinant, 1.0)
    u0 = jnp.where(safe, (m11 * right[0] - m01 * right[1]) / determinant, 0.0)
    u1 = jnp.where(safe, (m00 * right[1] - m10 * right[0]) / determinant, 0.0)
    return u0, u1
