"""Steps that keep their order near a removable singularity of the rate."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.engines.steppers import Step
from saltus.numerics.collocation import collocation_step

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
        before = rate(t, y)
        guess = jnp.broadcast_to(before[:, None], (y.size, self.points))

        def rates(nodes, stages):
            return jax.vmap(rate, in_axes=(0, 1), out_axes=1)(t + h * nodes, stages)

        end = collocation_step(rates, y, h, guess, SWEEPS)
        return Step(end, jnp.zeros_like(y), before, rate(t + h, end))
