"""The four papers behind saltus: their claims as data, their figures, their errata, and the verdicts."""

from saltus.papers.catalogue import PAPERS, load, names

__all__ = ["PAPERS", "load", "names"]
