"""Pictures of any system: every quantity over time, with the events as lines."""

from __future__ import annotations

import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure

from saltus.views.animate import DPI
from saltus.views.base import animate, draw_panel, mark_events
from saltus.views.pages.generic import panels
from saltus.views.style import INK, new_figure

FRAMES = 120
COLUMNS = 2


def figure(dataset: xr.Dataset) -> Figure:
    """All quantities over time; vectors give a line for each entry."""
    found = [panel for panel in panels(dataset) if panel is not None]
    if not found:
        raise ValueError("The dataset has no quantity over time that could be drawn.")
    columns = COLUMNS if len(found) > 3 else 1
    rows = -(-len(found) // columns)
    drawing = new_figure(5.0 + 4.5 * columns - (columns == 1) * 1.0, 0.6 + 1.9 * max(rows, 1))
    grid = drawing.add_gridspec(max(rows, 1), columns)
    for index, panel in enumerate(found):
        axes = drawing.add_subplot(grid[index % rows, index // rows])
        draw_panel(axes, dataset, panel)
        mark_events(axes, dataset)
        axes.set_xlabel("time [s]" if index % rows == rows - 1 or index == len(found) - 1 else "")
    return drawing


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The same figure with a cursor that moves through time."""
    drawing = figure(dataset)
    drawing.set_dpi(DPI)
    times = dataset["time"].values
    cursors = [axes.axvline(times[0], color=INK, linewidth=1.0) for axes in drawing.axes]

    def show(row: int) -> list:
        for cursor in cursors:
            cursor.set_xdata([times[row], times[row]])
        return cursors

    return animate(drawing, dataset, show, FRAMES)
