"""Point masses and rods on a surface."""

from saltus.systems.sliding.system import SlidingMasses

__all__ = ["SlidingMasses"]
