"""Hazard maps over the shaded relief of their terrain."""

from __future__ import annotations

import os

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LightSource, LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from saltus.io.hazard import MAPS, Hazard, RunMaps
from saltus.surfaces import Terrain
from saltus.views.base import words
from saltus.views.pages.arrays import unit_text
from saltus.views.style import SETTINGS, new_figure, save

COLOUR_MAPS = {
    "passage_probability": "YlOrRd",
    "largest_speed": "viridis",
    "stopping_density": "PuRd",
    "breaking_force": "magma_r",
}
PALEST = 0.25  # the palest quarter of a colour map cannot be told from the relief
LIGHT = 0.72  # darkest shade of the relief


def figure(hazard: Hazard, terrain: Terrain) -> Figure:
    """All hazard maps side by side; axes in the coordinates of the map."""
    with mpl.rc_context(SETTINGS):
        maps = {name: np.where(values > 0, values, np.nan) for name, values in hazard.maps().items()}
        seen = {name: values for name, values in maps.items() if np.isfinite(values).any()}
        columns, rows = (2 if len(seen) > 1 else 1), max(-(-len(seen) // 2), 1)
        drawing = new_figure(5.0 * columns, 4.0 * rows)
        panels = drawing.subplots(rows, columns, squeeze=False).ravel()
        for axes, (name, values) in zip(panels, seen.items(), strict=False):
            _map(drawing, axes, terrain, name, values)
        for axes in panels[len(seen) :]:
            axes.set_axis_off()
        nothing = [words(name) for name in maps if name not in seen]
        if nothing:
            panels[-1].text(0.0, -0.2, f"none: {', '.join(nothing)}", transform=panels[-1].transAxes, fontsize=8)
        tell_lacks(drawing, hazard)
        return drawing


def tell_lacks(drawing: Figure, maps: RunMaps) -> None:
    """A line over the figure that says what its maps lack, if they do."""
    if lacks := maps.incomplete():
        drawing.suptitle(lacks, color="#b00020", fontsize="medium")


def _map(drawing: Figure, axes: Axes, terrain: Terrain, name: str, values: np.ndarray) -> None:
    """One map over the relief, with its scale."""
    relief(axes, terrain)
    colours = deep_colours(COLOUR_MAPS[name])
    # A few cells hold most of a density: the square root shows the others as well.
    norm = PowerNorm(0.5 if name == "stopping_density" else 1.0, vmin=0.0, vmax=float(np.nanmax(values)))
    image = axes.imshow(values, cmap=colours, norm=norm, alpha=0.9, **image_extent(terrain))
    drawing.colorbar(image, ax=axes, shrink=0.8, label=unit_text(MAPS[name][0]))
    axes.set_title(words(name))


def deep_colours(name: str) -> LinearSegmentedColormap:
    """A colour map of matplotlib without its palest part."""
    return LinearSegmentedColormap.from_list(name, mpl.colormaps[name](np.linspace(PALEST, 1.0, 256)))


def save_figure(hazard: Hazard, terrain: Terrain, path: str | os.PathLike) -> None:
    """Write the hazard maps as a picture (.png, .pdf, .svg), whole or not at all."""
    save(figure(hazard, terrain), path)


def relief(axes: Axes, terrain: Terrain) -> None:
    """Shaded relief of a terrain, lit from the north-west, with contour lines."""
    grid = terrain.grid
    heights = heights_of(terrain)
    shade = LightSource(azdeg=315, altdeg=45).hillshade(heights[::-1], dx=grid.dx, dy=grid.dy)[::-1]
    low, high = np.nanpercentile(shade, (2, 98))
    light = LIGHT + (1 - LIGHT) * np.clip((shade - low) / max(high - low, 1e-12), 0.0, 1.0)
    axes.imshow(np.where(np.isfinite(heights), light, np.nan), cmap="gray", vmin=0.0, vmax=1.0, **image_extent(terrain))
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


def image_extent(terrain: Terrain) -> dict:
    """Where an image of the pixels lies, first row in the south."""
    grid = terrain.grid
    x_low, y_low, x_high, y_high = grid.bounds
    east, north = grid.origin
    extent = (
        x_low - grid.dx / 2 + east, x_high + grid.dx / 2 + east,
        y_low - grid.dy / 2 + north, y_high + grid.dy / 2 + north,
    )  # fmt: skip
    return {"origin": "lower", "extent": extent, "interpolation": "nearest"}
