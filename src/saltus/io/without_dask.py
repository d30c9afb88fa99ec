"""xarray without Dask, which takes longer to load than all else of a run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def without_dask() -> Iterator[None]:
    """Within it xarray finds no Dask, which it would load to ask of every array whether it is one of Dask's.

    For processes in which all arrays are numpy's, such as that of `saltus run`.
    """
    if "dask" in sys.modules:
        yield
        return
    nothing: Any = None  # how Python marks a module that cannot be imported
    sys.modules["dask"] = nothing
    _forget_dask()
    try:
        yield
    finally:
        del sys.modules["dask"]
        _forget_dask()


def _forget_dask() -> None:
    """Have xarray look again whether there is Dask; where it remembers that otherwise, it does so at its next start."""
    if "xarray" not in sys.modules:
        return
    from xarray.namedarray import pycompat, utils

    getattr(pycompat, "_cached_duck_array_modules", {}).pop("dask", None)
    getattr(getattr(utils, "module_available", None), "cache_clear", lambda: None)()
