"""Point masses joined by elastic rods that can break."""

from saltus.systems.raft.system import Raft

__all__ = ["Raft"]
