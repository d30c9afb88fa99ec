"""What masses slide on: surfaces z = f(x, y)."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.surfaces import synthetic
    from saltus.surfaces.base import AbstractSurface
    from saltus.surfaces.cone import Cone
    from saltus.surfaces.cosine import Cosine
    from saltus.surfaces.expression import Expression
    from saltus.surfaces.gaussian import Gaussian
    from saltus.surfaces.graph import Graph
    from saltus.surfaces.named import named_surface
    from saltus.surfaces.paraboloid import Paraboloid, Saddle
    from saltus.surfaces.plane import Plane
    from saltus.surfaces.sphere import Dome, Sphere
    from saltus.surfaces.terrain import Terrain

__all__ = [
    "AbstractSurface",
    "Cone",
    "Cosine",
    "Dome",
    "Expression",
    "Gaussian",
    "Graph",
    "Paraboloid",
    "Plane",
    "Saddle",
    "Sphere",
    "Terrain",
    "named_surface",
    "synthetic",
]

__getattr__, __dir__ = late(
    __name__,
    {
        "synthetic": (),
        "base": ("AbstractSurface",),
        "cone": ("Cone",),
        "cosine": ("Cosine",),
        "expression": ("Expression",),
        "gaussian": ("Gaussian",),
        "graph": ("Graph",),
        "named": ("named", "named_surface"),
        "paraboloid": ("Paraboloid", "Saddle"),
        "plane": ("Plane",),
        "sphere": ("Dome", "Sphere"),
        "terrain": ("Terrain",),
    },
)
