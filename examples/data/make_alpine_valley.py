"""Make the alpine valley of the catalogue: a made-up valley with a couloir, as a small GeoTIFF.

A trough falls to the west; its northern wall carries a couloir above which the release area lies. Nothing of it is
measured. Run it again after changing a formula: `python examples/data/make_alpine_valley.py`.
"""

import json
from pathlib import Path

import numpy as np

from saltus.io.hazard import write_raster
from saltus.surfaces.grid import Grid

FOLDER = Path(__file__).parents[2] / "src" / "saltus" / "scenarios" / "catalogue"
ORIGIN = (640000.0, 5190000.0)  # a corner in UTM zone 32, where there are Alps
PIXEL, ROWS, COLUMNS = 20.0, 151, 121


def height(x, y):
    """Height of the ground [m], x metres east and y metres north of the corner."""
    across = y - 900.0 - 120.0 * np.sin(x / 500.0)  # from the bottom of the valley
    trough = 1300.0 * across**2 / (across**2 + 1100.0**2)
    couloir = 70.0 * np.exp(-(((x - 1200.0) / 170.0) ** 2) - ((across - 1000.0) / 550.0) ** 2)
    rough = 5.0 * np.sin(x / 83.0) * np.sin(y / 97.0) + 3.0 * np.sin(x / 47.0 + y / 61.0)
    return 800.0 + 0.03 * x + trough - couloir + rough


def main() -> None:
    grid = Grid((ROWS, COLUMNS), PIXEL / 2, PIXEL / 2, PIXEL, PIXEL, "EPSG:32632", ORIGIN)
    heights = np.round(height(*np.meshgrid(grid.x, grid.y)), 2)
    write_raster(FOLDER / "alpine-valley.tif", {"height": heights}, grid, {"height": "m"}, dtype="float32")
    corners = [[1060, 2180], [1340, 2200], [1330, 2450], [1180, 2500], [1050, 2400], [1060, 2180]]
    ring = [[ORIGIN[0] + x, ORIGIN[1] + y] for x, y in corners]
    area = {
        "type": "Feature",
        "crs": {"type": "name", "properties": {"name": "EPSG:32632"}},
        "properties": {"name": "release area"},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }
    (FOLDER / "alpine-release.geojson").write_text(json.dumps(area, indent=1) + "\n")


if __name__ == "__main__":
    main()
