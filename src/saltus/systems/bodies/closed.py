"""A closed contact seen from the two points that touch: what the forces there have to make good.

Where both surfaces are flat along the way of the contact point, it runs infinitely fast for an instant: the curvature K
vanishes, and the force grows beyond bounds although its impulse does not. Everything is therefore given times a factor,
kappa = det K / (det K + flatness tr K / size), in which it stays finite; kappa is 1 if `flatness` is zero.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.numerics import rotation
from saltus.numerics.components import Vec, tangent_basis
from saltus.programs import brief_program
from saltus.shapes.body import Body
from saltus.systems.bodies.columns import ARGUMENTS, CENTRE, ROW

ROUND = 1e-10  # curvature that a direction has at least, relative to the other
CUTS = (ROW, 2 * ROW, 2 * ROW + 3)  # between the rows of both partners and the marks on both
SIZES = (8, 16, 32, 64, 128)  # numbers of contacts that are compiled; the least is enough for what a step of one asks


@dataclasses.dataclass(frozen=True)
class ClosedContacts:
    """Closed contacts of two partners each; what is marked (kappa) is given times kappa.

    Contacts run along the first axis, or along the second where the first runs over several places of a band.

    Args:
        normal: Outward normal of the first.
        across: Two unit vectors across the normal.
        gap: Distance along the normal; zero but for errors [m].
        slip: Velocity of the second's material relative to the first's [m s-1].
        kappa: The factor.
        push: Second derivative of the gap without contact forces (kappa) [m s-2].
        drag: Rate of the slip without contact forces (kappa) [m s-2].
        move: Rates at which the contact point moves over either body, in its frame (kappa) [m s-1].
        miss: From the marks to the true contact points, in the frames of the bodies (kappa) [m].
        rocking: How fast the slopes of the two surfaces part [s-1].
        levers: What unit forces on the second body along the normal and across it are to either body: force, torque.
        effects: The accelerations they give.
        spin: Rate of the free spin of either body [rad s-2].
    """

    normal: np.ndarray
    across: np.ndarray
    gap: np.ndarray
    slip: np.ndarray
    kappa: np.ndarray
    push: np.ndarray
    drag: np.ndarray
    move: np.ndarray
    miss: np.ndarray
    rocking: np.ndarray
    levers: np.ndarray
    effects: np.ndarray
    spin: np.ndarray

    @staticmethod
    def of(rows: np.ndarray) -> ClosedContacts:
        """From rows of numbers, as the compiled programs give them."""
        parts = {name: rows[..., one].reshape(*rows.shape[:-1], *shape) for name, (one, shape) in _PLACES.items()}
        return ClosedContacts(**parts)


_SHAPES = {
    "normal": (3,), "across": (2, 3), "gap": (), "slip": (3,), "kappa": (), "push": (), "drag": (3,), "move": (2, 3),
    "miss": (2, 3), "rocking": (), "levers": (2, 3, 6), "effects": (2, 3, 6), "spin": (2, 3),
}  # fmt: skip
_ENDS = np.cumsum([int(np.prod(shape)) for shape in _SHAPES.values()])
WIDTH = int(_ENDS[-1])  # numbers of one contact
_PLACES = {
    name: (slice(int(end - np.prod(shape)), int(end)), shape)
    for (name, shape), end in zip(_SHAPES.items(), _ENDS, strict=True)
}


class _Side(eqx.Module):
    """One side of a contact, at its mark."""

    normal: Array
    curvature: Array
    arm: Array
    height: Array
    velocity: Array
    acceleration: Array
    omega: Array
    spin: Array
    turn: Array
    inverse_mass: Array
    inverse_inertia: Array


def _side(body: Body, mark: Array, gravity: Array) -> _Side:
    """One body as its contact point sees it: shape, motion and inertia there, in the frame of the laboratory."""
    value, gradient, second = body.shape.level_parts(Vec.of(mark))
    steepness = gradient.norm()
    normal = gradient.array() / steepness
    hessian = second.array() / steepness
    tangent = jnp.eye(3) - jnp.outer(normal, normal)
    turn, inverse = rotation.matrix(body.quaternion), body.inverse_inertia()
    arm, omega = turn @ mark, body.angular_velocity
    spin = -inverse @ jnp.cross(omega, body.angular_momentum())
    swept = jnp.cross(omega, arm)
    return _Side(
        normal=turn @ normal,
        curvature=turn @ (tangent @ hessian @ tangent) @ turn.T,
        arm=arm,
        height=value / steepness,
        velocity=body.velocity + swept,
        acceleration=gravity + jnp.cross(spin, arm) + jnp.cross(omega, swept),
        omega=omega,
        spin=spin,
        turn=turn,
        inverse_mass=1.0 / body.mass,
        inverse_inertia=inverse,
    )


def _fixed_side(normal: Array) -> _Side:
    zero, none = jnp.zeros(3), jnp.zeros(())
    return _Side(normal, jnp.zeros((3, 3)), zero, none, zero, zero, zero, zero, jnp.eye(3), none, jnp.zeros((3, 3)))


def _contact_row(one: _Side, two: _Side, apart: Array, normal: Array, flatness: Array) -> Array:
    """A contact as one row of numbers, in the order of `ClosedContacts`.

    `apart` leads from the first's point to the second's; `flatness` is over the size [m-1].
    """
    n, slip = normal, two.velocity - one.velocity
    across = jnp.stack([vector.array() for vector in tangent_basis(Vec.of(n))])
    turning = jnp.cross(one.omega, n)
    push = n @ (two.acceleration - one.acceleration) + 2.0 * turning @ slip + slip @ one.curvature @ slip
    rocking = across @ (jnp.cross(n, two.omega - one.omega) + one.curvature @ slip)
    k1, k2 = across @ one.curvature @ across.T, across @ two.curvature @ across.T
    inverse, kappa = _scaled_inverse(k1 + k2, flatness)
    run = -inverse @ rocking
    aside = across @ apart
    back = inverse @ (k2 @ aside - across @ (one.normal + two.normal))
    over2, along = run @ across, slip - n * (n @ slip)
    drag = kappa * (two.acceleration - one.acceleration)
    drag = drag + jnp.cross(two.omega, over2) - jnp.cross(one.omega, kappa * slip + over2)
    miss1 = back @ across - kappa * one.height * one.normal
    miss2 = (back - kappa * aside) @ across - kappa * two.height * two.normal
    directions = jnp.concatenate([n[None], across])
    levers, effects = zip(_push(one, -directions), _push(two, directions), strict=True)
    parts = {
        "normal": n,
        "across": across,
        "gap": n @ apart,
        "slip": slip,
        "kappa": kappa,
        "push": kappa * push + rocking @ run,
        "drag": drag,
        "move": jnp.stack([one.turn.T @ (kappa * along + over2), two.turn.T @ over2]),
        "miss": jnp.stack([one.turn.T @ miss1, two.turn.T @ miss2]),
        "rocking": jnp.sqrt(jnp.sum(rocking * rocking)),
        "levers": jnp.stack(levers),
        "effects": jnp.stack(effects),
        "spin": jnp.stack([one.spin, two.spin]),
    }
    return jnp.concatenate([parts[name].ravel() for name in _SHAPES])


def _push(side: _Side, directions: Array) -> tuple[Array, Array]:
    """Force and torque of unit forces at the contact, and the accelerations they give."""
    torques = jnp.cross(side.arm, directions)
    levers = jnp.concatenate([directions, torques], axis=1)
    return levers, jnp.concatenate([directions * side.inverse_mass, torques @ side.inverse_inertia], axis=1)


def _scaled_inverse(k: Array, flatness: Array) -> tuple[Array, Array]:
    """The product kappa K^-1, and kappa; without flatness the inverse, zero along directions without curvature."""
    plain, trace = flatness == 0.0, k[0, 0] + k[1, 1]
    least = (k[0, 0] * k[1, 1] - k[0, 1] * k[1, 0]) / jnp.where(trace > 0.0, trace, 1.0)
    # Flat in one direction alone: a contact point that only runs along the other must get on.
    k = k + jnp.where(plain, 0.0, jnp.maximum(ROUND * trace - least, 0.0)) * jnp.eye(2)
    determinant, trace = k[0, 0] * k[1, 1] - k[0, 1] * k[1, 0], k[0, 0] + k[1, 1]
    adjugate = jnp.array([[k[1, 1], -k[0, 1]], [-k[1, 0], k[0, 0]]])
    regular = determinant > 1e-14 * trace**2
    exact = adjugate / jnp.where(regular, determinant, 1.0)
    partial = k / jnp.where(trace > 0.0, trace * trace, 1.0)
    whole = jnp.maximum(determinant, 0.0) + flatness * trace
    safe = jnp.where(whole > 0.0, whole, 1.0)
    inverse = jnp.where(plain, jnp.where(regular, exact, partial), adjugate / safe)
    return inverse, jnp.where(plain, 1.0, jnp.maximum(determinant, 0.0) / safe)


def _place(body: Body, row: Array) -> Body:
    return body.with_motion(*(row[part] for part in ARGUMENTS))


def _of_pair(first: Body, second: Body, rows, gravity, flatness) -> Array:
    row1, row2, mark1, mark2 = jnp.split(rows, CUTS)
    one, two = _side(_place(first, row1), mark1, gravity), _side(_place(second, row2), mark2, gravity)
    apart = row2[CENTRE] + two.arm - row1[CENTRE] - one.arm
    normal = one.normal - two.normal
    return _contact_row(one, two, apart, normal / jnp.sqrt(jnp.sum(normal * normal)), flatness)


def _of_wall(plane, second: Body, rows, gravity, flatness) -> Array:
    _, row2, _, mark2 = jnp.split(rows, CUTS)
    two = _side(_place(second, row2), mark2, gravity)
    normal, offset = plane[:3], plane[3]
    apart = (normal @ (row2[CENTRE] + two.arm) - offset) * normal
    return _contact_row(_fixed_side(normal), two, apart, normal, flatness)


@brief_program
def _of_pairs(first: Body, second: Body, rows: Any, count: Any, gravity: Any, flatness: Any) -> Array:
    return _one_by_one(_of_pair, (first, second, rows), count, gravity, flatness)


@brief_program
def _of_walls(planes: Any, second: Body, rows: Any, count: Any, gravity: Any, flatness: Any) -> Array:
    return _one_by_one(_of_wall, (planes, second, rows), count, gravity, flatness)


def _one_by_one(contact: Callable[..., Array], given: tuple, count: Any, gravity: Any, flatness: Any) -> Array:
    """The first `count` contacts in a loop, which is compiled as one piece: less than half the time of many kernels."""

    def write(k, rows):
        parts = jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, k, keepdims=False), given)
        return rows.at[k].set(contact(*parts, gravity, flatness))

    return jax.lax.fori_loop(0, count, write, jnp.zeros((len(given[-1]), WIDTH)))


def closed_pairs(parts: tuple[Any, Any], rows: np.ndarray, gravity, flatness) -> np.ndarray:
    """Contacts of pairs of bodies.

    Args:
        parts: The bodies, stacked, their number as `fill_rows` has it.
        rows: Both bodies (place, orientation, velocity, spin), then the marks of the contact in both frames.
        gravity: Uniform acceleration [m s-2].
        flatness: Over the size [m-1].
    """
    return _rows_of(_of_pairs, parts, rows, gravity, flatness)


def closed_walls(parts: tuple[Any, Any], rows: np.ndarray, gravity, flatness) -> np.ndarray:
    """Contacts of walls (normal and offset) and bodies; what the rows say of the first body is not read."""
    return _rows_of(_of_walls, parts, rows, gravity, flatness)


def _rows_of(program: Callable[..., Array], parts: tuple, rows: np.ndarray, gravity, flatness) -> np.ndarray:
    count = len(rows)
    found = program(*parts, fill_rows(rows), np.int32(count), np.asarray(gravity), np.float64(flatness))
    return np.asarray(found)[:count]


def fill_rows(rows: np.ndarray) -> np.ndarray:
    """Rows with the last repeated, up to the next number that is compiled."""
    return rows[_places_to_fill(len(rows))]


@functools.lru_cache
def _places_to_fill(count: int) -> np.ndarray:
    size = next((size for size in SIZES if size >= count), count)
    return np.minimum(np.arange(size), count - 1)
