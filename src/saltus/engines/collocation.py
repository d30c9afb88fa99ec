"""Steps that keep their order near a removable singularity of the rate."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.engines.steppers import Step
from saltus.numerics.collocation import gauss_nodes, integral_matrix

Flat = Float[Array, " n"]
Scalar = Float[Array, ""]

SWEEPS = 20  # Picard; the error falls like (step * rate of change)^n / n!


class CollocationStepper(eqx.Module):
    """Gauss collocation: a polynomial through the start whose derivative is the rate at the nodes.

    An explicit method evaluates the rate at places that are off by the square of the step; where
    the rate changes like 1/t along the motion this costs two orders. The nodes of a collocation
    lie on the motion to high order, and none is at the start.

    Args:
        points: Number of nodes; the order is twice as high.
    """

    points: int = eqx.field(static=True)

    def __call__(self, rate: Callable[[Scalar, Flat], Flat], t: Scalar, y: Flat, h: Scalar) -> Step:
        """The step from (t, y) over h; no error is estimated."""
        nodes, weights = gauss_nodes(self.points)
        integrals = jnp.asarray(integral_matrix(self.points))
        rates = jax.vmap(rate)
        before = rate(t, y)

        def sweep(_, k):
            return rates(t + h * nodes, y + h * (integrals @ k))

        k = jax.lax.fori_loop(0, SWEEPS, sweep, jnp.broadcast_to(before, (self.points, y.size)))
        end = y + h * (weights @ k)
        return Step(end, jnp.zeros_like(y), before, rate(t + h, end))
