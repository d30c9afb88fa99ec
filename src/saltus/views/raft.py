"""Pictures of rafts: many masses, rods that break."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from saltus.io import mode_names
from saltus.views.base import animate, draw_panel
from saltus.views.ground import extent, ground
from saltus.views.pages.panels import Panel, energies
from saltus.views.style import FAINT, INK, colour, new_figure

FRAMES = 120


def figure(dataset: xr.Dataset) -> Figure:
    """The raft at the start and the end over the contours of the ground; speeds, rods and energies over time."""
    drawing = new_figure(10.0, 5.6)
    grid = drawing.add_gridspec(3, 2, width_ratios=[1.0, 1.0])
    _scene(drawing.add_subplot(grid[:, 0]), dataset)
    panels = [drawing.add_subplot(grid[row, 1]) for row in range(3)]
    for axes, panel in zip(panels, (_speeds(dataset), _rods(dataset), energies(dataset, from_least=True)), strict=True):
        draw_panel(axes, dataset, panel)
    for axes in panels[:2]:
        axes.tick_params(labelbottom=False)
    panels[2].set_xlabel("time [s]")
    return drawing


def bars(dataset: xr.Dataset, row: int) -> list[np.ndarray]:
    """Ends of the rods that are whole in a row of the dataset, seen from above."""
    labels = dataset["rod"].values if "rod" in dataset.coords else []
    ends = np.array([[int(end) for end in str(label).split("-")] for label in labels], int).reshape(-1, 2)
    whole = dataset["rod_whole"].values[row] == 1 if len(ends) else np.zeros(0, bool)
    return list(dataset["position"].values[row][ends[whole]][..., :2])


def _ground(axes: Axes, dataset: xr.Dataset) -> None:
    around = ground(dataset)
    if around is not None and np.isfinite(around.z).any():
        axes.contourf(around.x, around.y, around.z, levels=14, cmap="Greys", alpha=0.28)
        axes.contour(around.x, around.y, around.z, levels=14, colors=FAINT, linewidths=0.5, linestyles="solid")
    (low_x, high_x), (low_y, high_y) = extent(dataset, padding=0.1)
    axes.set(xlim=(low_x, high_x), ylim=(low_y, high_y), xlabel="x [m]", ylabel="y [m]", aspect="equal")


def _scene(axes: Axes, dataset: xr.Dataset) -> None:
    _ground(axes, dataset)
    position = dataset["position"].values
    size = float(np.clip(400 / position.shape[1], 0.6, 20))
    for row, index, label in ((0, 0, "start"), (-1, 1, "end")):
        axes.add_collection(LineCollection(bars(dataset, row), colors=colour(index), linewidths=0.5, alpha=0.6))
        axes.scatter(*position[row, :, :2].T, s=size, color=colour(index), label=label, zorder=4)
    if "event_point" in dataset and dataset.sizes["event"]:
        axes.scatter(*dataset["event_point"].values[:, :2].T, s=1.0, color=INK, alpha=0.35, label="rod broken")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=4.5, ncols=3)
    axes.set_title("the raft seen from above")


def _speeds(dataset: xr.Dataset) -> Panel:
    speed = np.linalg.norm(dataset["velocity"].values, axis=-1)
    lines = {"largest": speed.max(axis=1), "mean": speed.mean(axis=1)}
    return Panel("speed of the masses", "m s-1", lines, inks=(1, 0))


def _rods(dataset: xr.Dataset) -> Panel:
    whole = dataset["rod_whole"].values.sum(axis=1)
    stuck = (dataset["mode"].values == mode_names(dataset).index("stick")).sum(axis=1)
    return Panel("number of whole rods, of held masses", "1", {"rods whole": whole, "masses held": stuck}, inks=(2, 3))


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The raft moving, seen from above; held masses are dark."""
    drawing = new_figure(6.4, 5.6)
    axes = drawing.add_subplot()
    _ground(axes, dataset)
    position, held = dataset["position"].values, mode_names(dataset).index("stick")
    rods = LineCollection([], colors=INK, linewidths=0.8)
    axes.add_collection(rods)
    dots = axes.scatter(*position[0, :, :2].T, s=float(np.clip(600 / position.shape[1], 1.0, 30)), zorder=4)
    title = axes.set_title("")

    def show(row: int):
        rods.set_segments(bars(dataset, row))
        dots.set_offsets(position[row, :, :2])
        dots.set_color([INK if mode == held else colour(0) for mode in dataset["mode"].values[row]])
        title.set_text(f"t = {dataset['time'].values[row]:.2f} s")
        return rods, dots, title

    return animate(drawing, dataset, show, FRAMES)
