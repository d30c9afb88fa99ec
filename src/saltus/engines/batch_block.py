"""A few lanes side by side: what a single run does, with each function of the system computed for all of them.

Under `vmap` over lanes the loops of a single run go on until the last lane has ended; what they ask the system for is
taken apart into operations on vectors of lanes (`numerics.lanes`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.engines.batch_lane import Lanes, in_mode
from saltus.engines.flat import Flat, FlatSystem, Scalar
from saltus.numerics.lanes import side_by_side


class LaneSystem(FlatSystem):
    """The system of one lane, whose functions go side by side under `vmap` over lanes.

    Args:
        varying: The numbers of the system that differ from lane to lane.
        shared: The rest of it.
        mode: Its mode, where the program is to know it.
    """

    varying: Any
    shared: Any
    mode: int | None = eqx.field(static=True)

    @staticmethod
    def of(lane: Lanes, shared, mode: int | None) -> LaneSystem:
        """That of a lane."""
        return LaneSystem(eqx.combine(lane.varying, shared), in_mode(lane.state, mode), lane.varying, shared, mode)

    def rate(self, t: Scalar, y: Flat) -> Flat:
        """Time derivative of the vector."""
        return self.ask(lambda flat, t, y: flat.rate(t, y), t, y)

    def project(self, t: Scalar, y: Flat) -> Flat:
        """The nearest vector that satisfies the constraints."""
        return self.ask(lambda flat, t, y: flat.project(t, y), t, y)

    def guards(self, t: Scalar, y: Flat) -> Float[Array, " g"]:
        """All guard values, one after the other."""
        return self.ask(lambda flat, t, y: flat.guards(t, y), t, y)

    def entwined(self) -> bool:
        """Whether these three have much in common."""
        return self.system.entwined(self.mode)

    def at_once(self, t: Scalar, y: Flat, asked: Any = None) -> tuple[Flat, Flat, Float[Array, " g"]]:
        """Rate, projection and guard values, whatever is asked for: lanes go the same way."""
        return self.ask(lambda flat, t, y: flat.at_once(t, y), t, y)

    def ask(self, function: Callable, *arguments: Array) -> Any:
        """`function(flat, *arguments)`: the arguments have the lane's numbers, the results are its own."""
        numbers, rest = eqx.partition(self.shared, eqx.is_array)

        def one(lane, numbers):
            varying, like, given = lane
            return function(FlatSystem(eqx.combine(varying, numbers, rest), in_mode(like, self.mode)), *given)

        name = type(self.shared).__name__
        return _side_by_side(one, name)((self.varying, self.like, arguments), numbers)


def _side_by_side(function: Callable, name: str) -> Callable:
    """A function of a lane and of what is common, that goes side by side under `vmap` over lanes."""
    once = jax.custom_batching.custom_vmap(function)

    @once.def_vmap
    def together(size, batched, lane, numbers):
        own, common = batched
        if any(jax.tree.leaves(common)):
            raise TypeError("What lanes have in common cannot differ from lane to lane.")
        last = jax.tree.map(
            lambda x, has: jnp.moveaxis(x, 0, -1) if has else jnp.broadcast_to(x[..., None], (*x.shape, size)),
            lane,
            own,
        )
        found = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), side_by_side(function, last, numbers, name))
        return jax.lax.optimization_barrier(found), jax.tree.map(lambda _: True, found)

    return once
