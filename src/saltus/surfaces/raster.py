"""Rasters from files: GeoTIFF and ESRI ASCII grids, by rasterio (extra `terrain`)."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from saltus.errors import MissingExtraError, ScenarioError

# How numbers are read to all their digits: GDAL takes those of text for single precision.
PRECISE: dict[str, dict[str, Any]] = {"AAIGrid": {"DATATYPE": "Float64"}}
LOCAL = "local"  # what `crs` says where x and y are plain metres


@dataclasses.dataclass(frozen=True)
class Raster:
    """One band of a raster; rows go north, columns east, NaN where there is no data.

    Args:
        values: The numbers.
        x0: x of the first column's centre.
        y0: y of the first row's centre.
        dx: Distance of the columns.
        dy: Distance of the rows.
        crs: Coordinate reference system as "EPSG:..." or WKT; empty if there is none.
    """

    values: np.ndarray
    x0: float
    y0: float
    dx: float
    dy: float
    crs: str


def require_rasterio():
    """The module rasterio, or a sentence that says how to get it."""
    try:
        import rasterio
    except ImportError as error:
        raise MissingExtraError("Maps need rasterio, which is not installed: pip install 'saltus[terrain]'.") from error
    return rasterio


def read_raster(file: str | os.PathLike, crs: str | None = None, needs_crs: bool = True) -> Raster:
    """The first band of a raster.

    Args:
        file: A GeoTIFF, or an ESRI ASCII grid (beside it a .prj may name its reference system).
        crs: Coordinate reference system for a file that names none; "local" for plain metres.
        needs_crs: Whether a GeoTIFF that names no reference system is refused; ASCII grids never are.
    """
    rasterio = require_rasterio()
    from rasterio.errors import RasterioError

    path = Path(file)
    if not path.is_file():
        raise ScenarioError(f"There is no raster {str(path)!r}.")
    try:
        with rasterio.open(path) as source:
            driver = source.driver
        with rasterio.open(path, driver=driver, **PRECISE.get(driver, {})) as source:
            band = source.read(1, masked=True)
            if driver in PRECISE and source.nodata is not None:  # may be written with fewer digits than in the header
                band = np.ma.masked_where(band.astype(np.float32) == np.float32(source.nodata), band)
            transform, found = source.transform, source.crs
    except RasterioError as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ScenarioError(f"Cannot read {str(path)!r} as a raster: {reason}.") from error
    if transform.b or transform.d:
        raise ScenarioError(f"The raster {str(path)!r} is rotated. Warp it so that its rows run east (gdalwarp).")
    name = _reference(path, found, crs, needs_crs and driver != "AAIGrid")
    values = np.ma.filled(band.astype(float), np.nan)
    if transform.e < 0:  # rows from north to south, as usual
        values = values[::-1]
    if transform.a < 0:
        values = values[:, ::-1]
    rows, columns = values.shape
    left, right = sorted((transform.c, transform.c + columns * transform.a))
    low, high = sorted((transform.f, transform.f + rows * transform.e))
    dx, dy = (right - left) / columns, (high - low) / rows
    return Raster(np.ascontiguousarray(values), left + dx / 2, low + dy / 2, dx, dy, name)


def _reference(path: Path, found, given: str | None, needed: bool) -> str:
    """Name of the coordinate reference system, checked to be in metres."""
    if given == LOCAL:
        return ""
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    if given is not None:
        try:
            with require_rasterio().Env():  # keeps PROJ from printing what it finds wrong
                system = CRS.from_user_input(given)
        except (CRSError, ValueError):
            raise ScenarioError(
                f"Unknown coordinate reference system {given!r}. Give `crs` as 'EPSG:32632', WKT, or 'local'."
            ) from None
        if found and found != system:
            raise ScenarioError(
                f"The raster {str(path)!r} is in {found.to_string()[:40]}, not in {given!r}. Leave `crs` out, or warp "
                "it (gdalwarp -t_srs)."
            )
    elif found:
        system = found
    elif needed:
        raise ScenarioError(
            f"The raster {str(path)!r} names no coordinate reference system (CRS). Give it as `crs`, such as "
            "'EPSG:32632', or 'local' for plain metres."
        )
    else:
        return ""
    if system.is_geographic:
        raise ScenarioError(
            f"The raster {str(path)!r} is in degrees ({system.to_string()[:40]}). Warp it to a system in metres, "
            "such as UTM (gdalwarp -t_srs)."
        )
    return system.to_string()
