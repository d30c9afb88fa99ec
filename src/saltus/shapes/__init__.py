"""Extent and inertia of bodies."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.shapes.alike import alike
    from saltus.shapes.ball import Ball
    from saltus.shapes.base import AbstractShape
    from saltus.shapes.block import Block
    from saltus.shapes.body import Body, stack
    from saltus.shapes.disc import Disc
    from saltus.shapes.ellipsoid import Ellipsoid
    from saltus.shapes.implicit import Implicit
    from saltus.shapes.profile import AbstractProfile, ButterflyProfile, CircleProfile, ProfileFunction
    from saltus.shapes.solid import Solid
    from saltus.shapes.superellipsoid import Superellipsoid
    from saltus.shapes.support import SupportShape

__all__ = [
    "AbstractProfile",
    "AbstractShape",
    "Ball",
    "Block",
    "Body",
    "ButterflyProfile",
    "CircleProfile",
    "Disc",
    "Ellipsoid",
    "Implicit",
    "ProfileFunction",
    "Solid",
    "Superellipsoid",
    "SupportShape",
    "alike",
    "stack",
]

__getattr__, __dir__ = late(
    __name__,
    {
        "alike": ("alike",),
        "ball": ("Ball",),
        "base": ("AbstractShape",),
        "block": ("Block",),
        "body": ("Body", "stack"),
        "disc": ("Disc",),
        "ellipsoid": ("Ellipsoid",),
        "implicit": ("Implicit",),
        "profile": ("AbstractProfile", "ButterflyProfile", "CircleProfile", "ProfileFunction"),
        "solid": ("Solid",),
        "superellipsoid": ("Superellipsoid",),
        "support": ("SupportShape", "Supported"),
    },
)
