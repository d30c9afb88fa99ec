"""Hazard maps: what many runs say of every pixel of a terrain, and the way to GeoTIFF.

Runs are added one by one, so that memory does not grow with their number; partial sums of several workers can be
merged in any order.
"""

from __future__ import annotations

import collections
import dataclasses
import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from saltus.errors import ScenarioError
from saltus.hybrid.outcome import OUTCOMES
from saltus.io.files import atomic_write
from saltus.surfaces.grid import Grid
from saltus.surfaces.raster import require_rasterio

# Name of each map: units, and what it shows.
MAPS = {
    "passage_probability": ("1", "share of the runs in which something passed the pixel"),
    "largest_speed": ("m s-1", "largest speed seen in the pixel"),
    "stopping_density": ("m-2", "masses that came to rest per area and run"),
    "breaking_force": ("N", "mean size of the rod force at the breaks in the pixel"),
}
STRIDE = 0.5  # pixels between the points at which a path is looked at


class RunMaps:
    """What maps of all kinds know of their runs: how many there are, and how many of them ended before their time."""

    shown: ClassVar[dict[str, tuple[str, str]]]  # name of each map: units, and what it shows
    body: ClassVar[tuple[str, str]]  # what moves: one, and many
    grid: Grid
    stopped: np.ndarray  # how many bodies came to rest in each pixel

    def __post_init__(self):
        self.runs, self.stopped = 0, np.zeros(self.grid.shape)
        self.left = self.moving = 0  # bodies that left the map, and that still moved at the end of their run
        self.cut_off: collections.Counter[str] = collections.Counter()  # runs that ended too early, by outcome
        self.failed = 0  # samples of ensembles that could not be built
        self.sampled, self.apart = 0, 0.0  # runs known at their samples only, and how far those are apart at most
        self._made: tuple[int, dict[str, np.ndarray]] | None = None  # of how many runs maps were made, and these

    def add_run(self, dataset: xr.Dataset) -> None:
        """Add a run from its dataset; one without times is a sample of an ensemble that could not be built."""
        if dataset.sizes["time"] == 0:
            self.failed += 1
        else:
            self._add_run(dataset)

    def _add_run(self, dataset: xr.Dataset) -> None:
        raise NotImplementedError

    def count_run(self, outcome: str, left: int, moving: int) -> None:
        """Count a run that ended with this outcome, with so many bodies off the map and still moving."""
        self.runs += 1
        self.left += left
        self.moving += moving
        if not OUTCOMES.get(outcome, True):
            self.cut_off[outcome] += 1

    def count_runs(self, other: RunMaps) -> None:
        """Count the runs of others as well."""
        self.runs, self.left, self.moving = self.runs + other.runs, self.left + other.left, self.moving + other.moving
        self.cut_off += other.cut_off
        self.failed, self.sampled = self.failed + other.failed, self.sampled + other.sampled
        self.apart = max(self.apart, other.apart)

    def count_sampled(self, apart: float) -> None:
        """Count a run that is known at its samples only, so far apart at most [m]."""
        self.sampled += 1
        self.apart = max(self.apart, apart)

    def interpolated(self) -> str:
        """Of how many runs the maps know the samples only, in a sentence; "" if they follow every run itself."""
        if not self.sampled:
            return ""
        return (
            f"Interpolated: {self.sampled} of {self.runs} runs {'is' if self.sampled == 1 else 'are'} known at samples "
            f"only, up to {self.apart:.3g} m apart; what lies between may be larger."
        )

    def incomplete(self) -> str:
        """What the maps lack, in a sentence; "" if every body of every run came to rest on the map."""
        one, many = self.body
        missing = []
        if self.failed:
            missing.append(f"{self.failed} of {self.runs + self.failed} samples could not be built")
        if self.cut_off:
            names = ", ".join(self.cut_off)
            missing.append(f"{self.cut_off.total()} of {self.runs} runs were cut off ({names})")
        if self.left:
            missing.append(f"{self.left} {one if self.left == 1 else many} left the map")
        if self.moving:
            missing.append(f"{self.moving} {one if self.moving == 1 else many} still moved at the end")
        return f"Incomplete: {', '.join(missing)}." if missing else ""

    def facts(self) -> dict[str, Any]:
        """Of how many runs the maps are, how many pixels these passed, how many bodies stopped, and what is lacking."""
        many = self.body[1]
        return {
            "runs": self.runs,
            "pixels_passed": int((self.maps()["passage_probability"] > 0).sum()),
            "samples_failed": self.failed,
            f"{many}_stopped": float(self.stopped.sum()),
            f"{many}_left": self.left,
            f"{many}_moving": self.moving,
            "runs_cut_off": dict(self.cut_off),
            "incomplete": self.incomplete(),
            "interpolated": self.interpolated(),
        }

    def maps(self) -> dict[str, np.ndarray]:
        """The maps by name, rows going north; NaN where there is nothing to say."""
        if self.runs == 0:
            raise ValueError("There are no runs yet: add some before asking for maps.")
        if self._made is None or self._made[0] != self.runs:
            self._made = self.runs, self._layers()  # asked for by the file, the figure and the summary
        return dict(self._made[1])

    def _layers(self) -> dict[str, np.ndarray]:
        raise NotImplementedError


