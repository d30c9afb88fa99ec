"""A surface at many known points, by one compiled program."""

from __future__ import annotations

from jaxtyping import ArrayLike

from saltus.programs import program
from saltus.surfaces.base import AbstractSurface, Values


@program
def ground(surface: AbstractSurface, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
    """Heights [m] and margins, which are positive where the surface is defined."""
    return surface.height(x, y), surface.margin(x, y)
