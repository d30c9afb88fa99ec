"""A closed contact seen from the two points that touch: what the forces there have to make good.

Where both surfaces are flat along the way of the contact point, it runs infinitely fast for an instant: the curvature K
vanishes, and the force grows beyond bounds although its impulse does not. Everything is therefore given times a factor,
kappa = det K / (det K + flatness tr K / size), in which it stays finite; kappa is 1 if `flatness` is zero.
"""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.numerics import rotation
from saltus.numerics.components import Vec, tangent_basis
from saltus.shapes.body import Body

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)  # numbers of contacts that are compiled


class Closed(eqx.Module):
    """A closed contact of two partners; what is marked (kappa) is given times kappa.

    Args:
        normal: Outward normal of the first.
        arm1: From the first centre to the contact [m].
        arm2: From the second centre to the contact [m].
        gap: Distance along the normal; zero but for errors [m].
        slip: Velocity of the second's material relative to the first's [m s-1].
        kappa: The factor.
        push: Second derivative of the gap without contact forces (kappa) [m s-2].
        drag: Rate of the slip without contact forces (kappa) [m s-2].
        move1: Rate at which the contact point moves over the first body, in its frame (kappa) [m s-1].
        move2: The same over the second.
        miss1: From the mark on the first body to the true contact point, in its frame (kappa) [m].
        miss2: The same for the second.
        rocking: How fast the slopes of the two surfaces part [s-1].
    """

    normal: Array
    arm1: Array
    arm2: Array
    gap: Array
    slip: Array
    kappa: Array
    push: Array
    drag: Array
    move1: Array
    move2: Array
    miss1: Array
    miss2: Array
    rocking: Array


class _Side(eqx.Module):
    normal: Array
    curvature: Array
    arm: Array
    height: Array
    velocity: Array
    acceleration: Array
    omega: Array
    turn: Array


def _side(body: Body, mark: Array, gravity: Array) -> _Side:
    value, gradient, second = body.shape.level_parts(Vec.of(mark))
    steepness = gradient.norm()
    normal = gradient.array() / steepness
    rows = [[second.xx, second.xy, second.xz], [second.xy, second.yy, second.yz], [second.xz, second.yz, second.zz]]
    hessian = jnp.stack([jnp.stack(row) for row in rows]) / steepness
    tangent = jnp.eye(3) - jnp.outer(normal, normal)
    turn = rotation.matrix(body.quaternion)
    arm, omega = turn @ mark, body.angular_velocity
    euler = -body.inverse_inertia() @ jnp.cross(omega, body.angular_momentum())
    swept = jnp.cross(omega, arm)
    acceleration = gravity + jnp.cross(euler, arm) + jnp.cross(omega, swept)
    curvature = turn @ (tangent @ hessian @ tangent) @ turn.T
    height = value / steepness
    return _Side(turn @ normal, curvature, arm, height, body.velocity + swept, acceleration, omega, turn)


def _fixed(normal: Array, point: Array) -> _Side:
    zero = jnp.zeros(3)
    return _Side(normal, jnp.zeros((3, 3)), point, jnp.zeros(()), zero, zero, zero, jnp.eye(3))


def _closed(one: _Side, two: _Side, apart: Array, normal: Array, flatness: Array) -> Closed:
    """`apart` leads from the first's point to the second's; `flatness` is over the size [m-1]."""
    n, slip = normal, two.velocity - one.velocity
    basis = jnp.stack([vector.array() for vector in tangent_basis(Vec.of(n))], axis=1)
    turning = jnp.cross(one.omega, n)
    push = n @ (two.acceleration - one.acceleration) + 2.0 * turning @ slip + slip @ one.curvature @ slip
    rocking = basis.T @ (jnp.cross(n, two.omega - one.omega) + one.curvature @ slip)
    k1, k2 = basis.T @ one.curvature @ basis, basis.T @ two.curvature @ basis
    inverse, kappa = _scaled_inverse(k1 + k2, flatness)
    run = -inverse @ rocking
    aside = basis.T @ apart
    back = inverse @ (k2 @ aside - basis.T @ (one.normal + two.normal))
    over2 = basis @ run
    along = slip - n * (n @ slip)
    drag = kappa * (two.acceleration - one.acceleration)
    drag = drag + jnp.cross(two.omega, over2) - jnp.cross(one.omega, kappa * slip + over2)
    return Closed(
        normal=n,
        arm1=one.arm,
        arm2=two.arm,
        gap=n @ apart,
        slip=slip,
        kappa=kappa,
        push=kappa * push + rocking @ run,
        drag=drag,
        move1=one.turn.T @ (kappa * along + over2),
        move2=two.turn.T @ over2,
        miss1=one.turn.T @ (basis @ back - kappa * one.height * one.normal),
        miss2=two.turn.T @ (basis @ (back - kappa * aside) - kappa * two.height * two.normal),
        rocking=jnp.sqrt(jnp.sum(rocking * rocking)),
    )


