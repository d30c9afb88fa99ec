"""The surface under a run, as far as the dataset tells it."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from saltus.surfaces import AbstractSurface


@dataclasses.dataclass(frozen=True)
class Ground:
    """Heights over a rectangle around the motion; NaN where the surface is not defined.

    Args:
        x: Coordinates along x [m].
        y: Coordinates along y [m].
        z: Heights [m], of shape (len(y), len(x)).
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray


def surface_under(dataset: xr.Dataset) -> AbstractSurface | None:
    """The surface of the run's scenario; None for a run without one, or whose map is not here."""
    text = dataset.attrs.get("scenario")
    if not text:
        return None
    description = tomllib.loads(text)["surface"]
    if description.get("type") == "terrain" and not Path(description["file"]).is_file():
        return None
    from saltus.surfaces import named

    return named(description)


def ground(dataset: xr.Dataset, points: int = 181, padding: float = 0.15) -> Ground | None:
    """The surface around the motion; None for a run that was not made from a scenario, or whose map is not here."""
    surface = surface_under(dataset)
    if surface is None:
        return None
    x, y = (np.linspace(low, high, points) for low, high in extent(dataset, padding))
    over_x, over_y = np.meshgrid(x, y)
    z = np.asarray(surface.height(over_x, over_y))
    return Ground(x, y, np.where(np.asarray(surface.margin(over_x, over_y)) > 0, z, np.nan))


def extent(dataset: xr.Dataset, padding: float) -> list[tuple[float, float]]:
    """A square-ish rectangle around all positions, (low, high) along x and y [m]."""
    spans = []
    for axis in (0, 1):
        values = dataset["position"].values[..., axis]
        spans.append((float(np.nanmin(values)), float(np.nanmax(values))))
    widest = max(high - low for low, high in spans) or 1.0
    out = []
    for low, high in spans:
        half = max((high - low) / 2, 0.3 * widest) + padding * widest
        middle = (low + high) / 2
        out.append((middle - half, middle + half))
    return out
