"""Hazard maps over the shaded relief of their terrain."""

from __future__ import annotations

import os

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LightSource
from matplotlib.figure import Figure

from saltus.io.files import atomic_write
from saltus.io.hazard import MAPS, Hazard
from saltus.surfaces import Terrain
from saltus.views.base import words
from saltus.views.style import SETTINGS, new_figure

COLOUR_MAPS = {
    "passage_probability": "YlOrRd",
    "largest_speed": "viridis",
    "stopping_density": "PuBu",
    "breaking_force": "magma_r",
}


def figure(hazard: Hazard, terrain: Terrain) -> Figure:
    """All hazard maps side by side; axes in the coordinates of the map."""
    with mpl.rc_context(SETTINGS):
        drawing = new_figure(10.0, 8.0)
        for axes, (name, values) in zip(drawing.subplots(2, 2).ravel(), hazard.maps().items(), strict=True):
            relief(axes, terrain)
            shown = np.where(values > 0, values, np.nan)
            image = axes.imshow(shown, cmap=COLOUR_MAPS[name], alpha=0.8, vmin=0.0, **_placing(terrain))
            units = MAPS[name][0]
            any_seen = np.isfinite(shown).any()
            if any_seen:
                drawing.colorbar(image, ax=axes, shrink=0.8, label="" if units == "1" else units)
            axes.set_title(words(name) + ("" if any_seen else " (none)"))
        if lacks := hazard.incomplete():
            drawing.suptitle(lacks, color="#b00020", fontsize="medium")
        return drawing


def save_figure(hazard: Hazard, terrain: Terrain, path: str | os.PathLike) -> None:
    """Write the hazard maps as a picture (.png, .pdf, .svg), whole or not at all."""
    drawn = figure(hazard, terrain)
    with mpl.rc_context(SETTINGS), atomic_write(path) as temporary:
        drawn.savefig(temporary, dpi=160)


def relief(axes: Axes, terrain: Terrain) -> None:
    """Shaded relief of a terrain, lit from the north-west, with contour lines."""
    grid = terrain.grid
    heights = heights_of(terrain)
    shade = LightSource(azdeg=315, altdeg=45).hillshade(heights[::-1], dx=grid.dx, dy=grid.dy)[::-1]
    axes.imshow(np.where(np.isfinite(heights), shade, np.nan), cmap="gray", vmin=-0.2, vmax=1.2, **_placing(terrain))
    x, y = grid.x + grid.origin[0], grid.y + grid.origin[1]
    if np.nanmax(heights) > np.nanmin(heights):
        axes.contour(x, y, heights, levels=12, colors="#555555", linewidths=0.3)
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.ticklabel_format(style="plain", useOffset=False)
    axes.locator_params(nbins=4)


def heights_of(terrain: Terrain) -> np.ndarray:
    """Heights of the pixels; NaN where nothing is known."""
    grid = terrain.grid
    x, y = np.meshgrid(grid.x, grid.y)
    z = np.asarray(terrain.height(x, y))
    known = np.ones(grid.shape, bool) if terrain.known is None else np.asarray(terrain.known).reshape(grid.shape) > 0
    return np.where(known, z, np.nan)


def _placing(terrain: Terrain) -> dict:
    """Where an image of the pixels lies, first row in the south."""
    grid = terrain.grid
    x_low, y_low, x_high, y_high = grid.bounds
    east, north = grid.origin
    extent = (
        x_low - grid.dx / 2 + east, x_high + grid.dx / 2 + east,
        y_low - grid.dy / 2 + north, y_high + grid.dy / 2 + north,
    )  # fmt: skip
    return {"origin": "lower", "extent": extent, "interpolation": "nearest"}
