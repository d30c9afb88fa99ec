"""Roots and lowest points of a scalar function inside a bracket, under jit and vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Scalar = Float[Array, ""]

GOLDEN = 0.3819660112501051


class Bracket(eqx.Module):
    """Three points of a search, each with the function's value and what came with it.

    While a lowest point is sought, `b` is the lowest so far, between `a` and `c`. While a root is
    sought, `b` is the newest point, `a` the other end of the bracket, `c` the point before.
    """

    a: Scalar
    b: Scalar
    c: Scalar
    fa: Scalar
    fb: Scalar
    fc: Scalar
    extra_a: Any
    extra_b: Any


class Search(eqx.Module):
    """A search under way, with the last look (point, value, what came with it), which is not in the bracket yet.

    A compiler may compute one number several times over, with other roundings each time: where the sign of a value
    is asked for in several places of one program, the answers can differ. So a look is first put down in the loop's
    memory, and only the next turn decides what follows from it: from the one value that was put down.
    """

    points: Bracket
    seeking_low: Bool[Array, ""]
    fraction: Scalar
    look: tuple[Scalar, Scalar, Any]
    looks: Int[Array, ""]


class FallingRoot(eqx.Module):
    """Where a function falls through zero between `low` and `high`: a search that is told the values it asks for.

    For loops that look at a function for other reasons too, so that the function stands once in the program; else
    `falling_root`, which also tells what the arguments mean.
    """

    low: Scalar
    high: Scalar
    value_low: Scalar
    value_high: Scalar
    with_high: Any
    resolution: Scalar
    dip: Bool[Array, ""]
    max_steps: int = eqx.field(static=True, default=120)

    @property
    def _secant(self) -> Scalar:
        low, high = self.value_low, self.value_high
        return high / jnp.where(high == low, 1.0, high - low)

    def begin(self) -> Search:
        """The search before its first look."""
        # Seeking the lowest point, b is at first the lower end; seeking the root, b and a are the ends.
        points = Bracket(
            a=self.low,
            b=jnp.where(self.dip, self.low, self.high),
            c=jnp.where(self.dip, self.high, self.low),
            fa=self.value_low,
            fb=jnp.where(self.dip, self.value_low, self.value_high),
            fc=jnp.where(self.dip, self.value_high, self.value_low),
            extra_a=self.with_high,
            extra_b=self.with_high,
        )
        nothing = (self.low, self.value_low, self.with_high)
        return Search(points, self.dip, self._secant, nothing, jnp.asarray(0, int))

    def _with_look(self, search: Search) -> Search:
        """The bracket with the last look, and where to look next; without a look, as it is."""
        points, seeking_low, (x, value, extra) = search.points, search.seeking_low, search.look
        lower, higher = _narrow_low(points, x, value, extra), _narrow_root(points, x, value, extra)
        # A point at or below zero ends the search for the lowest one: the root lies between it and a.
        lower = jax.tree.map(lambda p, q: jnp.where(value <= 0.0, p, q), _turn_to_root(points, x, value, extra), lower)
        moved = jax.tree.map(lambda p, q: jnp.where(seeking_low, p, q), lower, higher)
        points = jax.tree.map(lambda p, q: jnp.where(search.looks > 0, p, q), moved, points)
        seeking_low = seeking_low & ((search.looks == 0) | (value > 0.0))
        fraction = jnp.where(search.looks > 0, _next_fraction(points), self._secant)
        return Search(points, seeking_low, fraction, search.look, search.looks)

    def goes_on(self, search: Search) -> Bool[Array, ""]:
        """Whether another look is wanted."""
        search = self._with_look(search)
        points, seeking_low = search.points, search.seeking_low
        width = jnp.where(seeking_low, jnp.abs(points.c - points.a), jnp.abs(points.b - points.a))
        # The lowest value is right to rounding when the point is right to the root of rounding.
        least = 1e-9 * jnp.abs(self.high - self.low) + self.resolution
        exact = ~seeking_low & (jnp.where(points.fb > 0.0, points.fa, points.fb) == 0.0)
        return (width > jnp.where(seeking_low, least, self.resolution)) & ~exact & (search.looks < self.max_steps)

    def next_look(self, search: Search) -> tuple[Search, Scalar]:
        """The search, and the point at which it wants the function's value."""
        search = self._with_look(search)
        lowest, root = _golden_point(search.points), _root_point(search.points, search.fraction, self.resolution)
        return search, jnp.where(search.seeking_low, lowest, root)

    @staticmethod
    def looked(search: Search, x: Scalar, value: Scalar, extra: Any) -> Search:
        """The search that has been told a value, and what came with it."""
        return Search(search.points, search.seeking_low, search.fraction, (x, value, extra), search.looks + 1)

    def answer(self, search: Search) -> tuple[Scalar, Any, Bool[Array, ""]]:
        """The point, what came with the value there, and whether the function is zero or negative anywhere."""
        end = self._with_look(search)
        points, seeking_low = end.points, end.seeking_low
        take_a = ~seeking_low & (points.fb > 0.0)
        extra = jax.tree.map(lambda p, q: jnp.where(take_a, p, q), points.extra_a, points.extra_b)
        return jnp.where(take_a, points.a, points.b), extra, ~seeking_low


