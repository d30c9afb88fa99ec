"""Systems of bodies: what moves, when it jumps, and what it shows."""

from saltus.systems.chain import Chain

__all__ = ["Chain"]
