"""Results in memory and on disk; xarray is loaded when first needed."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.io.dataset import mode_names, read, to_dataset, write
    from saltus.io.files import atomic_write, check_suffix, check_writable
    from saltus.io.without_dask import without_dask

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

__getattr__, __dir__ = late(
    __name__,
    {
        "dataset": ("mode_names", "read", "to_dataset", "write"),
        "files": ("atomic_write", "check_suffix", "check_writable"),
        "without_dask": ("without_dask",),
    },
)
