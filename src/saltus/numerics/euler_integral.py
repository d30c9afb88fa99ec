"""2F1(-p, b; b + 3/2; x) for large p, where power series cancel: Euler's integral by the midpoint rule."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class EulerIntegral(eqx.Module):
    """Functions 2F1(-p, b; b + 3/2; x) on [0, 1] that share p > 8; call it with an array.

    The integrand is periodic in the angle, so the error falls exponentially with the number of nodes, which is
    proportional to sqrt(p). All terms are positive: the relative error is some units in the last place.

    Args:
        power: p.
        nodes: sin^2 of the angles.
        weights: For each b, with sum one.
    """

    power: Float[Array, ""]
    nodes: Float[Array, " m"]
    weights: Float[Array, "k m"]

    def __call__(self, x: Array) -> tuple[Array, ...]:
        """The values of all functions."""

        def add(sums, node):
            at, weights = node
            factor = jnp.exp(self.power * jnp.log1p(-x * at))
            return tuple(s + w * factor for s, w in zip(sums, weights, strict=True)), None

        nothing = tuple(jnp.zeros_like(x) for _ in range(self.weights.shape[0]))
        return jax.lax.scan(add, nothing, (self.nodes, self.weights.T))[0]


def euler_integral(power: float, parameters: tuple[float, ...]) -> EulerIntegral:
    """The functions 2F1(-power, b; b + 3/2; x) for several b, each half of an odd number."""
    count = 24 + math.ceil(3.5 * math.sqrt(power))
    angles = np.pi * (np.arange(count) + 0.5) / (2 * count)
    nodes = np.sin(angles) ** 2  # the small ones count most, and are the most exact
    weights = np.stack([np.cos(angles) ** 2 * nodes ** (b - 0.5) for b in parameters])
    weights /= weights.sum(axis=1, keepdims=True)
    return EulerIntegral(jnp.asarray(float(power)), jnp.asarray(nodes), jnp.asarray(weights))
