"""Arrays as text that a browser reads quickly, and which rows of a run are kept in a page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import xarray as xr

TYPES = {"f4": "<f4", "f8": "<f8", "u1": "u1", "i1": "i1", "i4": "<i4"}


def pack(values: Any, kind: str = "f4") -> dict[str, Any]:
    """An array as its type, its shape and its bytes in base64, little-endian."""
    array = np.ascontiguousarray(np.asarray(values), dtype=TYPES[kind])
    return {"type": kind, "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode("ascii")}


def chosen_rows(dataset: xr.Dataset, most: int) -> np.ndarray:
    """At most about `most` rows of a run: the first and the last, both sides of jumps, and the others evenly.

    Where the jumps alone are too many, some of them are kept, always with both sides.
    """
    side = dataset["jump_side"].values
    if len(side) <= most:
        return np.arange(len(side))
    before = np.flatnonzero(side[:-1] == -1)
    if 2 * len(before) > most // 2:
        before = before[np.unique(np.linspace(0, len(before) - 1, most // 4).round().astype(int))]
    jumps = np.concatenate([before, before + 1])
    rest = most - len(jumps)
    times = dataset["time"].values
    wanted = np.linspace(times[0], times[-1], max(rest, 2))
    even = np.clip(np.searchsorted(times, wanted), 0, len(times) - 1)
    # A row that is one side of a jump without its other side would be taken for smooth motion.
    even = even[side[even] == 0]
    return np.unique(np.concatenate([[0, len(times) - 1], jumps, even]))


def as_texts(values: np.ndarray) -> list[str]:
    """Numbers and words of a column of a table as short texts; nothing where there is nothing."""
    if values.dtype.kind in "OUST":
        return [str(value).replace("_", " ") for value in values]
    if values.dtype.kind in "iub":
        return ["" if value < 0 else str(value) for value in values.tolist()]
    if values.ndim == 2:
        rows = values.tolist()
        return ["" if np.isnan(row).all() else "(" + ", ".join(f"{one:.4g}" for one in row) + ")" for row in rows]
    return ["" if np.isnan(value) else f"{value:.6g}" for value in values.tolist()]


def unit_text(units: str) -> str:
    """Units as they are printed: "m s-1" is "m/s"."""
    known = {"1": "", "m s-1": "m/s", "rad s-1": "rad/s", "m s-2": "m/s²", "kg m s-1": "kg m/s",
             "kg m2 s-1": "kg m²/s", "m-2": "1/m²", "s-1": "1/s", "m2": "m²", "m2 s-1": "m²/s"}  # fmt: skip
    return known.get(units, units)
