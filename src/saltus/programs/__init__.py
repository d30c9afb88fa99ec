"""Programs that outlive the process: traced once, kept as StableHLO beside the cache of compiled code."""

from saltus.programs.kept import program

__all__ = ["program"]
