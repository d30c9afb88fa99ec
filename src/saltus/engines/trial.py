"""What is known of a flow as it goes, and of a step that was tried."""

from __future__ import annotations

import enum
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.signs import Signs
from saltus.engines.steppers import Flat, Scalar, Step
from saltus.hybrid.record import Record
from saltus.numerics.runge_kutta import Seen, StepWithLooks


class Status(enum.IntEnum):
    """Why a flow ended."""

    going = 0
    reached = 1  # the time asked for
    event = 2
    full = 3  # the record; call again to go on
    stalled = 4  # the step fell to rounding level
    not_finite = 5  # a constant step left the domain
    doubtful = 6  # the next step may hold an event
    over = 7  # the start is beyond a border
    accumulation = 8  # events pile up, and the system has no mode for what follows


class Pace(Record):
    """How long steps are, as far as the last ones tell.

    Args:
        h: Step to try next; 0: not known [s].
        reach: Longest step that the error allowed where the last step was kept; 0: not known [s].
    """

    h: Scalar
    reach: Scalar

    @staticmethod
    def unknown(like: Any) -> Pace:
        """Of flows that begin, as many as `like` has numbers."""
        return Pace(0.0 * like, 0.0 * like)


class Carry(eqx.Module):
    """Where a flow is; the fields are those of `advance.Flow`, and what may be known of the place."""

    t: Scalar
    y: Flat
    pace: Pace
    status: Int[Array, ""]
    t_next: Scalar
    over: Int[Array, ""]
    signs: Signs
    times: Array
    vectors: Array
    count: Int[Array, ""]
    steps: Int[Array, ""]
    seen: Seen | None = None


class Trial(eqx.Module):
    """A step that was tried, and five looks along it.

    Args:
        t: Its end [s].
        y: Where it led.
        step: The step itself.
        looked: Whether it was looked at; not if its error is too large in any case.
        guards: Guard values at the looks.
        watched: What else is watched, there.
        visits: The same with the rates at its ends, of a step that was taken and looked at in one loop.
    """

    t: Scalar
    y: Flat
    step: Step
    looked: Bool[Array, ""]
    guards: Float[Array, "5 g"]
    watched: Float[Array, "5 k"]
    visits: StepWithLooks | None = None
