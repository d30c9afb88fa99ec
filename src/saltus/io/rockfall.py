"""Maps and barriers of rockfall: what many runs of stones say of every pixel of a terrain, and of a line across it.

Of every run each pixel keeps the largest value that the stone had in it, so that a percentile is one over stones.
"""

from __future__ import annotations

import csv
import dataclasses
import itertools
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from saltus.errors import ScenarioError
from saltus.hybrid.outcome import OUTCOMES
from saltus.io import geojson, release
from saltus.io.files import atomic_write
from saltus.io.hazard import STRIDE, RunMaps
from saltus.io.stone_path import StonePath
from saltus.surfaces.grid import Grid

PERCENTILE = 95.0

# What is kept of every passage: quantity of the dataset, units, and a phrase.
KEPT = {
    "kinetic_energy": ("J", "kinetic energy"),
    "jump_height": ("m", "height of the stone's lowest point over the ground"),
    "speed": ("m s-1", "speed of the centre of mass"),
}

# Name of each map: units, and what it shows.
MAPS = {
    "passage_probability": ("1", "share of the runs in which the stone passed the pixel"),
    "deposit_probability": ("1", "share of the runs in which the stone came to rest in the pixel"),
    **{f"{name}_largest": (units, f"largest {phrase}") for name, (units, phrase) in KEPT.items()},
    **{f"{name}_p95": (units, f"95th percentile over stones of {phrase}") for name, (units, phrase) in KEPT.items()},
}


@dataclasses.dataclass
class RockfallMaps(RunMaps):
    """Sums over runs of stones, per pixel of a terrain.

    Args:
        grid: The pixels, as `Terrain.grid` has them.
    """

    shown = MAPS
    body = ("stone", "stones")
    grid: Grid

    def __post_init__(self):
        super().__post_init__()
        self._pixels: list[np.ndarray] = []
        self._values: list[np.ndarray] = []

    def _add_run(self, dataset: xr.Dataset) -> None:
        path = StonePath.of(dataset)
        if not path.close and path.widest() > 0.0:
            self.count_sampled(path.widest())
        names, outcome = str(dataset.attrs["mode_names"]).split(", "), str(dataset.attrs.get("outcome", "finished"))
        rests = int(dataset["mode"].values[-1]) == names.index("rest")
        if outcome == "left_domain":
            self.count_run("finished", left=1, moving=0)
        else:
            self.count_run(outcome, left=0, moving=int(OUTCOMES.get(outcome, True) and not rests))
        dense = path.at(*path.along(STRIDE * min(self.grid.dx, self.grid.dy)))
        row, column, there = self.grid.pixels(dense[:, 0], dense[:, 1])
        flat = (row * self.grid.shape[1] + column)[there]
        pixels, which = np.unique(flat, return_inverse=True)
        largest = np.full((len(pixels), len(KEPT)), -np.inf)
        np.maximum.at(largest, which, dense[there, 2:])
        self._pixels.append(pixels)
        self._values.append(largest)
        if rests:
            row, column, inside = self.grid.pixels(*dataset["position"].values[-1:, :2].T)
            self.stopped[row[inside], column[inside]] += 1.0

    def _layers(self) -> dict[str, np.ndarray]:
        pixels, values = np.concatenate(self._pixels), np.concatenate(self._values)
        passed = np.bincount(pixels, minlength=self.grid.shape[0] * self.grid.shape[1])
        found = {
            "passage_probability": (passed / self.runs).reshape(self.grid.shape),
            "deposit_probability": self.stopped / self.runs,
        }
        order = np.argsort(pixels, kind="stable")
        groups = np.split(values[order], np.cumsum(passed[passed > 0])[:-1])
        for suffix, measure in (("largest", np.max), ("p95", _percentile)):
            for k, name in enumerate(KEPT):
                layer = np.full(passed.shape, np.nan)
                layer[passed > 0] = [measure(group[:, k]) for group in groups]
                found[f"{name}_{suffix}"] = layer.reshape(self.grid.shape)
        return {name: found[name] for name in MAPS}


def _percentile(values: np.ndarray) -> float:
    return float(np.percentile(values, PERCENTILE))


