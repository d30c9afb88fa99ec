"""The path of a ball's centre along turning plates, and what its motion asks of the contacts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from saltus.numerics.on_host import library
from saltus.shapes.outline import OutlinePoint

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from saltus.shapes.profile import AbstractProfile

    Scalar = Float[Array, ""]
    Number = Scalar | float


class Track(NamedTuple):
    """The track of the centre at one angle, in the frame of the plates.

    Args:
        outline: The profile there.
        curvature: Of the path of the centre [1/m].
        arc: Length of that path per angle [m].
        along: Component of the centre's position along the tangent [m].
        outward: Component along the normal [m].
    """

    outline: OutlinePoint
    curvature: Scalar
    arc: Scalar
    along: Scalar
    outward: Scalar


def track(profile: AbstractProfile, phi: Scalar, effective_radius: Scalar) -> Track:
    """The track of a ball whose centre is `effective_radius` above the profile."""
    return track_along(profile.at(phi), effective_radius)


def track_along(outline: OutlinePoint, effective_radius: Number) -> Track:
    """The same, where the outline is known."""
    xp = library(*outline)
    stretch = 1.0 + outline.curvature * effective_radius
    centre = outline.point + effective_radius * outline.normal
    return Track(
        outline,
        outline.curvature / stretch,
        outline.arc * stretch,
        xp.sum(centre * outline.tangent),
        xp.sum(centre * outline.normal),
    )


class Demand(NamedTuple):
    """What gravity and the turning of the plates do to a ball that moves with speed w along the track.

    Args:
        pull: Acceleration along the track without friction [m/s2].
        load: Normal force per mass, > 0 presses [m/s2].
    """

    pull: Scalar
    load: Scalar


def demand(track: Track, speed: Number, turning: tuple[Number, Number, Number], gravity: Number) -> Demand:
    """Acceleration along the track without friction, and load per mass."""
    angle, rate, gain = turning
    xp = library(*track.outline, angle)
    down = gravity * xp.stack([xp.sin(angle), -xp.cos(angle)])
    pull = xp.sum(down * track.outline.tangent) - gain * track.outward + rate**2 * track.along
    load = (
        -track.curvature * speed**2
        - 2 * rate * speed
        - gain * track.along
        - rate**2 * track.outward
        - xp.sum(down * track.outline.normal)
    )
    return Demand(pull, load)


def circle_lift_off(half_angle: float) -> float:
    """Cosine of the angle from the top at which a ball that rolls from rest down a fixed circle lifts off.

    >>> circle_lift_off(0.0) == 10 / 17
    True
    """
    square = math.cos(half_angle) ** 2
    return 10 * square / (15 * square + 2)
