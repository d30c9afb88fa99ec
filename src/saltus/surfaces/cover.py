"""Which type of ground lies where, and what each type has of its own."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.numerics import bspline
from saltus.surfaces.grid import Grid
from saltus.surfaces.relief import take

NAMES = ("mu", "rolling_friction", "restitution")
LEAST = 1024  # entries of the table of types; many lanes at once look up large tables only, so a small one is filled up


class Cover(eqx.Module):
    """Types of ground over the pixels of a terrain.

    At the centre of a pixel the numbers are those of its type; from one centre to the next they change linearly, so
    that a body which crosses from scree to meadow feels no jump within a step.

    >>> pixels = Grid((4, 4), 0.0, 0.0, 1.0, 1.0)
    >>> kinds = np.array([[0, 1, 1, 1]] * 4)
    >>> cover = Cover(pixels, kinds, mu=[0.5, 0.9], rolling_friction=[0.0, 0.1], restitution=[0.4, 0.2])
    >>> [round(float(cover.at(jnp.array([x, 2.0]))["mu"]), 12) for x in (-3.0, 0.0, 0.5, 1.0)]
    [0.5, 0.5, 0.7, 0.9]

    Args:
        grid: The pixels.
        kinds: Number of the type in each pixel, rows going north.
        mu: Friction coefficient of each type [-].
        rolling_friction: Lever of the normal force against turning, of each type [m].
        restitution: Restitution of each type [-].
    """

    kinds: Float[Array, " cells"]
    mu: Float[Array, " types"]
    rolling_friction: Float[Array, " types"]
    restitution: Float[Array, " types"]
    x0: Float[Array, ""]
    y0: Float[Array, ""]
    dx: Float[Array, ""]
    dy: Float[Array, ""]
    shape: tuple[int, int] = eqx.field(static=True)

    def __init__(self, grid: Grid, kinds, mu: Sequence, rolling_friction: Sequence, restitution: Sequence):
        kinds = np.asarray(kinds)
        checks.shaped("kinds", kinds, grid.shape, "Give the number of the type for each pixel.")
        given = {"mu": mu, "rolling_friction": rolling_friction, "restitution": restitution}
        for name, values in given.items():
            for value in values:
                checks.nonnegative(name, value)
        for value in restitution:
            checks.between("restitution", value, 0.0, 1.0)
        if kinds.min() < 0 or kinds.max() >= min(len(values) for values in given.values()):
            raise ValueError(f"`kinds` must be numbers of types, 0 to {len(mu) - 1}, got {kinds.min()}..{kinds.max()}.")
        flat = kinds.ravel().astype(float)
        self.kinds = jnp.asarray(np.pad(flat, (0, max(LEAST - flat.size, 0))))
        self.mu, self.rolling_friction, self.restitution = (
            jnp.stack([jnp.asarray(value, float) for value in values]) for values in given.values()
        )
        self.x0, self.y0, self.dx, self.dy = (jnp.asarray(one, float) for one in (grid.x0, grid.y0, grid.dx, grid.dy))
        self.shape = grid.shape

    def at(self, place: Float[Array, " 2"]) -> dict[str, Array]:
        """Friction coefficient, rolling friction and restitution at x, y."""
        rows, columns = self.shape
        i, s = bspline.cell((place[0] - self.x0) / self.dx, columns - 1)
        j, t = bspline.cell((place[1] - self.y0) / self.dy, rows - 1)
        s, t = jnp.clip(s, 0.0, 1.0), jnp.clip(t, 0.0, 1.0)
        shares = jnp.zeros(self.mu.shape)
        numbers = jnp.arange(self.mu.size, dtype=float)
        for down, weight_y in ((0, 1.0 - t), (1, t)):
            for right, weight_x in ((0, 1.0 - s), (1, s)):
                kind = take(self.kinds, (j + down) * columns + i + right)
                shares = shares + jnp.where(numbers == kind, weight_x * weight_y, 0.0)
        return {name: jnp.sum(shares * getattr(self, name)) for name in NAMES}
