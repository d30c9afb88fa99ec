"""Release areas: where many masses start, from points, polygons and rasters."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from saltus import checks
from saltus.errors import ScenarioError
from saltus.io import geojson

if TYPE_CHECKING:
    from saltus.surfaces import AbstractSurface
    from saltus.surfaces.grid import Grid
    from saltus.surfaces.known import KnownSurface

    AnyGround = AbstractSurface | KnownSurface

# Masses closer than this many spacings are neighbours: six on a triangular grid, eight on a square one.
REACH = {"triangular": 1.1, "square": 1.5}
MOST = 1_000_000  # masses of one release area

Ring = np.ndarray


@dataclasses.dataclass(frozen=True)
class ReleaseMasses:
    """Masses of a release area.

    Args:
        position: Horizontal position of each, of shape (n, 2) [m].
        pairs: Neighbours that a rod joins.
    """

    position: np.ndarray
    pairs: list[tuple[int, int]]

    def check_on_surface(self, surface: AbstractSurface) -> None:
        """Refuse masses that lie where the surface is not defined; known ones only."""
        from saltus.surfaces.heights import ground

        margin = checks.concrete(ground(surface, *self.position.T)[1])
        if margin is not None:
            self.check_margin(margin)

    def check_margin(self, margin: np.ndarray) -> None:
        """The same by the margins of the surface at the masses, which are positive where it is defined."""
        on = margin > 0.0
        if not on.all():
            x, y = self.position[np.argmin(on)]
            raise ScenarioError(
                f"{int((~on).sum())} of the {len(on)} released masses lie outside the map or where it has no data, "
                f"such as that at ({x:g}, {y:g}) m."
            )


def in_polygon(surface: AnyGround, polygon: str | Sequence[Sequence[float]], spacing: float, grid: str):
    """Masses on a grid within a polygon: its corners, or a GeoJSON file with one or several."""
    if isinstance(polygon, str | os.PathLike):
        rings = read_polygons(polygon, surface.grid)
    else:
        rings = [np.asarray(polygon, float)]
    corners = np.concatenate(rings)
    _check_overlap(surface, corners)
    nodes = lattice(corners.min(axis=0), corners.max(axis=0), spacing, grid)
    return _some(nodes[inside(rings, nodes)], spacing)


@dataclasses.dataclass(frozen=True)
class Pixels:
    """The pixels that a raster marks, in the coordinates of the surface.

    Args:
        x: x of the centre of each [m].
        y: y of the centre of each [m].
        dx: Width of a pixel [m].
        dy: Height of a pixel [m].
    """

    x: np.ndarray
    y: np.ndarray
    dx: float
    dy: float


def read_beside(file: str | os.PathLike, ground: Grid | None, word: str = "release") -> tuple[np.ndarray, Grid]:
    """The values of a raster, and its pixels in the coordinates of the surface; it must be in the terrain's system."""
    from saltus.surfaces.grid import Grid
    from saltus.surfaces.raster import read_raster

    raster = read_raster(file, needs_crs=bool(ground and ground.crs))
    if ground is not None and raster.crs and ground.crs and not _same_system(raster.crs, ground.crs):
        raise ScenarioError(
            f"The {word} raster {str(file)!r} is in {raster.crs[:40]}, the terrain in {ground.crs[:40]}. "
            "Warp it to the system of the terrain (gdalwarp -t_srs)."
        )
    shift = np.asarray(ground.origin if ground else (0.0, 0.0))
    return raster.values, Grid(raster.values.shape, raster.x0 - shift[0], raster.y0 - shift[1], raster.dx, raster.dy)


def marked_pixels(file: str | os.PathLike, ground: Grid | None) -> Pixels:
    """The pixels of a release raster that are above zero."""
    values, grid = read_beside(file, ground)
    rows, columns = np.nonzero(_mark(file, values))
    return Pixels(grid.x[columns], grid.y[rows], grid.dx, grid.dy)


def _mark(file: str | os.PathLike, values: np.ndarray) -> np.ndarray:
    marked = np.nan_to_num(values) > 0.0
    if not marked.any():
        raise ScenarioError(f"The release raster {str(file)!r} marks no pixel: none is above zero.")
    return marked


