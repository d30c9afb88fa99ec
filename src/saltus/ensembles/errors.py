"""What can stop an ensemble; what is done stays valid in every case."""

from __future__ import annotations

from saltus.errors import SaltusError


class EnsembleError(SaltusError):
    """An ensemble that could not be finished; it can be resumed."""


class WriteError(EnsembleError):
    """The store could not be written: the disk is full, or the like."""


class ChunkError(EnsembleError):
    """Samples that could not be computed."""


class Failures:
    """Chunks that could not be computed. The others are computed all the same, unless several fail.

    Args:
        limit: How many make it pointless to go on.
    """

    def __init__(self, limit: int = 5):
        self._limit, self._found = limit, []

    def add(self, problem: ChunkError) -> None:
        """One more; raises when there are too many."""
        self._found.append(problem)
        if len(self._found) >= self._limit:
            self.tell()

    def tell(self) -> None:
        """Raise if there were any."""
        if self._found:
            others = len(self._found) - 1
            more = f" {others} other chunk{'' if others == 1 else 's'} failed as well." if others else ""
            raise ChunkError(f"{self._found[0]}{more}")


class Interruption(EnsembleError):  # noqa: N818  (not an error of anyone)
    """Stopped by the user."""
