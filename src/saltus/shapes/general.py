"""What shapes given by a function share: mass properties, frame and bounds, all by sampling."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus.numerics.components import Vec
from saltus.shapes.base import AbstractShape

# Directions of the quadrature: 2 x 48^2 give 1e-10 and better for bodies that are smooth and not thin.
DIRECTIONS = 48


@dataclasses.dataclass(frozen=True)
class Frame:
    """Where the principal axes of a body lie in the coordinates of its function."""

    volume: float
    centre: np.ndarray
    axes: np.ndarray  # columns: principal axes
    second_moments: np.ndarray


def principal_frame(volume: float, first: np.ndarray, second: np.ndarray) -> Frame:
    """Frame from the integrals of 1, x and x x^T over the body.

    The principal axes are numbered so that they turn the coordinates as little as possible.
    """
    centre = first / volume
    spread = second / volume - np.outer(centre, centre)
    values, vectors = np.linalg.eigh(spread)
    if np.abs(spread - np.diag(np.diag(spread))).max() < 1e-9 * np.trace(spread):
        return Frame(volume, centre, np.eye(3), np.diag(spread).copy())
    order, free = [], [0, 1, 2]
    for row in range(3):
        order.append(max(free, key=lambda column: abs(vectors[row, column])))
        free.remove(order[-1])
    axes = vectors[:, order] * np.sign(np.diag(vectors[:, order]))
    if np.linalg.det(axes) < 0.0:
        axes[:, 2] = -axes[:, 2]
    return Frame(volume, centre, axes, values[order])


def smooth_excess(reach: Vec, radius: Array, widest: Array) -> Array:
    """Bound of the support function's excess for a body whose radii of curvature are <= `widest`.

    The chord between two unit vectors at most 1 apart keeps 0.86 away from the origin; for more
    distant ones the diameter bounds the excess. Both parts are convex, so their maximum is.
    """
    distance = reach.norm()
    near = jnp.where(jnp.isfinite(widest), 0.58 * widest, 0.0) * distance * distance
    far = jnp.where(jnp.isfinite(widest), 4.0 * radius * (distance - 0.5), 2.0 * radius * distance)
    return jnp.maximum(near, far)


def widest_radius(curvature_radii: np.ndarray, size: float) -> float:
    """Sampled bound of the radii of curvature, with a margin; infinite where the body is nearly flat."""
    largest = float(np.max(curvature_radii))
    return 1.25 * largest if np.isfinite(largest) and largest < 200.0 * size else float("inf")


class AbstractSampledShape(AbstractShape):
    """A shape whose mass properties and bounds were sampled when it was made."""

    properties: eqx.AbstractVar[Float[Array, " 4"]]  # volume, second moments
    bounds: eqx.AbstractVar[Float[Array, " 2"]]  # radius, widest radius of curvature

    def support_excess(self, n: Vec, x: Vec, reach: Vec) -> Array:
        return smooth_excess(reach, self.bounds[0], self.bounds[1])

    def volume(self) -> Array:
        return self.properties[0]

    def second_moments(self) -> Array:
        return self.properties[1:]

    def radius(self) -> Array:
        return self.bounds[0]

    def proxy_axes(self) -> Array:
        return jnp.sqrt(5.0 * self.properties[1:])