def bisect(is_below: Callable[[Array], Array], low: Array, high: Array, halvings: int) -> tuple[Array, Array]:
    """Ends of a bracket (or of many) after so many halvings; `is_below` tells whether a point lies below the root."""

    def halve(_, ends):
        low, high = ends
        middle = 0.5 * (low + high)
        below = is_below(middle)
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    return jax.lax.fori_loop(0, halvings, halve, (low, high))


def falling_root(
    function: Callable[[Scalar], tuple[Scalar, Any]],
    low: Scalar,
    high: Scalar,
    value_low: Scalar,
    value_high: Scalar,
    with_high: Any,
    resolution: Scalar,
    dip: Bool[Array, ""] | bool = False,
    max_steps: int = 120,
) -> tuple[Scalar, Any, Bool[Array, ""]]:
    """Where `function` falls through zero between `low` and `high`, and what `function` gives beside its value.

    Chandrupatla's method: inverse quadratic steps where they are safe, bisection elsewhere, so
    that it ends for any continuous function. Of the last two points the one at or below zero is taken.

    With `dip` the function is positive at both ends; golden-section steps first look for a point
    where it is not, down to the lowest point to rounding level.

    Args:
        function: Value, and anything else to hand back (a pytree), at one point.
        low: Lower end of the bracket.
        high: Upper end.
        value_low: Value at `low`, > 0.
        value_high: Value at `high`; <= 0 unless `dip`.
        with_high: What came with the value at `high`.
        resolution: Width of the bracket at which the search stops.
        dip: Whether the function is positive at both ends.
        max_steps: Bound on the evaluations; bisection alone needs about 60.

    Returns:
        The point, what came with the value there, and whether the function is zero or negative
        anywhere that was looked at.
    """
    root = FallingRoot(low, high, value_low, value_high, with_high, resolution, jnp.asarray(dip), max_steps)

    def narrow(search: Search) -> Search:
        search, x = root.next_look(search)
        return root.looked(search, x, *function(x))

    return root.answer(jax.lax.while_loop(root.goes_on, narrow, root.begin()))


def _golden_point(points: Bracket) -> Scalar:
    """A point in the larger part of a bracket of the lowest point."""
    right = jnp.abs(points.c - points.b) > jnp.abs(points.b - points.a)
    return points.b + GOLDEN * (jnp.where(right, points.c, points.a) - points.b)


def _narrow_low(points: Bracket, x, value, extra) -> Bracket:
    """The bracket of the lowest point with one more look."""
    better = value < points.fb
    right = (x > points.b) == (points.c > points.b)
    a = jnp.where(better, jnp.where(right, points.b, points.a), jnp.where(right, points.a, x))
    fa = jnp.where(better, jnp.where(right, points.fb, points.fa), jnp.where(right, points.fa, value))
    c = jnp.where(better, jnp.where(right, points.c, points.b), jnp.where(right, x, points.c))
    fc = jnp.where(better, jnp.where(right, points.fc, points.fb), jnp.where(right, value, points.fc))
    kept = jax.tree.map(lambda p, q: jnp.where(better, p, q), extra, points.extra_b)
    return Bracket(
        a, jnp.where(better, x, points.b), c, fa, jnp.where(better, value, points.fb), fc, points.extra_a, kept
    )


def _turn_to_root(points: Bracket, x, value, extra) -> Bracket:
    """From the search for the lowest point to the search for the root, between `x` and the lower end."""
    return Bracket(points.a, x, points.a, points.fa, value, points.fa, points.extra_a, extra)


def _root_point(points: Bracket, fraction, resolution) -> Scalar:
    least = 0.5 * resolution / jnp.maximum(jnp.abs(points.b - points.a), resolution)
    return points.b + jnp.clip(fraction, least, 1.0 - least) * (points.a - points.b)


def _narrow_root(points: Bracket, x, value, extra) -> Bracket:
    """The bracket of the root with one more look."""
    same = (value > 0.0) == (points.fb > 0.0)
    extra_a = jax.tree.map(lambda p, q: jnp.where(same, p, q), points.extra_a, points.extra_b)
    return Bracket(
        a=jnp.where(same, points.a, points.b),
        b=x,
        c=jnp.where(same, points.b, points.a),
        fa=jnp.where(same, points.fa, points.fb),
        fb=value,
        fc=jnp.where(same, points.fb, points.fa),
        extra_a=extra_a,
        extra_b=extra,
    )


def _next_fraction(points: Bracket) -> Scalar:
    """Where to look next between the ends of a bracket of a root: inverse quadratic if safe, else the middle."""
    a, b, c, fa, fb, fc = points.a, points.b, points.c, points.fa, points.fb, points.fc
    xi, phi = (b - a) / (c - a), (fb - fa) / (fc - fa)
    curved_little = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
    quadratic = fb / (fa - fb) * fc / (fa - fc) + (c - b) / (a - b) * fb / (fc - fb) * fa / (fc - fa)
    return jnp.where(curved_little & jnp.isfinite(quadratic), quadratic, 0.5)
