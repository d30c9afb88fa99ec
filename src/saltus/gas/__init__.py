"""Gases of hard bodies: states, measurements with errors, equations of state, packings."""

from saltus.gas.measure import Gas
from saltus.gas.states import Species, crystal, random_start, thermal
from saltus.gas.theory import carnahan_starling, dilute_collision_rate, parsons_lee, second_virial
from saltus.systems.gas import HardBodies

__all__ = [
    "Gas",
    "HardBodies",
    "Species",
    "carnahan_starling",
    "crystal",
    "dilute_collision_rate",
    "parsons_lee",
    "random_start",
    "second_virial",
    "thermal",
]
