"""Starts of a body on a surface: what must hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from saltus import checks
from saltus.surfaces.known import KnownSurface

ROOM = 1.5  # radii of the body within which the ground must be defined, for it certainly to be put down
STEEP = 1e3  # slope up to which it certainly is
RINGS, SPOKES = 4, 24  # points at which that is looked at


def check_ground(margin: Any, position: Sequence[float]) -> None:
    """Refuse a place where the surface is not defined, by its margin there; a traced one passes."""
    known = checks.concrete(margin)
    if known is not None and not known > 0.0:
        raise ValueError(f"The body starts at x, y = {list(position)}, where the ground is not defined.")


def has_ground(surface: KnownSurface, position: Sequence[float], radius: float) -> bool:
    """Whether a surface is certainly defined, and not too steep, under a body that a ball of this radius holds."""
    reach, angle = np.meshgrid(np.linspace(0.0, ROOM * radius, RINGS + 1), np.linspace(0.0, 2.0 * np.pi, SPOKES + 1))
    seen = surface.at(position[0] + reach * np.cos(angle), position[1] + reach * np.sin(angle))
    tame = np.isfinite(seen.height) & (np.hypot(*seen.gradient) <= STEEP)
    return bool(tame.all() and (surface.defined_everywhere or (seen.margin > 0.0).all()))
