"""Rigid bodies: the system, what a touch does, and what is foreseen."""

from saltus.systems.bodies.system import RigidBodies

__all__ = ["RigidBodies"]
