"""Distributions of several numbers at once: places within an area, and rotations."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from saltus.errors import ScenarioError
from saltus.io import release
from saltus.io.geojson import overlaps
from saltus.scenarios.ensemble import AREAS, DistributionModel

if TYPE_CHECKING:
    from saltus.scenarios import Scenario
    from saltus.surfaces.grid import Grid

Columns = list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Vector:
    """A distribution of several numbers.

    Args:
        needs: How many uniform numbers it is made from.
        size: How many numbers it gives.
        columns: From columns of uniform numbers to columns of values.
    """

    needs: int
    size: int
    columns: Callable[..., Columns]


def vector(key: str, model: DistributionModel, grid: Grid | None) -> Vector:
    """The distribution that the table of a key describes.

    `grid` is that of the terrain, if there is one: files are in map coordinates, and places must not all lie off it.
    """
    if model.name not in AREAS:
        return Vector(3, 4, rotations)
    columns, corners = _places(model, grid)
    if grid is not None and key.endswith("position") and not overlaps(grid, corners):
        release.refuse_off_map(grid, corners, f"The area of `ensemble.{key}`")
    return Vector(2, 2, columns)


def terrain_grid(scenario: Scenario) -> Grid | None:
    """The pixels of a scenario's terrain, if its ensemble draws places."""
    table, surface = scenario.ensemble, getattr(scenario, "surface", None)
    places = table is not None and any(one.area is not None for one in table.parameters.values())
    if not places or surface is None or surface.type != "terrain":
        return None
    return surface.known().grid


def rotations(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> Columns:
    """Quaternions (w, x, y, z) that are evenly distributed over all rotations."""
    # A point of the unit sphere in four dimensions, by two circles whose radii share 1 evenly.
    first, second = np.sqrt(1.0 - u), np.sqrt(u)
    a, b = 2.0 * np.pi * v, 2.0 * np.pi * w
    return [first * np.cos(a), first * np.sin(a), second * np.cos(b), second * np.sin(b)]


def _places(model: DistributionModel, grid: Grid | None) -> tuple[Callable[..., Columns], np.ndarray]:
    """How places are drawn, and points that span their area."""
    if model.points is not None:
        points = np.asarray(model.points, float)
        return lambda u, v: list(points[_number(u, len(points))].T), points
    if model.raster is not None:
        pixels = release.marked_pixels(model.raster, grid)
        return _in_pixels(pixels), np.column_stack([pixels.x, pixels.y])
    if isinstance(model.polygon, str):
        rings = release.read_polygons(model.polygon, grid)
    else:
        rings = [np.asarray(model.polygon, float)]
    return in_rings(rings), np.concatenate(rings)


def _number(u: np.ndarray, count: int) -> np.ndarray:
    return np.minimum((u * count).astype(int), count - 1)


def _in_pixels(pixels: release.Pixels) -> Callable[..., Columns]:
    """Evenly over the marked pixels: which one, and where in it."""

    def columns(u, v):
        which = _number(u, len(pixels.x))
        return [
            pixels.x[which] + (u * len(pixels.x) - which - 0.5) * pixels.dx,
            pixels.y[which] + (v - 0.5) * pixels.dy,
        ]

    return columns


def in_rings(rings: Sequence[np.ndarray]) -> Callable[..., Columns]:
    """Evenly over the area within rings (holes are rings of their own): a trapezoid, a height in it, a place along."""
    table = np.array(_trapezoids(rings))
    if not len(table):
        raise ScenarioError("The release polygon has no area. Give its corners in order around it.")
    low, high, left, left_top, right, right_top = table.T
    width, width_top = right - left, right_top - left_top
    area = 0.5 * (width + width_top) * (high - low)
    ends = np.cumsum(area) / area.sum()

    def columns(u, v):
        which = np.minimum(np.searchsorted(ends, u, side="right"), len(ends) - 1)
        share = (u - np.where(which > 0, ends[which - 1], 0.0)) * area.sum() / area[which]
        # The area below a height grows quadratically with it; this root stays exact where both sides are equal.
        a, b = width[which], width_top[which]
        wanted = np.clip(share, 0.0, 1.0) * (a + b)
        part = wanted / (a + np.sqrt(np.maximum(a * a + wanted * (b - a), 0.0)))
        x = left[which] + part * (left_top - left)[which] + v * (a + part * (b - a))
        return [x, low[which] + part * (high - low)[which]]

    return columns


def _trapezoids(rings: Sequence[np.ndarray]) -> list[tuple[float, ...]]:
    """The area between each two neighbouring heights of corners: y and y, x at the left at both, x at the right."""
    edges = [(p, q) for ring in rings for p, q in zip(ring, np.roll(ring, -1, axis=0), strict=True) if p[1] != q[1]]
    heights = np.unique(np.concatenate([ring[:, 1] for ring in rings]))
    found = []
    for low, high in itertools.pairwise(heights):
        cuts = []
        for p, q in edges:
            if min(p[1], q[1]) <= low and max(p[1], q[1]) >= high:
                slope = (q[0] - p[0]) / (q[1] - p[1])
                cuts.append((p[0] + slope * (low - p[1]), p[0] + slope * (high - p[1])))
        cuts.sort(key=sum)
        for (left, left_top), (right, right_top) in zip(cuts[::2], cuts[1::2], strict=False):
            if right + right_top > left + left_top:
                found.append((low, high, left, left_top, right, right_top))
    return found
