"""A rigid body without place and motion: what it is made of."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.numerics import rotation
from saltus.numerics.directions import spiral
from saltus.programs import brief_program
from saltus.programs.arrays import numbers
from saltus.shapes.alike import alike
from saltus.shapes.base import AbstractShape
from saltus.shapes.limits import check_inertia

DIRECTIONS = 1000  # in which it is looked whether the centre of mass lies within the body


class Solid(eqx.Module):
    """A rigid body: one smooth convex shape or several, mass, centre of mass and inertia.

    Several shapes (a tippe top: two balls) make a body that touches the ground with one of them at a time. All
    vectors are in the frame of the (first) shape, which is the frame of the body's quaternion.

    Args:
        shape: Extent of the body, or a list of shapes of one kind.
        density: Mass per volume of a homogeneous single shape, > 0 [kg m-3].
        mass: Mass, > 0 [kg]; give it or `density`.
        principal_inertia: Principal moments of inertia about the centre of mass, > 0, none larger than the sum of
            the other two [kg m2]; those of the homogeneous single shape if left out.
        principal_axes: Quaternion that turns the shape's axes to the principal axes.
        center_of_mass: In the frame of the shape, within the body (of several shapes, between them) [m].
        centers: Where the centres of several shapes lie [m].
    """

    pieces: AbstractShape
    offsets: Float[Array, "k 3"]
    mass: Array
    inertia: Float[Array, "3 3"]
    n_pieces: int = eqx.field(static=True)

    def __init__(
        self,
        shape: AbstractShape | Sequence[AbstractShape],
        *,
        density=None,
        mass=None,
        principal_inertia=None,
        principal_axes=(1.0, 0.0, 0.0, 0.0),
        center_of_mass=(0.0, 0.0, 0.0),
        centers=None,
    ):
        shapes = [shape] if isinstance(shape, AbstractShape) else list(shape)
        centers = np.zeros((len(shapes), 3)) if centers is None else centers
        checks.shaped("centers", centers, (len(shapes), 3), "Give one centre per shape.")
        checks.finite("centers", centers)
        checks.shaped("center_of_mass", center_of_mass, (3,))
        checks.finite("center_of_mass", center_of_mass)
        checks.shaped("principal_axes", principal_axes, (4,))
        if (density is None) == (mass is None):
            raise ValueError("Give the `mass` of the body or its `density`, one of them.")
        if len(shapes) > 1 and (mass is None or principal_inertia is None):
            raise ValueError("A body of several shapes needs `mass` and `principal_inertia`: its density is not known.")
        checks.positive("density", 1.0 if density is None else density)
        checks.positive("mass", 1.0 if mass is None else mass)
        self.n_pieces = len(shapes)
        self.pieces = alike(shapes)
        self.offsets = _difference(centers, center_of_mass)
        self._check_center(center_of_mass)
        axes = numbers(principal_axes)
        if density is not None or principal_inertia is None:
            amount = numbers(mass if density is None else density)
            self.mass, self.inertia = _homogeneous(shapes[0], amount, density is not None, axes)
        else:
            self.mass = numbers(mass)
        if principal_inertia is not None:
            check_inertia(principal_inertia)
            self.inertia = _turn_tensor(axes, numbers(principal_inertia))

    def _check_center(self, center_of_mass) -> None:
        """Refuse a centre of mass outside of the body; the centre of a single shape need not be looked at."""
        offsets = checks.concrete(self.offsets)
        if self.n_pieces == 1 and offsets is not None and not offsets.any():
            return
        reach = _least_reach(self.pieces, self.offsets)
        checks.note(lambda: reach >= 0.0)
        known = checks.concrete(reach)
        if known is not None and known < 0.0:
            raise ValueError(
                f"`center_of_mass` must lie within the body, got {np.asarray(center_of_mass).tolist()}. Give it in "
                "metres from the centre of the shape."
            )

    def piece(self, index: Array | int) -> tuple[AbstractShape, Array]:
        """One of the shapes, and where its centre lies from the centre of mass."""
        if self.n_pieces == 1:
            index = 0
        return _pick(self.pieces, index), self.offsets[index]

    def radius(self) -> Array:
        """Radius of a ball about the centre of mass that holds the body [m]."""
        return _radius(self)


def _pick(pieces: AbstractShape, index: Array | int) -> AbstractShape:
    """One of several shapes that are stacked."""
    arrays, rest = eqx.partition(pieces, eqx.is_array)
    return eqx.combine(jax.tree.map(lambda leaf: leaf[index], arrays), rest)


@brief_program
def _least_reach(pieces: AbstractShape, offsets: Float[Array, "k 3"]) -> Array:
    """How far the body reaches beyond its centre of mass at least, over many directions [m]; negative from outside."""
    shapes = [_pick(pieces, i) for i in range(len(offsets))]
    even = jnp.asarray(spiral(DIRECTIONS))
    dense = even / shapes[0].proxy_axes()  # towards the faces of flat bodies
    normals = jnp.concatenate([even, dense / jnp.sqrt(jnp.sum(dense**2, axis=1, keepdims=True))])
    reach = [jax.vmap(shape.support)(normals) + normals @ offset for shape, offset in zip(shapes, offsets, strict=True)]
    return jnp.min(jnp.max(jnp.stack(reach), axis=0))


@brief_program
def _radius(solid: Solid) -> Array:
    reach = []
    for i in range(solid.n_pieces):
        shape, offset = solid.piece(i)
        reach.append(shape.radius() + jnp.sqrt(jnp.sum(offset**2)))
    return jnp.max(jnp.stack(reach))


@brief_program
def _homogeneous(
    shape: AbstractShape, amount: Array, is_density: bool, principal_axes: Float[Array, " 4"]
) -> tuple[Array, Float[Array, "3 3"]]:
    """Mass and inertia of a homogeneous body of this mass or density."""
    mass = shape.volume() * amount if is_density else amount
    return mass, _turn_tensor(principal_axes, mass * shape.gyration())


@brief_program
def _turn_tensor(principal_axes: Float[Array, " 4"], moments: Float[Array, " 3"]) -> Float[Array, "3 3"]:
    """The tensor with these principal moments along the axes that a quaternion, of any length, turns to."""
    axes = rotation.matrix(rotation.normalise(principal_axes))
    return (axes * moments) @ axes.T


def _difference(a, b) -> Array:
    """The first less the second, by NumPy where both are known: JAX would compile it."""
    known = checks.concrete(a), checks.concrete(b)
    if known[0] is None or known[1] is None:
        return jnp.asarray(a, float) - jnp.asarray(b, float)
    return numbers(np.asarray(known[0], float) - np.asarray(known[1], float))