def _scaled_inverse(k: Array, flatness: Array) -> tuple[Array, Array]:
    """kappa K^-1 and kappa; without flatness the inverse as it is, zero along directions without curvature."""
    determinant, trace = k[0, 0] * k[1, 1] - k[0, 1] * k[1, 0], k[0, 0] + k[1, 1]
    adjugate = jnp.array([[k[1, 1], -k[0, 1]], [-k[1, 0], k[0, 0]]])
    regular = determinant > 1e-14 * trace**2
    exact = adjugate / jnp.where(regular, determinant, 1.0)
    partial = k / jnp.where(trace > 0.0, trace * trace, 1.0)
    whole = jnp.maximum(determinant, 0.0) + flatness * trace
    safe = jnp.where(whole > 0.0, whole, 1.0)
    plain = flatness == 0.0
    inverse = jnp.where(plain, jnp.where(regular, exact, partial), adjugate / safe)
    return inverse, jnp.where(plain, 1.0, jnp.maximum(determinant, 0.0) / safe)


def _placed(body: Body, row: Array) -> Body:
    return body.moved(row[:3], row[7:10], row[3:7], row[10:13])


def _of_pair(first: Body, second: Body, row1, row2, marks, gravity, flatness) -> Closed:
    one, two = (
        _side(_placed(body, row), mark, gravity) for body, row, mark in ((first, row1, marks[0]), (second, row2, marks[1]))
    )
    apart = row2[:3] + two.arm - row1[:3] - one.arm
    normal = one.normal - two.normal
    return _closed(one, two, apart, normal / jnp.sqrt(jnp.sum(normal * normal)), flatness)


def _of_wall(plane, second: Body, row2, mark, gravity, flatness) -> Closed:
    two = _side(_placed(second, row2), mark, gravity)
    point = row2[:3] + two.arm
    apart = (plane[:3] @ point - plane[3]) * plane[:3]
    return _closed(_fixed(plane[:3], point - apart), two, apart, plane[:3], flatness)


_of_pairs = jax.jit(jax.vmap(_of_pair, in_axes=(0, 0, 0, 0, 0, None, None)))
_of_walls = jax.jit(jax.vmap(_of_wall, in_axes=(0, 0, 0, 0, None, None)))


def closed_pairs(first: Body, second: Body, rows1, rows2, marks, gravity, flatness: float) -> Closed:
    """Contacts of pairs of bodies; rows are place, orientation, velocity and spin. Bodies are stacked (`filled`)."""
    return _trimmed(_of_pairs(first, second, *map(filled, (rows1, rows2, marks)), gravity, flatness), len(rows1))


def closed_walls(planes, second: Body, rows2, marks, gravity, flatness: float) -> Closed:
    """Contacts of walls (normal and offset, stacked by `filled`) and bodies."""
    return _trimmed(_of_walls(planes, second, *map(filled, (rows2, marks)), gravity, flatness), len(rows2))


def filled(rows: np.ndarray) -> np.ndarray:
    """Rows with the last repeated, up to the next number that is compiled."""
    return rows[_filling(len(rows))]


@functools.lru_cache
def _filling(count: int) -> np.ndarray:
    size = next((size for size in SIZES if size >= count), count)
    return np.minimum(np.arange(size), count - 1)


def _trimmed(found: Closed, count: int) -> Closed:
    return jax.tree.map(lambda part: np.asarray(part)[:count], found)
