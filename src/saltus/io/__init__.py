"""Results in memory and on disk."""

from saltus.io.dataset import check_suffix, mode_names, read, to_dataset, without_dask, write
from saltus.io.files import atomic_write, check_writable

__all__ = [
    "atomic_write",
    "check_suffix",
    "check_writable",
    "mode_names",
    "read",
    "to_dataset",
    "without_dask",
    "write",
]
