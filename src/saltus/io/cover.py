"""Types of ground from polygons and rasters, onto the pixels of a terrain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from saltus.errors import ScenarioError
from saltus.io import release
from saltus.surfaces.grid import Grid

WORD = "ground"


def in_polygon(grid: Grid, polygon: str | Sequence[Sequence[float]]) -> np.ndarray:
    """Which pixels have their centre within a polygon: its corners, or a GeoJSON file with one or several."""
    rings = (
        release.read_polygons(polygon, grid, "ground polygon")
        if isinstance(polygon, str)
        else [np.asarray(polygon, float)]
    )
    x, y = np.meshgrid(grid.x, grid.y)
    found = release.inside(rings, np.column_stack([x.ravel(), y.ravel()])).reshape(grid.shape)
    return _some(found, f"The ground's polygon {polygon!r}" if isinstance(polygon, str) else "The ground's polygon")


def in_raster(grid: Grid, file: str, values: Sequence[float] | None) -> np.ndarray:
    """Which pixels have their centre on a raster's pixel of these values, or of any above zero."""
    numbers, pixels = release.read_beside(file, grid, WORD)
    marked = np.nan_to_num(numbers) > 0.0 if values is None else np.isin(numbers, np.asarray(values, float))
    x, y = np.meshgrid(grid.x, grid.y)
    row, column, there = pixels.pixels(x, y)
    return _some(there & marked[row, column], f"The ground's raster {file!r}")


def _some(found: np.ndarray, what: str) -> np.ndarray:
    if not found.any():
        raise ScenarioError(f"{what} covers no pixel of the terrain. Look at its coordinates and values.")
    return found
