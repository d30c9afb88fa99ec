"""Where a grid of heights lies, and how heights are made ready: coarser, smoother, without gaps."""

from __future__ import annotations

import dataclasses

import numpy as np

RINGS = 8  # rings of pixels around the known ones that are extended linearly; farther on the nearest one serves


@dataclasses.dataclass(frozen=True)
class Label:
    """What is written on a map and does not change any motion; all labels are equal, so that compiled code is shared.

    Args:
        crs: Coordinate reference system of the map; empty if there is none.
        origin: Map coordinates of x = y = 0 [m].
        source: Name of the file, if it came from one.
    """

    crs: str = ""
    origin: tuple[float, float] = (0.0, 0.0)
    source: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Label)

    def __hash__(self) -> int:
        return hash(Label)


@dataclasses.dataclass(frozen=True)
class Grid:
    """The pixels of a map; rows go north, columns east.

    Args:
        shape: Number of rows and columns.
        x0: x of the first column's centre [m].
        y0: y of the first row's centre [m].
        dx: Distance of the columns [m].
        dy: Distance of the rows [m].
        crs: Coordinate reference system of the map; empty if there is none.
        origin: Map coordinates of x = y = 0 [m].
        source: Name of the file, if it came from one.
    """

    shape: tuple[int, int]
    x0: float
    y0: float
    dx: float
    dy: float
    crs: str = ""
    origin: tuple[float, float] = (0.0, 0.0)
    source: str = ""

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x and y, largest x and y of the pixels' centres [m]."""
        rows, columns = self.shape
        return self.x0, self.y0, self.x0 + (columns - 1) * self.dx, self.y0 + (rows - 1) * self.dy

    @property
    def x(self) -> np.ndarray:
        """Positions of the columns [m]."""
        return self.x0 + self.dx * np.arange(self.shape[1])

    @property
    def y(self) -> np.ndarray:
        """Positions of the rows [m]."""
        return self.y0 + self.dy * np.arange(self.shape[0])

    def pixels(self, x, y) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row and column of the pixel under each point, and whether there is one."""
        column = np.floor((np.asarray(x, float) - self.x0) / self.dx + 0.5)
        row = np.floor((np.asarray(y, float) - self.y0) / self.dy + 0.5)
        inside = (column >= 0) & (column < self.shape[1]) & (row >= 0) & (row < self.shape[0])
        return np.where(inside, row, 0).astype(int), np.where(inside, column, 0).astype(int), inside


def average_blocks(heights: np.ndarray, factor: int, place: tuple[float, float, float, float]):
    """Means over blocks of pixels (of what is known there), and where the new grid lies; a rest is left out."""
    if factor == 1:
        return heights, place
    rows, columns = (n // factor for n in heights.shape)
    blocks = heights[: rows * factor, : columns * factor].reshape(rows, factor, columns, factor)
    known = np.isfinite(blocks)
    count = known.sum(axis=(1, 3))
    total = np.where(known, blocks, 0.0).sum(axis=(1, 3))
    # A block with more gaps than heights is a gap.
    means = np.where(2 * count >= factor**2, total / np.maximum(count, 1), np.nan)
    x0, y0, dx, dy = place
    shift = (factor - 1) / 2
    return means, (x0 + shift * dx, y0 + shift * dy, factor * dx, factor * dy)


def smooth_heights(heights: np.ndarray, length: float, dx: float, dy: float) -> np.ndarray:
    """Heights smoothed with a Gaussian of this standard deviation [m]; gaps stay gaps and do not leak in."""
    if length == 0.0:
        return heights
    known = np.isfinite(heights)
    sigma = (length / dy, length / dx)
    # The surface is continued point-symmetrically about its ends: a slope stays a slope up to the border.
    pad = [int(4 * s + 2) for s in sigma]
    pad = [min(p, n - 1) for p, n in zip(pad, heights.shape, strict=True)]
    values = np.pad(fill_gaps(heights), [(p, p) for p in pad], mode="reflect", reflect_type="odd")
    from scipy import ndimage

    result = ndimage.gaussian_filter(values, sigma, mode="nearest")
    result = result[pad[0] : pad[0] + heights.shape[0], pad[1] : pad[1] + heights.shape[1]]
    return np.where(known, result, np.nan)


def fill_gaps(heights: np.ndarray) -> np.ndarray:
    """Heights with the gaps filled: extended linearly near known ones, so that the spline does not ring there."""
    if np.isfinite(heights).all():
        return heights
    result = np.array(heights)
    for _ in range(RINGS):
        missing = ~np.isfinite(result)
        if not missing.any():
            return result
        result = np.where(missing, _extrapolate(result), result)
    missing = ~np.isfinite(result)
    from scipy import ndimage

    nearest = np.zeros((result.ndim, *result.shape), np.int32)
    ndimage.distance_transform_edt(missing, return_distances=False, return_indices=True, indices=nearest)
    return result[tuple(nearest)]


def _extrapolate(heights: np.ndarray) -> np.ndarray:
    """For each pixel the mean of what lines through two neighbours in the eight directions foretell; NaN if none."""
    padded = np.pad(heights, 2, constant_values=np.nan)
    rows, columns = heights.shape
    total, count = np.zeros(heights.shape), np.zeros(heights.shape)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            if down == right == 0:
                continue
            near, far = (
                padded[2 + k * down : 2 + k * down + rows, 2 + k * right : 2 + k * right + columns] for k in (1, 2)
            )
            value = np.where(np.isfinite(far), 2 * near - far, near)
            # A straight line counts far more than a lone neighbour.
            weight = np.where(np.isfinite(far), 1.0, 1e-6) * np.isfinite(near)
            total += np.where(weight > 0, weight * value, 0.0)
            count += weight
    return np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan)
