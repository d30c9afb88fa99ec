"""How the state of a chain is laid out: minimal coordinates, so that nothing drifts.

`q` holds the angles of all n links, for strings the lengths of all n links, the place (X, Y) of
the edge particle, the length at which the edge link is held while the table part sticks, and the
time of the last jump. `v` holds their rates. Entries of links on the table are constant. `mode`
holds the number of hanging links, four flags, and one word per link.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saltus.hybrid import State

FLAGS = 5  # entries of the mode before those of the links
PULLS, LOOSE, UNTOLD = 0, 1, 2


class Regime(NamedTuple):
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

    hanging: Int[Array, ""]
    stuck: Bool[Array, ""]
    unmoved: Bool[Array, ""]
    swung_under: Bool[Array, ""]
    lifted: Bool[Array, ""]
    loose: Int[Array, " n"]

    @staticmethod
    def of(mode: Int[Array, " m"]) -> Regime:
        """The regime that these integers mean."""
        stuck, unmoved, swung_under, lifted = mode[1:FLAGS] != 0
        return Regime(mode[0], stuck, unmoved, swung_under, lifted, mode[FLAGS:])

    def integers(self) -> Int[Array, " m"]:
        """The integers that mean this regime."""
        first = jnp.stack([jnp.asarray(x, int) for x in self[:FLAGS]])
        return jnp.concatenate([first, jnp.asarray(self.loose, int)])


class Motion(NamedTuple):
    """The continuous part of a chain's state, or its rates.

    Args:
        angle: Angles of the links from the downward vertical [rad].
        length: Lengths of the links, only for strings [m].
        edge: Place of the edge particle (down, outward) [m].
        held: Length at which the edge link is held while the table part sticks [m].
        since: Time of the last jump [s].
    """

    angle: Float[Array, " n"]
    length: Any  # Float[Array, " n"], or None for rods
    edge: Float[Array, " 2"]
    held: Float[Array, ""]
    since: Float[Array, ""]

    @staticmethod
    def of(vector: Float[Array, " m"], strings: bool) -> Motion:
        """The parts of `q` or `v`."""
        n = (vector.size - 4) // (2 if strings else 1)
        length = vector[n : 2 * n] if strings else None
        return Motion(vector[:n], length, vector[-4:-2], vector[-2], vector[-1])

    def vector(self) -> Float[Array, " m"]:
        """`q` or `v` of these parts."""
        parts = [self.angle] if self.length is None else [self.angle, self.length]
        return jnp.concatenate([*parts, self.edge, jnp.stack([self.held, self.since])])


def unpack(state: State, strings: bool) -> tuple[Motion, Motion, Regime]:
    """Configuration, velocities and regime of a state."""
    return Motion.of(state.q, strings), Motion.of(state.v, strings), Regime.of(state.mode)


def units(angle: Float[Array, "..."]) -> tuple[Float[Array, "... 2"], Float[Array, "... 2"]]:
    """Unit vectors along and across links at these angles."""
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([cosine, sine], axis=-1), jnp.stack([-sine, cosine], axis=-1)
