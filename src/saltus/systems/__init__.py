"""Systems: what moves, when it jumps, what it shows."""

from saltus.systems.bodies import RigidBodies
from saltus.systems.chain import Chain
from saltus.systems.sliding import SlidingMasses

__all__ = ["Chain", "RigidBodies", "SlidingMasses"]
