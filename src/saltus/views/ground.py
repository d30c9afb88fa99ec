"""The surface under a run, as its dataset keeps it."""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

from saltus.io import ground as kept


@dataclasses.dataclass(frozen=True)
class Ground:
    """Points of a surface around the motion; NaN where it is not defined.

    Args:
        x: Coordinates along x [m]; nearly a square grid, its outermost points moved onto the surface's border.
        y: Coordinates along y [m].
        z: Heights [m].
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest point [m]."""
        return float(np.nanmin(self.z)), float(np.nanmax(self.z))

    def normals(self, position: np.ndarray) -> np.ndarray:
        """Upward unit normals under these positions, from the slopes of the grid (for drawing)."""
        x, y = (np.linspace(at.min(), at.max(), n) for at, n in ((self.x, self.x.shape[1]), (self.y, len(self.y))))
        z = np.where(np.isfinite(self.z), self.z, np.nanmin(self.z))
        along_y, along_x = np.gradient(z, y[1] - y[0], x[1] - x[0])
        column = np.clip(np.rint((position[..., 0] - x[0]) / (x[1] - x[0])), 0, len(x) - 1)
        row = np.clip(np.rint((position[..., 1] - y[0]) / (y[1] - y[0])), 0, len(y) - 1)
        row, column = np.nan_to_num(row).astype(int), np.nan_to_num(column).astype(int)
        normal = np.stack([-along_x[row, column], -along_y[row, column], np.ones(row.shape)], axis=-1)
        return normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def ground(dataset: xr.Dataset) -> Ground | None:
    """The surface around the motion; None for a run without one."""
    if "ground_height" not in dataset or not np.isfinite(dataset["ground_height"].values).any():
        return None
    return Ground(*(dataset[name].values for name in kept.MEANING))


def extent(dataset: xr.Dataset, padding: float) -> list[tuple[float, float]]:
    """A rectangle around all positions, (low, high) along x and y [m]."""
    return kept.extent(dataset["position"].values, padding)
