"""The parts of the state of a body on the ground."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.hybrid import Parts, part


class GroundPlace(Parts):
    """Where a body is; or the rates of that.

    Args:
        centre: Centre of mass [m].
        quaternion: Orientation, body to lab.
        facing: x, y of the point of each piece that faces the ground, one after the other [m].
    """

    centre: Float[Array, " 3"] = part(1)
    quaternion: Float[Array, " 4"] = part(1)
    facing: Float[Array, " 2k"] = part(1)

    def lift(self, height: Any) -> GroundPlace:
        """The place with the centre higher by so much."""
        return self.replace(centre=jnp.append(self.centre[:2], self.centre[2] + height))


class GroundMotion(Parts):
    """How it moves; or the rates of that.

    Args:
        velocity: Of the centre of mass [m s-1].
        turning: Angular velocity in the lab [rad s-1].
    """

    velocity: Float[Array, " 3"] = part(1)
    turning: Float[Array, " 3"] = part(1)

    def add(self, velocity: Any, turning: Any) -> GroundMotion:
        """The motion after these changes."""
        return GroundMotion(self.velocity + velocity, self.turning + turning)


class GroundLedger(Parts):
    """What is kept of the past.

    Args:
        lost: Energy lost since the start [J].
        piece: Number of the piece of the body that touches the ground, or did so last; -1 where it would lie on two.
    """

    lost: Float[Array, ""] = part()
    piece: Float[Array, ""] = part()

    def lose(self, energy: Any) -> GroundLedger:
        """The ledger with more energy lost."""
        return self.replace(lost=self.lost + energy)
