"""Surfaces by the names and keys of scenario files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from saltus import checks
from saltus.surfaces.base import AbstractSurface
from saltus.surfaces.cone import Cone
from saltus.surfaces.cosine import Cosine
from saltus.surfaces.expression import Expression
from saltus.surfaces.gaussian import Gaussian
from saltus.surfaces.paraboloid import Paraboloid, Saddle
from saltus.surfaces.plane import Plane
from saltus.surfaces.sphere import Dome, Sphere
from saltus.surfaces.terrain import Terrain

NAMES: dict[str, Any] = {
    "sphere": Sphere,
    "dome": Dome,
    "plane": lambda slope_x=0.0, slope_y=0.0: Plane(slope_x, slope_y),
    "paraboloid": Paraboloid,
    "saddle": Saddle,
    "gaussian": Gaussian,
    "cosine": Cosine,
    "cone": Cone,
    "expression": lambda z, parameters=None: Expression(z, parameters),
    "terrain": Terrain.read,
}


def named_surface(description: Mapping[str, Any]) -> AbstractSurface:
    """The surface that a table [surface] describes.

    >>> named_surface({"type": "sphere", "radius": 2.0}).flat
    False
    """
    parameters = dict(description)
    name = parameters.pop("type", "")
    checks.one_of("surface type", name, NAMES)
    return NAMES[name](**parameters)


def named_terrain(description: Mapping[str, Any]) -> Terrain:
    """The terrain that a table [surface] describes; `TypeError` where that is another surface."""
    surface = named_surface(description)
    checks.instance("surface", surface, Terrain, 'Give a table [surface] with type = "terrain".')
    return cast(Terrain, surface)  # as has just been checked


named = named_surface  # its name before, for code of users
