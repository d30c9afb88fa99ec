"""Made-up terrains with known answers, as the avalanche community tests with them.

Each function returns a `Terrain`: the formula sampled on a raster, as if it had been measured. x runs down the valley.
"""

from __future__ import annotations

import numpy as np

from saltus import checks
from saltus.surfaces.terrain import Terrain


def _raster(height, x_range, y_range, spacing: float, **options) -> Terrain:
    """Sample a formula at the centres of the pixels."""
    checks.positive("spacing", spacing)
    x, y = (np.arange(int((high - low) / spacing + 1e-9) + 1) * spacing + low for low, high in (x_range, y_range))
    return Terrain(height(*np.meshgrid(x, y)), spacing, x_range[0], y_range[0], **options)


def inclined_plane(slope: float, spacing: float, length: float = 1000.0, width: float = 200.0, **options) -> Terrain:
    """Plane that falls by `slope` per metre along x; a block on it has the acceleration g (sin a - mu cos a).

    Args:
        slope: Tangent of the angle [-].
        spacing: Size of a pixel [m].
        length: Extent along x, from 0 [m].
        width: Extent along y, about 0 [m].
        options: Further arguments of `Terrain`, such as `crs`.
    """
    return _raster(lambda x, y: -slope * x, (0.0, length), (-width / 2, width / 2), spacing, **options)


def parabola_to_flat(
    fall: float, length: float, spacing: float, flat: float | None = None, width: float = 200.0, **options
) -> Terrain:
    """Parabola that falls by `fall` over `length` and runs out on a flat: z = fall (1 - x/length)² up to x = length.

    The slope is continuous, the curvature jumps at the foot, as it does in real run-out zones.

    Args:
        fall: Height of the top over the flat [m].
        length: Horizontal extent of the parabola [m].
        spacing: Size of a pixel [m].
        flat: Extent of the flat along x; that of the parabola if not given [m].
        width: Extent along y, about 0 [m].
        options: Further arguments of `Terrain`.
    """
    flat = length if flat is None else flat

    def height(x, y):
        return fall * np.maximum(1.0 - x / length, 0.0) ** 2

    return _raster(height, (0.0, length + flat), (-width / 2, width / 2), spacing, **options)


def bowl(radius: float, spacing: float, rim: float = 0.7, **options) -> Terrain:
    """Bottom of a spherical bowl; a mass without friction swings in it as a pendulum of length `radius`.

    Args:
        radius: Radius of the sphere [m].
        spacing: Size of a pixel [m].
        rim: Half the width of the square map, in radii, below 0.707 [-].
        options: Further arguments of `Terrain`.
    """
    checks.between("rim", rim, 0.0, 0.705, "The map is a square within the sphere.")
    half = rim * radius
    return _raster(
        lambda x, y: radius - np.sqrt(radius**2 - x**2 - y**2), (-half, half), (-half, half), spacing, **options
    )


def helix(radius: float, fall: float, spacing: float, trough: float, **options) -> Terrain:
    """Chute that winds by three quarters of a turn about a vertical axis and falls evenly.

    z = -fall (angle / 2 pi) + (r - radius)² / (2 trough), for angles from 0 to 3 pi / 2 counted from the x axis; the
    rest of the map is missing. Without friction the speed at any place is that of a free fall to its height.

    Args:
        radius: Radius of the chute's middle [m].
        fall: Fall over a full turn [m].
        spacing: Size of a pixel [m].
        trough: Radius of curvature of the chute's cross-section [m].
        options: Further arguments of `Terrain`.
    """
    half = 1.6 * radius

    def height(x, y):
        angle = np.arctan2(y, x) % (2 * np.pi)
        z = -fall * angle / (2 * np.pi) + (np.hypot(x, y) - radius) ** 2 / (2 * trough)
        return np.where((angle <= 1.5 * np.pi) & (np.hypot(x, y) > 0.3 * radius), z, np.nan)

    return _raster(height, (-half, half), (-half, half), spacing, **options)


def pyramid(slope: float, spacing: float, half_width: float = 100.0, **options) -> Terrain:
    """Pyramid with four plane faces, z = -slope max(|x|, |y|): blocks on a face slide straight down it.

    Args:
        slope: Slope of the faces [-].
        spacing: Size of a pixel [m].
        half_width: Half the width of the map [m].
        options: Further arguments of `Terrain`.
    """
    span = (-half_width, half_width)
    return _raster(lambda x, y: -slope * np.maximum(np.abs(x), np.abs(y)), span, span, spacing, **options)
