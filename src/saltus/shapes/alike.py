"""Shapes of several kinds as one kind, so that many bodies fit into one array."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

from saltus.programs.arrays import stack_numbers
from saltus.shapes.ball import Ball
from saltus.shapes.base import AbstractShape
from saltus.shapes.ellipsoid import Ellipsoid
from saltus.shapes.superellipsoid import Superellipsoid


def alike(shapes: Sequence[AbstractShape]) -> AbstractShape:
    """The shapes stacked along a leading axis, as the simplest kind that holds them all.

    Balls are ellipsoids, and both are superellipsoids with exponents 2. Shapes given by a
    function can be stacked with shapes of the same function only.
    """
    shapes = list(shapes)
    kinds = {type(shape) for shape in shapes}
    if kinds <= {Ball, Ellipsoid, Superellipsoid}:
        if Superellipsoid in kinds:
            shapes = [_as_superellipsoid(shape) for shape in shapes]
        elif kinds != {Ball}:
            shapes = [Ellipsoid(shape.proxy_axes()) for shape in shapes]
    elif len({jax.tree.structure(shape) for shape in shapes}) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"These shapes cannot move in one system: {names}. Shapes given by a function go with shapes of the "
            "same function only."
        )
    return jax.tree.map(stack_numbers, *shapes)


def _as_superellipsoid(shape: AbstractShape) -> Superellipsoid:
    if isinstance(shape, Superellipsoid):
        return shape
    return Superellipsoid(shape.proxy_axes(), np.full(3, 2.0))