@dataclasses.dataclass
class Barrier:
    """Lines across the slope, and what the stones have where they cross them: what a net must hold.

    A stone counts once, at its first crossing of any of them.

    Args:
        lines: Corners of each line, of shape (n, 2), in the coordinates of the surface [m].
    """

    lines: Sequence[np.ndarray]

    def __post_init__(self):
        self.lines = [np.asarray(line, float) for line in self.lines]
        for line in self.lines:
            if line.ndim != 2 or line.shape[0] < 2 or line.shape[1] != 2:
                raise ValueError(
                    f"A barrier is a list of lines of two or more points (x, y), got an array of shape {line.shape}."
                )
        self.runs = 0
        self.crossings: list[np.ndarray] = []
        self.along: list[float] = []

    def add_run(self, dataset: xr.Dataset) -> None:
        """Add a run of a stone from its dataset; one without times is a sample that could not be built."""
        if dataset.sizes["time"] == 0:
            return
        self.runs += 1
        path = StonePath.of(dataset)
        piece, share = path.along()
        rows = path.at(piece, share)
        pieces = [piece for line in self.lines for piece in itertools.pairwise(line)]
        found = [_first_crossing(rows, a, b) for a, b in pieces]
        hits = [(moment, number) for number, moment in enumerate(found) if moment is not None]
        if not hits:
            return
        first, number = min(hits)
        k = int(first)
        part = share[k] + (first - k) * (share[k + 1] - share[k]) if piece[k] == piece[k + 1] else 1.0
        (here,) = path.at(piece[[k]], np.array([part]))
        before = sum(np.linalg.norm(b - a) for a, b in pieces[:number])  # lines are counted one after the other
        self.crossings.append(here)
        self.along.append(float(before + np.linalg.norm(here[:2] - pieces[number][0])))

    def exceedance(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Values of "kinetic_energy", "jump_height" or "speed", rising, and the share of all runs that reach each."""
        column = 2 + list(KEPT).index(name)
        values = np.sort(np.array([crossing[column] for crossing in self.crossings]))
        return values, np.arange(len(values), 0, -1) / max(self.runs, 1)

    def profile(self) -> dict[str, np.ndarray]:
        """One row per stone that arrives, from the first line's beginning on: where, with what, and how rare that is.

        `<name>_exceedance` is the share of all runs that arrive with at least so much.
        """
        order = np.argsort(self.along, kind="stable")
        rows = np.array(self.crossings).reshape(-1, 2 + len(KEPT))[order]
        table = {"along": np.array(self.along)[order]} | {name: rows[:, 2 + k] for k, name in enumerate(KEPT)}
        for name in KEPT:
            values, share = self.exceedance(name)
            table[f"{name}_exceedance"] = share[np.searchsorted(values, table[name])]
        return table

    def facts(self) -> dict[str, float | int]:
        """How many stones arrive, and the largest and the 95th percentile of what they have."""
        told: dict[str, float | int] = {"runs": self.runs, "reached": len(self.crossings)}
        for name in KEPT:
            values, _ = self.exceedance(name)
            told[f"{name}_largest"] = float(values[-1]) if len(values) else float("nan")
            told[f"{name}_p95"] = _percentile(values) if len(values) else float("nan")
        return told


def write_profile(path: str | os.PathLike, barrier: Barrier) -> None:
    """Write the profile of a barrier as CSV, whole or not at all: lengths in m, energies in J, speeds in m/s."""
    table = barrier.profile()
    with atomic_write(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))


def _first_crossing(path: np.ndarray, a: np.ndarray, b: np.ndarray) -> float | None:
    """Row and part of the first step of a path that crosses the line from a to b, as one number."""
    from_a, steps, along = path[:-1, :2] - a, np.diff(path[:, :2], axis=0), b - a
    across = steps[:, 0] * along[1] - steps[:, 1] * along[0]
    moves = across != 0.0
    safe = np.where(moves, across, 1.0)
    part = -(from_a[:, 0] * along[1] - from_a[:, 1] * along[0]) / safe
    place = -(from_a[:, 0] * steps[:, 1] - from_a[:, 1] * steps[:, 0]) / safe
    hits = np.flatnonzero(moves & (part >= 0.0) & (part <= 1.0) & (place >= 0.0) & (place <= 1.0))
    return None if hits.size == 0 else float(hits[0] + min(part[hits[0]], 1.0 - 1e-12))


def read_lines(source: str | Path, ground: Grid) -> list[np.ndarray]:
    """Lines from a GeoJSON file, or one from WKT, LINESTRING (x y, x y, ...), in a file or as text.

    They are brought to the coordinates of the surface as release areas are, and must not lie wholly off the map.

    Args:
        source: Name of the file, or the text.
        ground: The pixels of the terrain.
    """
    text = str(source)
    if not _is_wkt(text):
        if not Path(text).is_file():
            raise ScenarioError(
                f"There is no file {text!r}. Give a GeoJSON file with a LineString, or LINESTRING (...)."
            )
        text = Path(text).read_text("utf-8", errors="replace")
    if _is_wkt(text):
        lines = geojson.place([_wkt(text)], None, ground, "The barrier")
    else:
        lines = geojson.read_parts(source, "LineString", ground, "barrier")
    for line in lines:
        if not np.ptp(line, axis=0).any():
            raise ScenarioError(f"The barrier {str(source)[:60]!r} has a line of no length. Give two different points.")
    if not any(_on_map(ground, line) for line in lines):
        release.refuse_off_map(ground, np.concatenate(lines), f"The barrier {str(source)[:60]!r}")
    return lines


def _on_map(ground: Grid, line: np.ndarray) -> bool:
    """Whether a line has a part on the map: a corner, or a crossing of the border."""
    low, high = np.reshape(ground.bounds, (2, 2))
    border = np.array([low, [high[0], low[1]], high, [low[0], high[1]], low])
    inside = ((line >= low) & (line <= high)).all(axis=1).any()
    return bool(inside) or any(_first_crossing(line, a, b) is not None for a, b in itertools.pairwise(border))


def _is_wkt(text: str) -> bool:
    return text.lstrip().upper().startswith("LINESTRING")


def _wkt(text: str) -> np.ndarray:
    inside = re.fullmatch(r"\s*LINESTRING\s*Z?\s*\((.*)\)\s*", text, flags=re.I | re.S)
    try:
        points = (
            [[float(number) for number in pair.split()[:2]] for pair in inside.group(1).split(",")] if inside else []
        )
        line = np.asarray(points, float)
    except ValueError:
        line = np.zeros((0, 2))
    if line.ndim != 2 or len(line) < 2 or line.shape[-1] != 2 or not np.isfinite(line).all():
        raise ScenarioError(
            f"{text[:60]!r} is no line. Write LINESTRING (x y, x y, ...) with two points or more, of finite numbers."
        )
    return line
