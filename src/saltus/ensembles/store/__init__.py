"""The result of an ensemble on disk."""

from saltus.ensembles.store.store import Store, check_new, chunk_size

__all__ = ["Store", "check_new", "chunk_size"]
