"""A chain that slides off a table: the system, and the continuous chain to compare with."""

from saltus.systems.chain.chain import Chain
from saltus.systems.chain.continuum import Continuum, continuum

__all__ = ["Chain", "Continuum", "continuum"]
