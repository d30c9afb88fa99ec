"""Reference cases, and how each group of them is checked through the public library."""

from saltus.validation.check import Check, difference, fact
from saltus.validation.runner import by_group, read, run, shipped_files

__all__ = ["Check", "by_group", "difference", "fact", "read", "run", "shipped_files"]