@dataclasses.dataclass
class Hazard(RunMaps):
    """Sums over runs, per pixel of a terrain.

    Examples:
        >>> hazard = Hazard(Grid((4, 5), 0.0, 0.0, 1.0, 1.0))
        >>> hazard.add(position=np.array([[[0.0, 0.0]], [[4.0, 0.0]]]), speed=np.array([[0.0], [2.0]]))
        >>> hazard.maps()["passage_probability"][0].tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0]

    Args:
        grid: The pixels, as `Terrain.grid` has them.
    """

    shown = MAPS
    body = ("mass", "masses")
    grid: Grid

    def __post_init__(self):
        super().__post_init__()
        self.passed, self.breaks, self.force = (np.zeros(self.grid.shape) for _ in range(3))
        self.speed = np.full(self.grid.shape, -np.inf)

    def add(
        self, position, speed, stops=None, break_points=None, break_forces=None, *,
        left: int = 0, moving: int = 0, outcome: str = "finished",
    ) -> None:  # fmt: skip
        """Add one run; what is NaN is left out.

        Args:
            position: Where the masses were, of shape (time, mass, 2 or 3) [m].
            speed: How fast, of shape (time, mass) [m s-1].
            stops: Where masses came to rest, of shape (any, 2 or 3) [m].
            break_points: Where rods broke, of shape (any, 2 or 3) [m].
            break_forces: With which force, of shape (any,) [N].
            left: How many masses left the map.
            moving: How many were still moving at the end.
            outcome: How the run ended.
        """
        position, speed = np.asarray(position, float), np.asarray(speed, float)
        if position.ndim != 3 or position.shape[:2] != speed.shape:
            raise ValueError(
                f"`position` must be of shape (time, mass, axis) and `speed` of (time, mass), got {position.shape} and "
                f"{speed.shape}."
            )
        self.count_run(outcome, left, moving)
        x, y, fast = self._dense(position, speed)
        row, column, there = self.grid.pixels(x, y)
        row, column = row[there], column[there]
        seen = np.zeros(self.grid.shape, bool)
        seen[row, column] = True
        self.passed += seen
        np.maximum.at(self.speed, (row, column), fast[there])
        self._count(self.stopped, stops)
        if break_points is not None:
            self._count(self.breaks, break_points)
            self._count(self.force, break_points, np.abs(np.asarray(break_forces, float)))

    def _add_run(self, dataset: xr.Dataset) -> None:
        """Add a run of masses on a surface from its dataset; masses that stick at its end have stopped there."""
        names = str(dataset.attrs["mode_names"]).split(", ")
        position, velocity = dataset["position"].values, dataset["velocity"].values
        last = dataset["mode"].values[-1]
        apart = np.nanmax(np.linalg.norm(np.diff(position[..., :2], axis=0), axis=-1), initial=0.0)
        if apart > min(self.grid.dx, self.grid.dy):
            self.count_sampled(float(apart))
        still, gone = last == names.index("stick"), last == (names.index("gone") if "gone" in names else -1)
        points, forces = None, None
        if "event_rod_force" in dataset and "event_point" in dataset:
            broke = dataset["event_name"].values == "rod_broken"
            points, forces = dataset["event_point"].values[broke], dataset["event_rod_force"].values[broke]
        self.add(
            position,
            np.linalg.norm(velocity, axis=-1),
            position[-1][still],
            points,
            forces,
            left=int(gone.sum()),
            moving=int((~still & ~gone).sum()),
            outcome=str(dataset.attrs.get("outcome", "finished")),
        )

    def merge(self, other: Hazard) -> None:
        """Add the runs of another one of the same grid."""
        if other.grid != self.grid:
            raise ValueError("Hazard sums can be merged only if they are of the same grid.")
        self.count_runs(other)
        for name in ("passed", "stopped", "breaks", "force"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.speed = np.maximum(self.speed, other.speed)

    def _layers(self) -> dict[str, np.ndarray]:
        area = self.grid.dx * self.grid.dy
        return {
            "passage_probability": self.passed / self.runs,
            "largest_speed": np.where(np.isfinite(self.speed), self.speed, np.nan),
            "stopping_density": self.stopped / (self.runs * area),
            "breaking_force": np.where(self.breaks > 0, self.force / np.maximum(self.breaks, 1.0), np.nan),
        }

    def _dense(self, position: np.ndarray, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points along the paths so close that no pixel is jumped over, with the speeds there."""
        points = np.stack([position[..., 0] / self.grid.dx, position[..., 1] / self.grid.dy, speed], axis=-1)
        first, last = points[:-1].reshape(-1, 3), points[1:].reshape(-1, 3)
        good = np.isfinite(first).all(axis=1) & np.isfinite(last).all(axis=1)
        first, last = first[good], last[good]
        count = np.ceil(np.linalg.norm((last - first)[:, :2], axis=1) / STRIDE).astype(int)
        which = np.repeat(np.arange(len(first)), count)
        number = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        part = (number + 1) / np.maximum(count[which], 1)
        between = first[which] + part[:, None] * (last - first)[which]
        start = points[0][np.isfinite(points[0]).all(axis=1)]
        u, v, fast = np.concatenate([start, between]).T
        return u * self.grid.dx, v * self.grid.dy, fast

    def _count(self, target: np.ndarray, places, weights: np.ndarray | float = 1.0) -> None:
        """Add a weight to the pixel of each place."""
        if places is None:
            return
        places = np.asarray(places, float).reshape(-1, np.shape(places)[-1] if np.size(places) else 2)
        known = np.asarray(np.isfinite(places[:, :2]).all(axis=1))
        row, column, there = self.grid.pixels(*np.where(known[:, None], places[:, :2], 0.0).T)
        there &= known
        weights = np.broadcast_to(weights, there.shape)
        np.add.at(target, (row[there], column[there]), weights[there])


def check_suffix(path: str | os.PathLike) -> None:
    """Refuse the name of a map that is not that of a GeoTIFF."""
    if Path(path).suffix.lower() not in (".tif", ".tiff"):
        raise ScenarioError(f"A map is a GeoTIFF: {str(path)!r} must end in .tif.")


def write_raster(
    path: str | os.PathLike, layers: dict[str, np.ndarray], grid: Grid, units=None, dtype: str = "float64",
    tags: dict[str, str] | None = None,
) -> None:  # fmt: skip
    """Write layers on the grid of a terrain as the bands of a GeoTIFF, whole or not at all.

    Args:
        path: File, ending in .tif or .tiff.
        layers: Arrays by name, rows going north; NaN where there are no data.
        grid: The pixels; map coordinates are those of the grid plus its origin.
        units: Units of the layers by name.
        dtype: How the numbers are kept, "float64" or "float32".
        tags: More to say of the file, by name.
    """
    rasterio = require_rasterio()
    check_suffix(path)
    rows, columns = grid.shape
    west = grid.origin[0] + grid.x0 - grid.dx / 2
    north = grid.origin[1] + grid.y0 + (rows - 0.5) * grid.dy
    profile = {
        "driver": "GTiff", "height": rows, "width": columns, "count": len(layers), "dtype": dtype,
        "crs": grid.crs or None, "transform": rasterio.Affine(grid.dx, 0.0, west, 0.0, -grid.dy, north),
        "nodata": np.nan, "compress": "deflate",
    }  # fmt: skip
    # By way of memory: on a full disk GDAL writes nothing and does not complain.
    with rasterio.MemoryFile() as memory:
        with memory.open(**profile) as file:
            file.update_tags(**(tags or {}))
            for band, (name, values) in enumerate(layers.items(), start=1):
                file.write(np.asarray(values, dtype)[::-1], band)
                file.set_band_description(band, name)
                file.set_band_unit(band, (units or {}).get(name, ""))
        with atomic_write(path) as temporary:
            temporary.write_bytes(memory.read())


def write_hazard(path: str | os.PathLike, hazard: RunMaps) -> None:
    """Write the maps of masses or stones as the bands of a GeoTIFF on the terrain's own pixels.

    Its tags say of how many runs they are (`runs`), how many samples could not be built (`failed`), how many runs were
    cut off (`cut_off`), how many bodies left the map (`left`) or still moved at the end (`moving`); the same in a
    sentence (`incomplete`), and whether some runs are known at their samples only (`interpolated`).
    """
    units = {name: units for name, (units, _) in hazard.shown.items()}
    numbers = {
        "runs": hazard.runs, "failed": hazard.failed, "cut_off": hazard.cut_off.total(), "left": hazard.left,
        "moving": hazard.moving,
    }  # fmt: skip
    tags = {name: str(number) for name, number in numbers.items()}
    tags |= {"incomplete": hazard.incomplete(), "interpolated": hazard.interpolated()}
    write_raster(path, hazard.maps(), hazard.grid, units, tags=tags)
