"""What is known of a flow as it goes, and of a step that was tried."""

from __future__ import annotations

import enum

import equinox as eqx
from jaxtyping import Array, Float, Int

from saltus.engines.signs import Signs
from saltus.engines.steppers import Flat, Scalar, Step


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


class Carry(eqx.Module):
    """Where a flow is; the fields are those of `advance.Flow`."""

    t: Scalar
    y: Flat
    h: Scalar
    status: Int[Array, ""]
    t_next: Scalar
    over: Int[Array, ""]
    signs: Signs
    times: Array
    vectors: Array
    count: Int[Array, ""]
    steps: Int[Array, ""]


class Trial(eqx.Module):
    """A step that was tried: its end, where it led, and five looks along it: when, the vectors, the guards."""

    t: Scalar
    y: Flat
    step: Step
    times: Float[Array, " 5"]
    vectors: Float[Array, "5 n"]
    guards: Float[Array, "5 g"]
