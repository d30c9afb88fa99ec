"""The systems of the library: what moves."""

from saltus.systems.sliding import SlidingMasses

__all__ = ["SlidingMasses"]
