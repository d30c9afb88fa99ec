"""Hard ellipsoids that fly freely between impacts: a compiled loop over their contacts.

It is a system and its engine in one: the loop is fast because nothing between two contacts leaves the compiled
program, and that program is made of this flight, these contacts and these lists alone.
"""

from saltus.systems.gas.bodies import Bodies
from saltus.systems.gas.hard_bodies import HardBodies

__all__ = ["Bodies", "HardBodies"]
