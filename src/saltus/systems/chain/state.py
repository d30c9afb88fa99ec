"""The parts of a chain's state: minimal coordinates, so that nothing drifts."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saltus.hybrid import Parts, part

PULLS, LOOSE, UNTOLD = 0, 1, 2


class Regime(Parts):
    """The discrete part of a chain's state.

    Args:
        hanging: Number k of links that hang freely; k + 1 particles are off the table.
        stuck: Whether static friction holds the table part.
        unmoved: Whether the table part has not moved since the start.
        swung_under: Whether a particle has been under the table before.
        lifted: Whether the edge force has vanished before.
        loose: Per link: PULLS, LOOSE (a slack string; a rod that has pushed before), or UNTOLD
            (the same since the last jump, and not yet in the list of events).
    """

    hanging: Int[Array, ""] = part()
    stuck: Bool[Array, ""] = part()
    unmoved: Bool[Array, ""] = part()
    swung_under: Bool[Array, ""] = part()
    lifted: Bool[Array, ""] = part()
    loose: Int[Array, " n"] = part(1)


class Motion(Parts):
    """The configuration of a chain, or its rates.

    Args:
        angle: Angles of the links from the downward vertical [rad].
        length: Lengths of the links, only for strings [m].
        edge: Place of the edge particle (down, outward) [m].
        held: Length at which the edge link is held while the table part sticks [m].
        since: Time of the last jump [s].
    """

    angle: Float[Array, " n"] = part(1)
    length: Any = part(1)  # Float[Array, " n"], or None for rods
    edge: Float[Array, " 2"] = part(1)
    held: Float[Array, ""] = part()
    since: Float[Array, ""] = part()


class Losses(Parts):
    """Energy lost since the start to friction on the table, to friction at the edge, and in jerks [J]."""

    table: Float[Array, ""] = part()
    edge: Float[Array, ""] = part()
    jerks: Float[Array, ""] = part()

    def jerk(self, energy: Array) -> Losses:
        """The losses with those of another jerk."""
        return self.replace(jerks=self.jerks + energy)


def units(angle: Float[Array, "..."]) -> tuple[Float[Array, "... 2"], Float[Array, "... 2"]]:
    """Unit vectors along and across links at these angles."""
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([cosine, sine], axis=-1), jnp.stack([-sine, cosine], axis=-1)
