"""Masses, rods and trails in three dimensions."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.colors import LightSource, to_rgb

from saltus.io import mode_names
from saltus.views.base import frame_times, words
from saltus.views.ground import extent, ground
from saltus.views.style import INK, SURFACE, colour, new_figure

TRAIL = 0.2  # share of the run that a trail shows


class Scene:
    """A drawing that shows one instant after another."""

    def __init__(self, dataset: xr.Dataset, rods: list[tuple[int, int]]):
        self._position = dataset["position"].values
        self._times = dataset["time"].values
        self._modes = dataset["mode"].values
        self._mode_names = [words(name) for name in mode_names(dataset)]
        self._rods = rods
        self._dataset = dataset
        self.drawing = new_figure(6.4, 5.6, constrained=False)
        self._axes = self.drawing.add_axes((0.0, 0.0, 1.0, 0.95), projection="3d", computed_zorder=False)
        self._draw_ground()
        count = self._position.shape[1]
        self._trails = [self._line(colour(i), 1.3, zorder=5) for i in range(count)]
        self._bars = [self._line(INK, 1.6, zorder=6) for _ in rods]
        self._points = [self._line(colour(i), 0.0, zorder=7, marker="o", markersize=7.5) for i in range(count)]
        self._caption = self.drawing.text(0.04, 0.94, "", fontsize=10, family="monospace")

    def _line(self, ink: str, width: float, **options):
        (line,) = self._axes.plot([], [], [], color=ink, linewidth=width, **options)
        return line

    def rows(self, frames: int) -> np.ndarray:
        """The rows of the dataset to show, evenly spaced in time."""
        return frame_times(self._dataset, frames)

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

    def _draw_ground(self) -> None:
        (low_x, high_x), (low_y, high_y) = extent(self._dataset, padding=0.15)
        around = ground(self._dataset, points=61)
        heights = self._position[..., 2]
        low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
        if around is not None and np.isfinite(around.z).any():
            low, high = min(low, float(np.nanmin(around.z))), max(high, float(np.nanmax(around.z)))
            x, y = np.meshgrid(around.x, around.y)
            self._axes.plot_surface(x, y, around.z, facecolors=_shades(around), rstride=1, cstride=1, linewidth=0,
                                    antialiased=False, shade=False, zorder=1)  # fmt: skip
            self._axes.plot_wireframe(x, y, around.z, rstride=6, cstride=6, color="#8C857A", linewidth=0.4, zorder=2)
        width = max(high_x - low_x, high_y - low_y)
        depth = max(high - low, 0.15 * width)
        self._axes.set(xlim=(low_x, high_x), ylim=(low_y, high_y), zlim=(low, low + depth))
        # Shallow ground is drawn up to a third as high as it is wide, so that its shape can be seen.
        tall = np.clip(depth, 0.33 * width, 1.2 * width)
        self._axes.set_box_aspect((high_x - low_x, high_y - low_y, tall), zoom=1.05)
        self._axes.set_xlabel("x [m]")
        self._axes.set_ylabel("y [m]")
        self._axes.set_zlabel("z [m]")
        self._axes.view_init(elev=38, azim=-60)
        for axis in (self._axes.xaxis, self._axes.yaxis, self._axes.zaxis):
            axis.pane.set_facecolor((1, 1, 1, 0))
            axis.pane.set_edgecolor("#DDDDDD")
            axis._axinfo["grid"]["color"] = "#EEEEEE"
            axis.set_major_locator(_few_ticks())


def _few_ticks():
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5)


def _shades(around) -> np.ndarray:
    """The colour of each patch, lit from one side."""
    z = np.where(np.isfinite(around.z), around.z, np.nanmin(around.z))
    light = LightSource(azdeg=315, altdeg=50)
    plain = np.broadcast_to(np.array([*to_rgb(SURFACE), 1.0]), (*z.shape, 4)).copy()
    step_x, step_y = around.x[1] - around.x[0], around.y[1] - around.y[0]
    stretch = 0.6 * (around.x[-1] - around.x[0]) / max(np.ptp(z), 1e-300)
    shaded = light.shade_rgb(plain[..., :3], z, vert_exag=min(stretch, 1e6), dx=step_x, dy=step_y, fraction=0.9)
    plain[..., :3] = shaded
    plain[..., 3] = np.where(np.isfinite(around.z), 0.85, 0.0)
    return plain
