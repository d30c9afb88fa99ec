"""Polygons and lines from GeoJSON files, brought to the coordinates of a surface."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from saltus.errors import ScenarioError

if TYPE_CHECKING:
    from saltus.surfaces.grid import Grid

LONGITUDE_LATITUDE = "OGC:CRS84"  # what GeoJSON without a named system is in
# How deep the lists of points lie in the coordinates of each kind, and how many points a list needs.
DEPTH = {"LineString": 0, "MultiLineString": 1, "Polygon": 1, "MultiPolygon": 2}
LEAST = {"LineString": ("a line", 2), "Polygon": ("a ring of a polygon", 4)}

Kind = Literal["LineString", "Polygon"]


def read_parts(file: str | os.PathLike, kind: Kind, ground: Grid | None, word: str) -> list[np.ndarray]:
    """All rings of polygons, or all lines, of a GeoJSON file, in the coordinates of the surface; see `place`.

    Args:
        file: The file.
        kind: What is looked for; several in one ("MultiPolygon") are found as well.
        ground: The pixels of the terrain; None for other surfaces.
        word: What the file is, for messages, such as "release area".
    """
    path = Path(file)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        parts = [_points(part, kind) for part in _parts(content, kind)]
    except FileNotFoundError:
        raise ScenarioError(f"There is no {word} {str(path)!r}.") from None
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ScenarioError(f"Cannot read {str(path)!r} as GeoJSON: {' '.join(str(error).split())}.") from None
    if not parts:
        raise ScenarioError(f"The {word} {str(path)!r} holds no {kind}.")
    return place(parts, _named_system(content), ground, f"The {word} {str(path)!r}")


def place(parts: Sequence[np.ndarray], named: str | None, ground: Grid | None, what: str) -> list[np.ndarray]:
    """Points of map coordinates in those of the surface.

    Those of a named reference system are transformed to that of the terrain. Where none is named they are taken as
    they stand if they lie on the map, otherwise as longitude and latitude, as the standard of GeoJSON has it.
    """
    if ground is None:
        return list(parts)
    shift = np.asarray(ground.origin)
    if named is None:
        every = np.concatenate(parts)
        degrees = (np.abs(every) <= (180.0, 90.0)).all()
        if overlaps(ground, every - shift) or not degrees or not ground.crs:
            return [part - shift for part in parts]
        named = LONGITUDE_LATITUDE
    if not ground.crs:
        raise ScenarioError(
            f"{what} is in {named}, but the terrain names no coordinate reference system. "
            "Give it as `surface.crs`, such as 'EPSG:32632'."
        )
    from rasterio.errors import CRSError
    from rasterio.warp import transform

    try:
        return [np.stack(transform(named, ground.crs, *part.T.tolist())[:2], axis=-1) - shift for part in parts]
    except CRSError:
        raise ScenarioError(f"{what} names the unknown reference system {named!r}.") from None


def overlaps(ground: Grid, points: np.ndarray) -> bool:
    """Whether the rectangle around points, in the coordinates of the surface, has a part on the map."""
    bounds = np.asarray(ground.bounds)
    return bool((points.min(axis=0) <= bounds[2:]).all() and (points.max(axis=0) >= bounds[:2]).all())


def _named_system(content: dict) -> str | None:
    named: Any = content.get("crs")
    for key in ("properties", "name"):
        named = named.get(key) if isinstance(named, dict) else None
    return named


def _parts(content: Any, kind: Kind) -> list:
    """The lists of points of everything that GeoJSON can hold them in."""
    found = content["type"]
    if found == "FeatureCollection":
        return [part for one in content["features"] for part in _parts(one, kind)]
    if found == "Feature":
        return _parts(content["geometry"], kind) if content["geometry"] else []
    if found == "GeometryCollection":
        return [part for one in content["geometries"] for part in _parts(one, kind)]
    if found not in (kind, f"Multi{kind}"):
        return []
    parts = [content["coordinates"]]
    for _ in range(DEPTH[found]):
        parts = [one for part in parts for one in part]
    return parts


def _points(coordinates: Any, kind: Kind) -> np.ndarray:
    """A list of points as an array; a ring without its last point, which is its first."""
    name, least = LEAST[kind]
    points = np.asarray([[_number(number) for number in point[:2]] for point in coordinates], float)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < least:
        raise ValueError(f"{name} needs at least {least} points (x, y)")
    return points[:-1] if kind == "Polygon" and (points[0] == points[-1]).all() else points


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"a coordinate must be a finite number, got {value!r}")
    return float(value)
