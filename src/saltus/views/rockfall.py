"""Rockfall maps over the shaded relief of their terrain."""

from __future__ import annotations

import os

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from saltus.io.files import atomic_write
from saltus.io.rockfall import MAPS
from saltus.surfaces import Terrain
from saltus.views.base import words
from saltus.views.hazard import placing, relief
from saltus.views.style import SETTINGS, new_figure

COLOUR_MAPS = {"passage": "YlOrRd", "deposit": "PuBu", "kinetic": "magma_r", "jump": "viridis", "speed": "cividis"}


def figure(layers: dict[str, np.ndarray], terrain: Terrain, line: np.ndarray | None = None) -> Figure:
    """All maps side by side, with the barrier if there is one; axes in the coordinates of the map."""
    with mpl.rc_context(SETTINGS):
        drawing = new_figure(14.0, 7.0)
        for axes, (name, values) in zip(drawing.subplots(2, 4).ravel(order="F"), layers.items(), strict=True):
            relief(axes, terrain)
            shown = np.where(values > 0, values, np.nan)
            image = axes.imshow(shown, cmap=COLOUR_MAPS[name.split("_")[0]], alpha=0.85, vmin=0.0, **placing(terrain))
            units = MAPS[name][0]
            if np.isfinite(shown).any():
                drawing.colorbar(image, ax=axes, shrink=0.8, label="" if units == "1" else units)
            if line is not None:
                axes.plot(*(line + np.asarray(terrain.grid.origin)).T, color="black", linewidth=1.4)
            axes.set_title(words(name))
        return drawing


def save_figure(layers: dict[str, np.ndarray], terrain: Terrain, path: str | os.PathLike, line=None) -> None:
    """Write the maps as a picture (.png, .pdf, .svg), whole or not at all."""
    drawn = figure(layers, terrain, line)
    with mpl.rc_context(SETTINGS), atomic_write(path) as temporary:
        drawn.savefig(temporary, dpi=160)
