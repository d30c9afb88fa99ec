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

    def heights(self, position: np.ndarray) -> np.ndarray:
        """Heights under these positions, between the points of the grid (for drawing); NaN beside the surface."""
        x, y = self._sides()
        column, row = ((position[..., k] - side[0]) / (side[1] - side[0]) for k, side in enumerate((x, y)))
        c, r = (np.clip(np.nan_to_num(at).astype(int), 0, n - 2) for at, n in ((column, len(x)), (row, len(y))))
        right, down = np.clip(column - c, 0.0, 1.0), np.clip(row - r, 0.0, 1.0)
        near = (1 - right) * self.z[r, c] + right * self.z[r, c + 1]
        return (1 - down) * near + down * ((1 - right) * self.z[r + 1, c] + right * self.z[r + 1, c + 1])

    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the columns and of the rows, away from the border."""
        x, y = (np.linspace(at.min(), at.max(), n) for at, n in ((self.x, self.x.shape[1]), (self.y, len(self.y))))
        return x, y

    def normals(self, position: np.ndarray) -> np.ndarray:
        """Upward unit normals under these positions, from the slopes of the grid (for drawing)."""
        x, y = self._sides()
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
