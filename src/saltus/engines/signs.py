"""What a run remembers of its guards from one step to the next."""

from __future__ import annotations

from typing import Any, cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.hybrid.record import Record
from saltus.hybrid.state import build_unchecked
from saltus.programs.arrays import numbers

TINY = 1e-300  # stands for the value of a guard that is known to be positive, where rounding says otherwise
NO_CUTS = np.zeros((), int)
SUNK = 1e-12  # values nearer to zero may be rounding; ordinary ones are of order one


class Signs(Record):
    """The last values of the guards, and which have fired and not been positive since.

    The sign of a guard at the end of a step decides whether it can fall in the next one. It is decided once and
    kept: computed again by another program, a value at rounding level may have the other sign, and the event be lost.

    Args:
        last: Values where the run is now; 0 where nothing is known, and after a guard has fired; inf where a guard was
            positive before jumps that took time.
        fired: Fired, and not seen positive since.
        cuts: How often the step from here was shortened, since a guard wound about zero in it (`Guard.winding`).
    """

    last: Float[Array, " g"]
    fired: Bool[Array, " g"]
    cuts: Int[Array, ""] = eqx.field(default_factory=lambda: numbers(0, int))

    @staticmethod
    def known(last: np.ndarray, fired: np.ndarray) -> Signs:
        """Of numbers that are known, as NumPy has them."""
        return build_unchecked(Signs, last=last, fired=fired, cuts=NO_CUTS)

    @staticmethod
    def none(count: int) -> Signs:
        """Nothing is known of so many guard values."""
        return Signs(numbers(np.zeros(count)), numbers(np.zeros(count), bool))

    def at_start(self, g: Float[Array, " g"]) -> Float[Array, " g"]:
        """Guard values at the start of a step, in agreement with what is known of their signs.

        A guard that the jump of another one has moved has the value that it has now, but for one that has fallen in the
        time which that jump took: it fires at once.
        """
        known = (self.last - g <= SUNK) | jnp.isinf(self.last)
        return jnp.where((self.last > 0.0) & (g <= 0.0) & known, TINY, g)

    def after_rejection(self, g: Float[Array, "k g"], cut: Array | bool = False) -> Signs:
        """With the values at the start of a step, from looks along it."""
        return Signs(jnp.where(g[0] == TINY, self.last, g[0]), self.fired, self.cuts + cut)

    def after_step(self, g: Float[Array, "k g"]) -> Signs:
        """After a step without an event, from looks along it."""
        return Signs(g[-1], self.fired & ~(g > 0.0).any(axis=0))

    def after_flow(self) -> Signs:
        """After many steps in which no guard has passed zero: of their values only the signs are known."""
        return Signs(jnp.minimum(self.last, 0.5 * SUNK), self.fired)

    def after_moment(self, took_time: Any, armed: Any) -> Signs:
        """After jumps; `armed` are the guards that were watched before them.

        Jumps that take time, such as that of a mass which comes to rest and moves on to the end of its last bounces,
        carry along whatever else moves. What was positive before them and is not so now has fallen meanwhile.
        """
        known = isinstance(self.last, np.ndarray)
        xp: Any = np if known else jnp
        last = xp.where(took_time & armed & (self.last > 0.0), xp.inf, self.last)
        return Signs.known(last, cast("Any", self.fired)) if known else Signs(last, self.fired, self.cuts)

    def sunk(self, start: Float[Array, " g"], end: Float[Array, " g"], rose: Bool[Array, " g"]) -> Bool[Array, " g"]:
        """Which guards have fired and now sink without having been positive: nothing else would tell."""
        return self.fired & ~rose & (end < -SUNK) & (end < start)
