"""Blocks of rock: superellipsoids whose faces bulge."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array

from saltus import checks
from saltus.numerics.components import Vec
from saltus.programs.arrays import numbers
from saltus.shapes.superellipsoid import Superellipsoid


class Block(Superellipsoid):
    """A superellipsoid whose faces bulge a little, so that it curves everywhere and can roll over hollow ground.

    The support function is that of the superellipsoid, h(|a nx|, |b ny|, |c nz|), with every argument u replaced by
    the root of (u^2 + bulge^2 s) / (1 + 3 bulge^2), s being the sum of all u^2: such a root is convex and h grows with
    each of its arguments, so that this is the support function of a convex body too. Exponents of 2 give the ellipsoid
    of these axes. The radii of curvature are at most about a^2/c bulge^(-(p-2)/(p-1)), where those of the
    superellipsoid have no bound. With a bulge of 0.02 the body is larger than the superellipsoid by at most 0.4 per
    cent for exponents of 3, by 0.8 for 4 and by 2.3 for 10.

    For contacts with the ground, which ask for support points only: mass, inertia and level function are those of the
    superellipsoid without its bulge.

    Args:
        axes: Semi-axes (a, b, c), > 0 [m].
        exponents: Exponents (p, q, r), each >= 2; one number stands for all three.
        bulge: Between 0 and 1; 0 for flat faces.
    """

    bulge: Array

    def __init__(self, axes, exponents, bulge=0.02):
        super().__init__(axes, exponents)
        checks.between("bulge", bulge, 0.0, 1.0, "It is a share of the body's size; 0.02 is a usual one.")
        self.bulge = numbers(bulge)

    def support_pair(self, n: Vec) -> tuple[Array, Vec]:
        axes = Vec.of(self.axes)
        across = Vec(*(a * m for a, m in zip(axes, n, strict=True)))
        square = self.bulge * self.bulge
        least, whole = square * across.dot(across), 1.0 + 3.0 * square
        widths = Vec(*(jnp.sqrt((u * u + least) / whole) for u in across))
        slopes = [share / (whole * width) for share, width in zip(self._shares(widths), widths, strict=True)]
        common = square * (slopes[0] + slopes[1] + slopes[2])
        x = Vec(*(a * u * (slope + common) for a, u, slope in zip(axes, across, slopes, strict=True)))
        return n.dot(x), x
