"""The figure of a system that has no view of its own: its quantities over time, with the events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from saltus.views.base import event_legend, frame_times, mark_events, over_time
from saltus.views.style import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

MAX_PANELS, MAX_LINES = 8, 12
FRAMES, INTERVAL = 120, 40  # of an animation; milliseconds between two of them


def shown(dataset: xr.Dataset) -> list[str]:
    """The quantities that are drawn: numbers and short lists over time."""
    names = [
        str(name)
        for name, variable in dataset.data_vars.items()
        if variable.dims[:1] == ("time",)
        and name != "jump_side"
        and np.prod(variable.shape[1:], dtype=int) <= MAX_LINES
    ]
    return names[:MAX_PANELS]


def figure(dataset: xr.Dataset) -> Figure:
    """One panel per quantity."""
    names = shown(dataset)
    if not names:
        raise ValueError("The dataset has no quantity over time that could be drawn.")
    drawing = new_figure(6.4, 0.8 + 1.35 * len(names))
    axes = drawing.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for panel, name in zip(axes, names, strict=True):
        variable = dataset[name]
        flat = variable if variable.ndim <= 2 else variable.stack(entry=variable.dims[1:])
        over_time(panel, dataset.assign({name: flat}), name, name, None if flat.ndim == 1 else str(flat.dims[1]))
        units = variable.attrs.get("units", "1")
        panel.set_ylabel(variable.attrs.get("long_name", name) + ("" if units in ("1", "") else f" [{units}]"))
        mark_events(panel, dataset)
    if dataset.sizes.get("event", 0):
        event_legend(axes[0], dataset)
        axes[0].legend(loc="upper right")
    axes[-1].set_xlabel("time [s]")
    return drawing


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The figure with a line that moves with the time."""
    from matplotlib.animation import FuncAnimation

    drawing = figure(dataset)
    times = dataset["time"].values[frame_times(dataset, FRAMES)]
    lines = [axes.axvline(times[0], color=INK, linewidth=1.0) for axes in drawing.axes]

    def frame(k: int) -> list:
        for line in lines:
            line.set_xdata([times[k], times[k]])
        return lines

    return FuncAnimation(drawing, frame, frames=len(times), interval=INTERVAL, blit=False)
