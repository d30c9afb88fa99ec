"""Slabs between two bodies, by NumPy: any direction shows how far two bodies are apart at least.

For superellipsoids with one exponent for all axes, whose support function is a norm. Others are held by one with the
largest of their exponents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ROUNDS = 60  # of Newton's method
HALVINGS = 12  # of a step that leads to a narrower slab


class Hull(NamedTuple):
    """A superellipsoid that holds a body: semi-axes, exponent, and axes of the body in space (columns)."""

    axes: np.ndarray
    exponent: float
    turn: np.ndarray

    def support(self, n: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Support function for a direction, its point, and its second derivatives (all about the centre)."""
        q = self.exponent / (self.exponent - 1.0)
        widths = self.axes * (self.turn.T @ n)
        size = np.maximum(np.abs(widths), 1e-30)
        value = float(np.sum(size**q) ** (1.0 / q))
        point = self.turn @ (self.axes * np.sign(widths) * (size / value) ** (q - 1.0))
        bends = self.axes**2 * (size / value) ** (q - 2.0)
        second = (q - 1.0) / value * ((self.turn * bends) @ self.turn.T - np.outer(point, point))
        return value, point, second


def widest_slab(one: Hull, two: Hull, offset: np.ndarray, enough: float) -> float:
    """Width of a slab between two bodies, the widest that is found or one of width `enough`; negative in an overlap.

    Args:
        one: The first body.
        two: The second.
        offset: From the first centre to the second [m].
        enough: The search ends with a slab of this width [m].
    """
    n = offset / np.linalg.norm(offset)
    width, step = _look(one, two, offset, n)
    for _ in range(ROUNDS):
        if width >= enough:
            break
        for halving in range(HALVINGS):
            tried = n + step * 0.5**halving
            tried = tried / np.linalg.norm(tried)
            found, further = _look(one, two, offset, tried)
            if found > width:
                n, width, step = tried, found, further
                break
        else:
            break
    return width


def _look(one: Hull, two: Hull, offset: np.ndarray, n: np.ndarray) -> tuple[float, np.ndarray]:
    """Width of the slab across a direction, and the step to a direction with a wider one."""
    (h1, x1, b1), (h2, x2, b2) = one.support(n), two.support(n)
    width, apart = float(n @ offset) - h1 - h2, offset - x1 - x2
    # On the sphere of directions: the tangential slope, over the bending of both supports less that of the sphere.
    bend = b1 + b2 + (1.0 - width) * np.outer(n, n) + width * np.eye(3)
    if not np.isfinite(bend).all():
        return width, np.zeros(3)
    return width, np.linalg.lstsq(bend, apart - n * width, rcond=None)[0]