def in_raster(surface: AnyGround, file: str | os.PathLike, spacing: float, grid: str) -> np.ndarray:
    """Masses on a grid within the pixels of a raster that are above zero."""
    values, pixels = read_beside(file, surface.grid)
    marked = _mark(file, values)
    rows, columns = np.nonzero(marked)
    low = np.array([pixels.x[columns.min()] - pixels.dx / 2, pixels.y[rows.min()] - pixels.dy / 2])
    high = np.array([pixels.x[columns.max()] + pixels.dx / 2, pixels.y[rows.max()] + pixels.dy / 2])
    _check_overlap(surface, np.stack([low, high]))
    nodes = lattice(low, high, spacing, grid)
    row, column, there = pixels.pixels(*nodes.T)
    return _some(nodes[there & marked[row, column]], spacing)


def lattice(low: np.ndarray, high: np.ndarray, spacing: float, grid: str) -> np.ndarray:
    """Nodes of a square or triangular grid over a rectangle, each at the middle of its part of the area."""
    rise = spacing * (np.sqrt(3.0) / 2.0 if grid == "triangular" else 1.0)
    count = np.maximum(np.floor((high - low) / (spacing, rise) + 1e-6), 1.0)
    if np.prod(count) > MOST:
        raise ScenarioError(
            f"A spacing of {spacing:g} m would lay {np.prod(count):.3g} masses; at most {MOST} are "
            "allowed. Raise `release.spacing`."
        )
    first = (low + high - (count - 1) * (spacing, rise)) / 2
    column, row = np.meshgrid(np.arange(count[0]), np.arange(count[1]))
    stagger = 0.5 * (row % 2) - 0.25 if grid == "triangular" else 0.0
    nodes = np.stack([first[0] + spacing * (column + stagger), first[1] + rise * row], axis=-1)
    return nodes.reshape(-1, 2)


def inside(rings: Sequence[Ring], nodes: np.ndarray) -> np.ndarray:
    """Which nodes lie within polygons, by counting the edges west of each; holes are rings of their own."""
    odd = np.zeros(len(nodes), bool)
    x, y = nodes.T
    for ring in rings:
        for (x1, y1), (x2, y2) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
            crosses = (y1 > y) != (y2 > y)
            if y1 != y2:
                odd ^= crosses & (x > x1 + (y - y1) * (x2 - x1) / (y2 - y1))
    return odd


def neighbours(position: np.ndarray, reach: float) -> list[tuple[int, int]]:
    """Pairs of masses not farther apart than `reach`, seen from above."""
    along = int(np.argmax(np.ptp(position, axis=0)))  # the longer side: few masses are beside each other there
    order = np.argsort(position[:, along], kind="stable")
    ordered, found = position[order], []
    for ahead in range(1, len(ordered)):  # each with the first, second, ... mass ahead of it
        apart = ordered[ahead:] - ordered[:-ahead]
        if not (apart[:, along] <= reach).any():
            break
        near = np.flatnonzero(np.sum(apart**2, axis=1) <= reach**2)
        found += zip(order[near].tolist(), order[near + ahead].tolist(), strict=True)
    return sorted((min(pair), max(pair)) for pair in found)


def read_polygons(file: str | os.PathLike, ground: Grid | None, word: str = "release area") -> list[Ring]:
    """All rings of the polygons of a GeoJSON file, in the coordinates of the surface; messages call it `word`."""
    return geojson.read_parts(file, "Polygon", ground, word)


def _same_system(one: str, other: str) -> bool:
    from rasterio.crs import CRS

    return CRS.from_user_input(one) == CRS.from_user_input(other)


def _check_overlap(surface: AnyGround, points: np.ndarray) -> None:
    ground = surface.grid
    if ground is not None and not geojson.overlaps(ground, points):
        refuse_off_map(ground, points, "The release area")


def refuse_off_map(ground: Grid, points: np.ndarray, what: str) -> NoReturn:
    """Tell that something lies off the map, and where that is."""
    x_low, y_low, x_high, y_high = ground.bounds
    low, high = points.min(axis=0), points.max(axis=0)
    raise ScenarioError(
        f"{what}, x {low[0]:g} to {high[0]:g} m and y {low[1]:g} to {high[1]:g} m, lies outside the map, "
        f"x {x_low:g} to {x_high:g} m and y {y_low:g} to {y_high:g} m."
    )


def _some(position: np.ndarray, spacing: float) -> np.ndarray:
    if not len(position):
        raise ScenarioError(f"The release area holds no mass at a spacing of {spacing:g} m. Lower `release.spacing`.")
    return position
