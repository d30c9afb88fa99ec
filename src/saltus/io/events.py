"""The events of a run as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from saltus.hybrid import Event, HybridSystem

# Units and phrases of what systems commonly tell of an event; a system adds to them by `event_quantities`.
COMMON: dict[str, tuple[str, str]] = {
    "energy_loss": ("J", "energy lost at the event"),
    "impulse": ("N s", "impulse at the event"),
    "body": ("1", "index of the body"),
    "mass": ("1", "index of the mass"),
    "rod": ("1", "index of the rod"),
    "particle": ("1", "index of the particle"),
    "contact": ("1", "index of the contact"),
    "point": ("m", "point of the event"),
    "normal": ("1", "unit normal at the event"),
    "position": ("m", "position at the event"),
    "velocity": ("m s-1", "velocity at the event"),
    "speed": ("m s-1", "speed at the event"),
    "normal_force": ("N", "normal force before the event"),
    "rod_force": ("N", "rod force before the event"),
}

Column = tuple[tuple[str, ...], np.ndarray, dict[str, str]]


def event_table(system: HybridSystem, events: Sequence[Event], sizes: Mapping[str, int]) -> dict[str, xr.Variable]:
    """Variables `event_<name>` with the dimension `event`.

    What an event does not have is NaN, -1 or "". A vector whose length is that of `axis` has that dimension.
    """
    columns = {
        "time": (np.array([float(event.t) for event in events]), "s", "time of the event"),
        "name": (_texts([event.name for event in events]), "1", "name of the event"),
        "index": (np.array([int(event.index) for event in events], int), "1", "which of the things its guard watches"),
    }
    for key in dict.fromkeys(key for event in events for key in event.data):
        values = _column([event.data.get(key) for event in events])
        columns[key] = (values, *_meaning(system, key))
    table = {}
    for key, (values, units, long_name) in columns.items():
        attributes = {"units": units, "long_name": long_name}
        table[f"event_{key}"] = xr.Variable(("event", *_dims(key, values, sizes)), values, attributes)
    return table


def _meaning(system: HybridSystem, key: str) -> tuple[str, str]:
    quantity = system.event_quantities().get(key)
    if quantity is not None:
        return quantity.units, quantity.long_name
    return COMMON.get(key, ("", key.replace("_", " ") + " at the event"))


def _dims(key: str, values: np.ndarray, sizes: Mapping[str, int]) -> tuple[str, ...]:
    if values.ndim == 2 and values.shape[1] == sizes.get("axis"):
        return ("axis",)
    return tuple(f"{key}_component_{i}" for i in range(values.ndim - 1))


def _column(values: list[Any]) -> np.ndarray:
    """One array of what the events say, with fillers where an event says nothing."""
    present = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in present):
        return _texts(["" if value is None else str(value) for value in values])
    arrays = [np.asarray(value) for value in present]
    integers = all(np.issubdtype(array.dtype, np.integer) or array.dtype == bool for array in arrays)
    rank = max(array.ndim for array in arrays)
    shape = tuple(max(array.shape[i] if i < array.ndim else 1 for array in arrays) for i in range(rank))
    column = np.full((len(values), *shape), -1 if integers else np.nan, dtype=int if integers else float)
    for row, value in enumerate(values):
        if value is not None:
            array = np.asarray(value)
            column[(row, *(slice(n) for n in array.shape), *(0 for _ in range(rank - array.ndim)))] = array
    return column


def _texts(values: list[str]) -> np.ndarray:
    return np.array(values, dtype=object) if values else np.empty(0, dtype="<U1")
