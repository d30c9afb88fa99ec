"""The parts of the state of many bodies, and how they lie in the rows that an event queue hands about."""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus.hybrid import Parts, part


class BodyPlace(Parts):
    """Where bodies are.

    Args:
        centre: Centres of mass [m].
        quaternion: Orientations, body to lab.
    """

    centre: Any = part(1)  # of NumPy in the queue, of JAX in programs
    quaternion: Any = part(1)


class BodyMotion(Parts):
    """How bodies move.

    Args:
        velocity: Velocities of the centres of mass [m s-1].
        turning: Angular velocities in the lab [rad s-1].
        contact_force: Sums of the forces of sustained contact on them [N].
    """

    velocity: Any = part(1)
    turning: Any = part(1)
    contact_force: Any = part()


class ImpactLosses(Parts):
    """Energy lost in impacts and sustained contact since the start [J]."""

    lost: Any = part()


_PLACE = BodyPlace(np.zeros(3), np.zeros(4))
_MOTION = BodyMotion(np.zeros(3), np.zeros(3), np.zeros(()))


def place_of(rows) -> BodyPlace:
    """The parts of rows of `q`."""
    return _PLACE.refill(rows)


def motion_of(rows) -> BodyMotion:
    """The parts of rows of `v`."""
    return _MOTION.refill(rows)
