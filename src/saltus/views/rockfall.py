"""Rockfall maps over the shaded relief of their terrain."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from saltus.io.rockfall import MAPS, RockfallMaps
from saltus.surfaces import Terrain
from saltus.views.base import words
from saltus.views.hazard import deep_colours, image_extent, relief, tell_lacks
from saltus.views.pages.arrays import unit_text
from saltus.views.style import SETTINGS, new_figure

COLOUR_MAPS = {"passage": "YlOrRd", "deposit": "PuRd", "kinetic": "magma_r", "jump": "viridis", "speed": "cividis"}
# Row by row, so that the largest value and the percentile of a quantity stand one above the other.
PANELS = (
    "passage_probability", "kinetic_energy_largest", "jump_height_largest", "speed_largest",
    "deposit_probability", "kinetic_energy_p95", "jump_height_p95", "speed_p95",
)  # fmt: skip
AROUND = 0.15  # of the extent of what was passed, shown on each side of it
TICKS = 4


def figure(stones: RockfallMaps, terrain: Terrain, lines: Sequence[np.ndarray] = ()) -> Figure:
    """All maps side by side, with the lines of a barrier; axes in the coordinates of the map."""
    layers = stones.maps()
    barrier = [line + np.asarray(terrain.grid.origin) for line in lines]
    low, high = _extent(layers["passage_probability"] > 0, terrain, barrier)
    with mpl.rc_context(SETTINGS):
        drawing = new_figure(15.0, 8.0)
        for axes, name in zip(drawing.subplots(2, 4, sharex=True, sharey=True).ravel(), PANELS, strict=True):
            relief(axes, terrain)
            shown = np.where(layers[name] > 0, layers[name], np.nan)
            colours = deep_colours(COLOUR_MAPS[name.split("_")[0]])
            image = axes.imshow(shown, cmap=colours, alpha=0.9, vmin=0.0, **image_extent(terrain))
            if np.isfinite(shown).any():
                drawing.colorbar(image, ax=axes, shrink=0.8, label=unit_text(MAPS[name][0]))
            for corners in barrier:
                axes.plot(*corners.T, color="black", linewidth=1.4)
            axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), title=words(name))
            axes.locator_params(nbins=TICKS)
            axes.label_outer()
        tell_lacks(drawing, stones)
        return drawing


def _extent(passed: np.ndarray, terrain: Terrain, barrier: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest x, y of a window around what was passed and the barrier, within the map."""
    grid = terrain.grid
    rows, columns = np.nonzero(passed)
    pixel, origin = np.array([grid.dx, grid.dy]), np.asarray(grid.origin)
    first, last = (np.array(grid.bounds[i : i + 2]) + origin for i in (0, 2))
    points = np.concatenate([np.column_stack([grid.x[columns], grid.y[rows]]) + origin, *barrier])
    if len(points) == 0:
        return first, last
    low, high = points.min(axis=0) - pixel, points.max(axis=0) + pixel
    margin = AROUND * np.max(high - low)
    return np.maximum(low - margin, first), np.minimum(high + margin, last)
