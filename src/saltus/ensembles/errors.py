"""What can stop an ensemble; what is done stays valid in every case."""

from __future__ import annotations

from saltus.errors import SaltusError


class EnsembleError(SaltusError):
    """An ensemble that could not be finished; it can be resumed."""


class WriteError(EnsembleError):
    """The store could not be written: the disk is full, or the like."""


class ChunkError(EnsembleError):
    """Samples that could not be computed."""


class Interrupted(EnsembleError):  # noqa: N818  (not an error of anyone)
    """Stopped by the user."""
