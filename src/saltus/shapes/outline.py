"""Geometry of a closed outline in polar form at one angle, for arrays of NumPy and of JAX alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from saltus.numerics.on_host import library

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    Scalar = Float[Array, ""]
    Plane = Float[Array, "2"]

ANGLES = np.linspace(0.0, 2 * np.pi, 721)  # at which an outline is looked at before a ball rolls on it


class OutlinePoint(NamedTuple):
    """The outline at one angle: point [m], unit tangent, outward normal, curvature [1/m], arc per angle [m]."""

    point: Plane
    tangent: Plane
    normal: Plane
    curvature: Scalar
    arc: Scalar


def outline_point(phi: Any, r: Any, slope: Any, bend: Any) -> OutlinePoint:
    """Geometry at an angle, from the radius there and its first and second derivative by the angle."""
    xp = library(phi, r, slope, bend)
    s, c = xp.sin(phi), xp.cos(phi)
    arc = xp.sqrt(r * r + slope * slope)
    tangent = xp.stack([slope * s + r * c, slope * c - r * s]) / arc
    normal = xp.stack([-tangent[1], tangent[0]])
    return OutlinePoint(r * xp.stack([s, c]), tangent, normal, curvature(r, slope, bend), arc)


def curvature(r: Any, slope: Any, bend: Any) -> Any:
    """Curvature of an outline, > 0 where it is convex [1/m]."""
    arc = library(r, slope, bend).sqrt(r * r + slope * slope)
    return (r * r + 2 * slope * slope - r * bend) / arc**3


def check_ball(distance: np.ndarray, bends: np.ndarray, radius: float) -> None:
    """Refuse an outline that is not positive, or hollowed more sharply than a ball of this radius can follow.

    Args:
        distance: Radius of the outline at `ANGLES` [m].
        bends: Its curvature there [1/m].
        radius: Height of the ball's centre over the outline [m].
    """
    if not (distance > 0.0).all():
        worst = int(np.argmin(distance))
        raise ValueError(
            f"The radius of the profile must be > 0, got {distance[worst]:.4g} m at phi = {ANGLES[worst]:.4g}. "
            "Use a smaller waist."
        )
    room = 1.0 + bends * radius
    if not (room > 0.0).all():
        worst = int(np.argmin(room))
        raise ValueError(
            f"The profile is too sharply curved for the ball: its hollow at phi = {ANGLES[worst]:.4g} has a radius "
            f"of {-1.0 / bends[worst]:.4g} m, the ball needs more than {radius:.4g} m. "
            "Use a smaller ball or a smoother profile."
        )
