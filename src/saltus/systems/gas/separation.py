"""How far two ellipsoids are certainly apart, and for how long.

For any unit vector n the number s(n) = n . r - h_A(n) - h_B(n) is a lower bound of the gap. With n kept, its
second derivative in time has a bound -M, so that s + s' tau - M tau^2 / 2 > 0 proves that the bodies do not touch
before the root of that parabola. The vector comes from a few Newton turns for the Perram-Wertheim function,
whose maximum gives the common normal when the bodies touch; it need not converge, since any n is valid.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.numerics.components import Sym, Vec
from saltus.numerics.trees import choose
from saltus.systems.gas.flight import Pose

NARROW = 1e-3  # the weight of the Perram-Wertheim function stays this far from 0 and 1


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Separation:
    """A lower bound of the gap, its rate with `normal` kept, and how well the normal has converged."""

    gap: Array
    rate: Array
    normal: Vec  # from the first body to the second
    weight: Array
    change: Array  # of the weight in the last turn


class PairView(eqx.Module):
    """What a look at a pair, or at many, has found."""

    gap: Array
    rate: Array
    change: Array  # how far the direction is from the best one
    hint: Array  # where the next look begins
    sure: Array  # for how long they stay apart


def common_direction(a: Sym, b: Sym, apart: Vec, weight: Array, turns: int) -> tuple[Vec, Array, Array]:
    """A direction that separates two ellipsoids well, the weight that gave it, and its last change.

    Newton's method for the maximum of f = w (1 - w) r . G r with G = ((1 - w) A + w B)^-1, a concave function
    of the weight w.

    Args:
        a: Form of the first ellipsoid: squared semi-axes as a tensor in the lab.
        b: Form of the second.
        apart: From the first centre to the second.
        weight: Where to begin, between 0 and 1.
        turns: How many turns.
    """
    between = jax.tree.map(lambda one, two: two - one, a, b)

    def newton(_, state):
        weight, _ = state
        blend = jax.tree.map(lambda one, difference: one + weight * difference, a, between)
        adjugate, determinant = blend.cofactors()
        scale = 1.0 / determinant
        x = (adjugate @ apart) * scale
        y = between @ x
        z = (adjugate @ y) * scale
        product, room = apart.dot(x), weight * (1.0 - weight)
        tilt = 1.0 - 2.0 * weight
        slope = tilt * product - room * x.dot(y)
        curvature = -2.0 * product - 2.0 * tilt * x.dot(y) + 2.0 * room * y.dot(z)
        new = jnp.clip(weight - slope / curvature, NARROW, 1.0 - NARROW)
        return new, new - weight

    weight, change = jax.lax.fori_loop(0, turns, newton, (weight, jnp.zeros_like(weight)))
    blend = jax.tree.map(lambda one, difference: one + weight * difference, a, between)
    adjugate, _ = blend.cofactors()
    x = adjugate @ apart
    return x * (1.0 / x.norm()), weight, change


def separation(
    first: Pose, second: Pose, scale: tuple[Array, Array], weight: Array, turns: int, wall: tuple[Array, Vec] | None
) -> Separation:
    """The bound for two bodies at one moment.

    Args:
        first: One body.
        second: The other, in the image that is meant; a wall is a body without extent.
        scale: By what all bodies are scaled, and the rate of that.
        weight: Where the Newton turns begin.
        turns: How many.
        wall: Whether the second is a wall, and the direction towards it; None where there are no walls.
    """
    apart = second.center - first.center
    normal, weight, change = common_direction(first.form, second.form, apart, weight, turns)
    if wall is not None:
        is_wall, towards = wall
        normal = choose(is_wall, towards, normal)
        weight, change = jnp.where(is_wall, 0.5, weight), jnp.where(is_wall, 0.0, change)
    size, growth = scale
    near, far = first.form @ normal, second.form @ normal
    support1 = jnp.sqrt(near.dot(normal))
    support2 = jnp.sqrt(far.dot(normal))
    # The support function h of a turning body changes at the rate n . (omega x p), p = A n / h.
    turning = normal.dot(first.omega.cross(near)) / support1
    turning2 = normal.dot(second.omega.cross(far)) / jnp.where(support2 > 0.0, support2, 1.0)
    extent = support1 + support2
    gap = normal.dot(apart) - size * extent
    rate = normal.dot(second.velocity - first.velocity) - size * (turning + turning2) - growth * extent
    return Separation(gap, rate, normal, weight, change)


def certain_time(gap: Array, rate: Array, bend: Array) -> Array:
    """How long gap + rate t - bend t^2 / 2 stays positive; 0 at least, and a gap below 0 counts as none."""
    gap = jnp.maximum(gap, 0.0)
    root = jnp.sqrt(rate * rate + 2.0 * bend * gap)
    closing = 2.0 * gap / jnp.where(rate < 0.0, root - rate, 1.0)
    opening = (root + rate) / jnp.where(bend > 0.0, bend, 1.0)
    return jnp.where(rate < 0.0, closing, jnp.where(bend > 0.0, opening, jnp.inf))
