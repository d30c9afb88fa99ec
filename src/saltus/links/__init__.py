"""What holds bodies together."""

from saltus.links.rods import Mobility, Rods

__all__ = ["Mobility", "Rods"]
