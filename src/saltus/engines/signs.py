"""What a run remembers of its guards from one step to the next."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

TINY = 1e-300  # stands for the value of a guard that is known to be positive, where rounding says otherwise
SUNK = 1e-12  # below zero by so much a guard that has fired counts as passed; ordinary values are of order one


class Signs(eqx.Module):
    """Which guards have been positive, and which have fired and not been positive since.

    The sign of a guard at the end of a step decides whether it can fall in the next one. It is decided once and
    kept: computed again by another program, a value at rounding level may have the other sign, and the event be lost.

    Args:
        risen: Positive at the end of the last step (or at the start): a value at or below zero is a fall.
        fired: Fired, and not seen positive since.
    """

    risen: Bool[Array, " g"]
    fired: Bool[Array, " g"]

    @staticmethod
    def none(count: int) -> Signs:
        """Nothing is known of so many guard values."""
        return Signs(jnp.zeros(count, bool), jnp.zeros(count, bool))

    def at_start(self, g: Float[Array, " g"]) -> Float[Array, " g"]:
        """Guard values at the start of a step, in agreement with what is known of their signs."""
        return jnp.where(self.risen & (g <= 0.0), TINY, g)

    def seen(self, g: Float[Array, "k g"]) -> Signs:
        """With the signs at the start of a step, from looks along it."""
        return Signs(self.risen | (g[0] > 0.0), self.fired)

    def stepped(self, g: Float[Array, "k g"]) -> Signs:
        """After a step without an event, from looks along it."""
        return Signs(g[-1] > 0.0, self.fired & ~(g > 0.0).any(axis=0))

    def sunk(self, start: Float[Array, " g"], end: Float[Array, " g"], rose: Bool[Array, " g"]) -> Bool[Array, " g"]:
        """Which guards have fired and now sink without having been positive: nothing else would tell."""
        return self.fired & ~rose & (end < -SUNK) & (end < start)
