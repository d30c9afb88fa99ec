"""Roots and lowest points of a scalar function inside a bracket, under jit and vmap."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

Scalar = Float[Array, ""]

GOLDEN = 0.3819660112501051
# Which of a, b, c and the last look (3) are the next a, b and c.
UNCHANGED, TURNED, LOWER, ROOT = 0, 1, 2, 6
NEXT = np.array([
    [0, 1, 2],  # nothing was looked at yet
    [0, 3, 0],  # from the lowest point to the root, between the look and the lower end
    [3, 1, 2], [0, 1, 3], [0, 3, 1], [1, 3, 2],  # lowest point: on the left or right of b, higher or lower than it
    [1, 3, 0], [0, 3, 1],  # root: on the other side of zero than b, or on the same
])  # fmt: skip


class Search(eqx.Module):
    """A search under way, with the last look, which is not in the bracket yet.

    While a lowest point is sought, b is the lowest so far, between a and c. While a root is sought, b is the newest
    point, a the other end of the bracket, c the point before.

    A compiler may compute one number several times over, with other roundings each time: where the sign of a value
    is asked for in several places of one program, the answers can differ. So a look is first put down in the loop's
    memory, and only the next turn decides what follows from it: from the one value that was put down.

    Args:
        points: The points a, b and c, and the values there.
        seeking_low: Whether a lowest point is sought.
        look: The last look: point and value.
        looks: How many there were.
    """

    points: Float[Array, "2 3"]
    seeking_low: Bool[Array, ""]
    look: Float[Array, " 2"]
    looks: Int[Array, ""]


class FallingRoot(eqx.Module):
    """Where a function falls through zero between `low` and `high`: a search that is told the values it asks for.

    Chandrupatla's method: inverse quadratic steps where they are safe, bisection elsewhere, so
    that it ends for any continuous function.

    With `dip` the function is positive at both ends; golden-section steps first look for a point
    where it is not, down to the lowest point to rounding level.

    In a loop: `with_look`, then a look at `next_point` if it `goes_on`. The root is the last look at or below zero.

    Args:
        low: Lower end of the bracket.
        high: Upper end.
        value_low: Value at `low`, > 0.
        value_high: Value at `high`; <= 0 unless `dip`.
        resolution: Width of the bracket at which the search stops.
        dip: Whether the function is positive at both ends.
        max_steps: Bound on the looks; bisection alone needs about 60.
    """

    low: Scalar
    high: Scalar
    value_low: Scalar
    value_high: Scalar
    resolution: Scalar
    dip: Bool[Array, ""]
    max_steps: int = eqx.field(static=True, default=120)

    def begin(self) -> Search:
        """The search before its first look."""
        ends = jnp.stack([jnp.stack([self.low, self.high]), jnp.stack([self.value_low, self.value_high])])
        # Seeking the lowest point, b is at first the lower end; seeking the root, b and a are the ends.
        points = jnp.where(self.dip, ends[:, np.array([0, 0, 1])], ends[:, np.array([0, 1, 0])])
        return Search(points, self.dip, ends[:, 0], jnp.asarray(0, int))

    @staticmethod
    def with_look(search: Search) -> Search:
        """The bracket with the last look in it; without a look, as it is."""
        (_, b, c), (_, fb, _), (x, value) = *search.points, search.look
        above, seeking_low = value > 0.0, search.seeking_low
        right, better, same = (x > b) == (c > b), value < fb, above == (fb > 0.0)
        # A point at or below zero ends the search for the lowest one: the root lies between it and a.
        lower = jnp.where(value <= 0.0, TURNED, LOWER + 2 * better + right)
        case = jnp.where(search.looks > 0, jnp.where(seeking_low, lower, ROOT + same), UNCHANGED)
        known = jnp.concatenate([search.points, search.look[:, None]], axis=1)
        points = known[:, jnp.asarray(NEXT)[case]]
        return Search(points, seeking_low & ((search.looks == 0) | above), search.look, search.looks)

    def goes_on(self, search: Search) -> Bool[Array, ""]:
        """Whether another look is wanted."""
        (a, b, c), (fa, fb, _) = search.points
        seeking_low = search.seeking_low
        width = jnp.abs(jnp.where(seeking_low, c, b) - a)
        # The lowest value is right to rounding when the point is right to the root of rounding.
        least = 1e-9 * jnp.abs(self.high - self.low) + self.resolution
        exact = ~seeking_low & (jnp.where(fb > 0.0, fa, fb) == 0.0)
        return (width > jnp.where(seeking_low, least, self.resolution)) & ~exact & (search.looks < self.max_steps)

    def next_point(self, search: Search) -> Scalar:
        """The point at which it wants the function's value."""
        (a, b, c), (fa, fb, fc) = search.points
        larger = jnp.where(jnp.abs(c - b) > jnp.abs(b - a), c, a)  # part of a bracket of the lowest point
        secant = fb / jnp.where(fb == fa, 1.0, fb - fa)
        fraction = jnp.where(search.looks > 0, _next_fraction(a, b, c, fa, fb, fc), secant)
        least = 0.5 * self.resolution / jnp.maximum(jnp.abs(b - a), self.resolution)
        root = b + jnp.clip(fraction, least, 1.0 - least) * (a - b)
        return jnp.where(search.seeking_low, b + GOLDEN * (larger - b), root)

    @staticmethod
    def record_look(search: Search, x: Scalar, value: Scalar) -> Search:
        """The search that has been told a value."""
        return Search(search.points, search.seeking_low, jnp.stack([x, value]), search.looks + 1)


def _next_fraction(a: Scalar, b: Scalar, c: Scalar, fa: Scalar, fb: Scalar, fc: Scalar) -> Scalar:
    """Where to look next between the ends of a bracket of a root: inverse quadratic if safe, else the middle."""
    xi, phi = (b - a) / (c - a), (fb - fa) / (fc - fa)
    curved_little = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
    quadratic = fb / (fa - fb) * fc / (fa - fc) + (c - b) / (a - b) * fb / (fc - fb) * fa / (fc - fa)
    return jnp.where(curved_little & jnp.isfinite(quadratic), quadratic, 0.5)


def bisect(is_below: Callable[[Array], Array], low: Array, high: Array, halvings: int) -> tuple[Array, Array]:
    """Ends of a bracket (or of many) after so many halvings; `is_below` tells whether a point lies below the root."""

    def halve(_, ends):
        low, high = ends
        middle = 0.5 * (low + high)
        below = is_below(middle)
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    return jax.lax.fori_loop(0, halvings, halve, (low, high))
