"""Which values the keys of an ensemble take in each of its samples."""

from saltus.ensembles.design.samples import Design

__all__ = ["Design"]
