"""Rigid bodies: the system, what a touch does, what is foreseen, and statistics of collisions."""

from saltus.systems.bodies.filling import fill_box
from saltus.systems.bodies.scattering import Scattering, scatter
from saltus.systems.bodies.system import RigidBodies

__all__ = ["RigidBodies", "Scattering", "fill_box", "scatter"]

filled = fill_box  # its name before, for code of users
