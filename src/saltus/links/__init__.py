"""What holds bodies together."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.links.rods import Mobility, Rods

__all__ = ["Mobility", "Rods"]

__getattr__, __dir__ = late(__name__, {"rods": ("Mobility", "Rods")})
