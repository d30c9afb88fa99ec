"""Masses, rods and trails in three dimensions."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import xarray as xr
from matplotlib.colors import LightSource, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3D
from mpl_toolkits.mplot3d.axes3d import Axes3D

from saltus.io import mode_names
from saltus.views.animate import DPI
from saltus.views.base import words
from saltus.views.ground import Ground, extent, ground
from saltus.views.style import INK, SURFACE, colour, new_figure

SIZE = (6.4, 5.6)  # of the drawing [inches]
TRAIL = 0.2  # share of the run that a trail shows


class Scene:
    """A drawing that shows one instant after another.

    The ground stands still, so it is rendered once and lies as a picture behind what moves.
    """

    def __init__(self, dataset: xr.Dataset, rods: list[tuple[int, int]]):
        self._position = dataset["position"].values
        self._times = dataset["time"].values
        self._modes = dataset["mode"].values
        self._mode_names = [words(name) for name in mode_names(dataset)]
        self._rods = rods
        self._dataset = dataset
        self.drawing = new_figure(*SIZE, constrained=False)
        self.drawing.set_dpi(DPI)
        around = ground(dataset)
        self.drawing.figimage(_render_ground(dataset, around), zorder=-1)
        self._axes = _space(self.drawing, dataset, around)
        self._axes.set_axis_off()
        self._axes.patch.set_visible(False)
        count = self._position.shape[1]
        self._trails = [self._line(colour(i), 1.3, zorder=5) for i in range(count)]
        self._bars = [self._line(INK, 1.8, zorder=6) for _ in rods]
        self._points = [self._line(colour(i), 0.0, zorder=7, marker="o", markersize=8) for i in range(count)]
        self._caption = self.drawing.text(0.04, 0.94, "", fontsize=10, family="monospace")

    def _line(self, ink: str, width: float, **options) -> Line3D:
        (line,) = self._axes.plot([], [], [], color=ink, linewidth=width, **options)
        return cast(Line3D, line)  # three coordinates make it one

    def show(self, row: int) -> list:
        """Draw the instant of one row of the dataset."""
        position = self._position[row]
        since = self._times[row] - TRAIL * (self._times[-1] - self._times[0])
        first = int(np.searchsorted(self._times, since))
        for index, (trail, point) in enumerate(zip(self._trails, self._points, strict=True)):
            trail.set_data_3d(*self._position[first : row + 1, index].T)
            point.set_data_3d(*position[index : index + 1].T)
        for bar, ends in zip(self._bars, self._rods, strict=True):
            bar.set_data_3d(*position[list(ends)].T)
        self._caption.set_text(self._text(row))
        return [*self._trails, *self._points, *self._bars, self._caption]

    def _text(self, row: int) -> str:
        now = [self._mode_names[mode] for mode in np.atleast_1d(self._modes[row])]
        told = ", ".join(now) if len(now) <= 4 else ""
        return f"t = {self._times[row]:7.3f} s   {told}"


def _render_ground(dataset: xr.Dataset, around: Ground | None) -> np.ndarray:
    """The surface and the axes of space as a picture."""
    drawing = new_figure(*SIZE, constrained=False)
    drawing.set_dpi(DPI)
    axes = _space(drawing, dataset, around)
    if around is not None and np.isfinite(around.z).any():
        axes.plot_surface(around.x, around.y, around.z, facecolors=_shades(around), rstride=1, cstride=1, linewidth=0,
                          antialiased=False, shade=False, zorder=1)  # fmt: skip
        axes.contour(around.x, around.y, around.z, levels=14, colors="#8C857A", linewidths=0.5, zorder=2)
    drawing.canvas.draw()
    return np.asarray(drawing.canvas.buffer_rgba()).copy()  # type: ignore[attr-defined]


def _space(drawing: Figure, dataset: xr.Dataset, around: Ground | None) -> Axes3D:
    """Axes in three dimensions around the motion; the same for the ground and for what moves on it."""
    axes = Axes3D(drawing, (-0.03, 0.0, 1.0, 0.97), computed_zorder=False)
    drawing.add_axes(axes)
    (low_x, high_x), (low_y, high_y) = extent(dataset, padding=0.15)
    heights = dataset["position"].values[..., 2]
    low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
    if around is not None and np.isfinite(around.z).any():
        low, high = min(low, float(np.nanmin(around.z))), max(high, float(np.nanmax(around.z)))
    width = max(high_x - low_x, high_y - low_y)
    depth = max(high - low, 0.15 * width)
    axes.set(xlim=(low_x, high_x), ylim=(low_y, high_y), zlim=(low, low + depth))
    # Shallow ground is drawn a third as high as it is wide, so that its shape can be seen.
    aspect = (high_x - low_x, high_y - low_y, np.clip(depth, 0.33 * width, 1.2 * width))
    axes.set_box_aspect(aspect, zoom=0.95)  # pyright: ignore[reportArgumentType]  # its default is a whole number
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    axes.view_init(elev=38, azim=-60)
    frames: tuple[Any, ...] = (axes.xaxis, axes.yaxis, axes.zaxis)  # in space; the stub knows those of a plane
    for axis in frames:
        axis.pane.set_facecolor((1, 1, 1, 0))
        axis.pane.set_edgecolor("#DDDDDD")
        axis._axinfo["grid"]["color"] = "#EEEEEE"
        axis.set_major_locator(MaxNLocator(5))
    return axes


def _shades(around: Ground) -> np.ndarray:
    """The colour of each patch, lit softly from one side."""
    z = np.where(np.isfinite(around.z), around.z, np.nanmin(around.z))
    rows, columns = z.shape
    dx, dy = np.ptp(around.x) / (columns - 1), np.ptp(around.y) / (rows - 1)
    steep = np.ptp(z) / np.ptp(around.x)
    light = LightSource(azdeg=315, altdeg=55).hillshade(z, vert_exag=0.4 / max(steep, 1e-12), dx=dx, dy=dy)
    shades = np.empty((*z.shape, 4))
    shades[..., :3] = np.array(to_rgb(SURFACE)) * (0.72 + 0.33 * light[..., None])
    shades[..., 3] = np.where(np.isfinite(around.z), 0.9, 0.0)
    return np.clip(shades, 0.0, 1.0)
