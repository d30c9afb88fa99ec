"""Pictures of a chain that slides off a table."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from saltus.io import mode_names
from saltus.views.animate import DPI
from saltus.views.base import animate, event_names, frame_times, marker, split_at_jumps, words
from saltus.views.style import FAINT, INK, SURFACE, colour, new_figure

FRAMES = 150
SHAPES = 9  # snapshots in the figure
ROWS = 400  # of the picture of the tensions
CROSSINGS = ("crossing", "exit")


def figure(dataset: xr.Dataset) -> Figure:
    """Shapes at crossings, tension along the chain over time, and where the energy went."""
    if not _moves(dataset):
        return _draw_held_chain(dataset)
    width = 10.5
    rows = snapshot_rows(dataset, SHAPES)
    piece, reach, depth = _room(dataset, rows)
    # Shapes are drawn true to scale; what height that takes depends on them.
    tall = float(np.clip(width * depth / (reach * len(rows)), 0.9, 5.0)) + 0.8
    drawing = new_figure(width, tall + 3.4)
    grid = drawing.add_gridspec(2, 2, height_ratios=[tall, 3.0])
    _shapes(drawing.add_subplot(grid[0, :]), dataset, rows, piece, reach)
    tension = drawing.add_subplot(grid[1, 0])
    _tensions(drawing, tension, dataset)
    _energies(drawing.add_subplot(grid[1, 1], sharex=tension), dataset)
    return drawing


def _moves(dataset: xr.Dataset) -> bool:
    """Whether anything moves by more than a ten-thousandth of the chain's length."""
    position = dataset["position"].values
    return float(np.ptp(position, axis=0).max()) > 1e-4 * float(np.ptp(position[0]))


def _draw_held_chain(dataset: xr.Dataset) -> Figure:
    """A chain that stays where it is: its shape, and its tension from link to link."""
    drawing = new_figure(9.0, 4.2)
    shape, tension = drawing.subplots(1, 2, width_ratios=[1.3, 1.0])
    path = through_the_edge(dataset, 0)
    _table(shape, dataset)
    shape.plot(path[:, 1], -path[:, 0], "-", color=colour(0), zorder=3)
    shape.plot(
        dataset["position"].values[0, :, 1], -dataset["position"].values[0, :, 0], "o", color=colour(0), markersize=3
    )
    shape.set(
        aspect="equal", xlabel="outward [m]", ylabel="height [m]", title="friction holds the chain: nothing moves"
    )
    links = np.arange(1, dataset.sizes["link"] + 1)
    tension.barh(links, dataset["tension"].values[-1], color=colour(1), height=0.7)
    tension.axhline(float(dataset["off_table"].values[-1]), color=INK, linewidth=0.9)
    tension.set(xlabel="tension [N]", ylabel="link, from the free end", title="tension; the links below the line hang")
    tension.yaxis.set_major_locator(MaxNLocator(integer=True))
    return drawing


def _room(dataset: xr.Dataset, rows: np.ndarray) -> tuple[float, float, float]:
    """Of the shapes: table that is shown with each, width of each, and height of all [m]."""
    position, off = dataset["position"].values, dataset["off_table"].values
    depth = max(float(position[rows][..., 0].max()), 1e-12)
    link = 1.2 * float(np.max(np.abs(np.diff(position[0, :, 1], axis=0)), initial=1e-12))
    piece = min(link, max(0.8 * depth, 1e-12))
    outward = np.concatenate([position[row, : off[row], 1] for row in rows])
    reach = max(float(outward.max()), 0.0) - min(float(outward.min()), -piece) + 0.3 * piece
    return piece, reach, depth


def snapshot_rows(dataset: xr.Dataset, count: int) -> np.ndarray:
    """Rows to draw: the start, evenly chosen crossings, and the end."""
    names = dataset["event_name"].values
    moments = dataset["event_time"].values[np.isin(names, CROSSINGS)]
    if len(moments) < 2:
        return np.unique(frame_times(dataset, count))
    chosen = moments[np.unique(np.linspace(0, len(moments) - 1, count - 1).round().astype(int))]
    times, side = dataset["time"].values, dataset["jump_side"].values
    rows = [int(np.flatnonzero((times == moment) & (side == 1))[0]) for moment in chosen]
    return np.unique([0, *rows, len(times) - 1])


def _shapes(axes: Axes, dataset: xr.Dataset, rows: np.ndarray, piece: float, reach: float) -> None:
    """Snapshots side by side, each with the end of the table that is next to the edge."""
    position, off = dataset["position"].values, dataset["off_table"].values
    size = 3.0 if dataset.sizes["particle"] <= 60 else 0.0
    for place, row in enumerate(rows):
        shift = place * reach
        path = through_the_edge(dataset, row)
        shown = (path[:, 1] > -piece) | (path[:, 0] > 0.0)
        points = position[row][(position[row, :, 1] > -piece) | (position[row, :, 0] > 0.0)]
        axes.plot([shift - piece, shift], [0.0, 0.0], color=SURFACE, linewidth=5.0, zorder=1, solid_capstyle="butt")
        if off[row] < dataset.sizes["particle"]:
            axes.plot([shift - piece, shift], [0.0, 0.0], color=colour(0), linewidth=1.1, zorder=3)
        axes.plot(path[shown, 1] + shift, -path[shown, 0], color=colour(0), linewidth=1.1, zorder=3)
        axes.plot(points[:, 1] + shift, -points[:, 0], "o", color=colour(0), markersize=size, zorder=4)
        label = f"{float(dataset['time'].values[row]):.4g} s"
        axes.annotate(label, (shift, 0.0), (0, 7), textcoords="offset points", ha="center", fontsize=8)
    axes.set(aspect="equal", ylabel="height [m]", xticks=[])
    axes.yaxis.set_major_locator(MaxNLocator(4, min_n_ticks=2))
    axes.spines["bottom"].set_visible(False)
    law, links = dataset.attrs.get("engagement", ""), dataset.attrs.get("links", "")
    count, crossed = dataset.sizes["link"], np.isin(dataset["event_name"].values, CROSSINGS).sum() > 1
    shown = "shapes at crossings" if crossed else "shapes"
    axes.set_title(f"{shown}: {count} {links}{'' if count == 1 else 's'}, law of engagement: {law}", pad=14)


def through_the_edge(dataset: xr.Dataset, row: int) -> np.ndarray:
    """The chain as a line; the edge link is bent over the edge."""
    position = dataset["position"].values[row]
    off = int(dataset["off_table"].values[row])
    if off >= len(position):
        return position
    return np.insert(position, off, [0.0, 0.0], axis=0)


def _table(axes: Axes, dataset: xr.Dataset) -> None:
    """A thin table top behind the edge."""
    length = float(np.nanmax(-dataset["position"].values[..., 1], initial=0.0))
    thickness = 0.02 * max(length, float(np.nanmax(dataset["position"].values[..., 0])), 1e-12)
    axes.add_patch(Rectangle((-1.05 * length, -thickness), 1.05 * length, thickness, color=SURFACE, zorder=1))
    axes.plot([-1.05 * length, 0.0], [0.0, 0.0], color=FAINT, linewidth=0.8, zorder=2)


def _tensions(drawing: Figure, axes: Axes, dataset: xr.Dataset) -> None:
    """Tension of every link over time; the line is the edge."""
    times = dataset["time"].values
    wanted = np.linspace(times[0], times[-1], ROWS)
    rows = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(times) - 1)
    tension = dataset["tension"].values[rows]
    high = float(np.nanpercentile(tension, 99.5)) or 1.0
    low = min(float(np.nanmin(tension)), 0.0)
    pushes = low < -1e-3 * high
    norm = TwoSlopeNorm(0.0, vmin=low, vmax=high) if pushes else Normalize(0.0, high)
    links = np.arange(dataset.sizes["link"] + 1) + 0.5
    step = wanted[1] - wanted[0]
    borders = np.append(wanted, wanted[-1] + step) - step / 2
    colours = "PuOr_r" if pushes else "Oranges"
    image = axes.pcolormesh(borders, links, tension.T, cmap=colours, norm=norm, rasterized=True)
    axes.step(times, dataset["off_table"].values, where="post", color=INK, linewidth=0.9)
    axes.set(xlabel="time [s]", ylabel="link, from the free end", xlim=(times[0], times[-1]), ylim=links[[0, -1]])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("tension; below the line the links hang")
    drawing.colorbar(image, ax=axes, location="left", pad=0.02, aspect=20).set_label("tension [N]")
    for name in event_names(dataset):
        if name not in CROSSINGS:
            _mark(axes, dataset, name)


def _mark(axes: Axes, dataset: xr.Dataset, name: str) -> None:
    """The events of one name, at their link where they have one."""
    chosen = dataset["event_name"].values == name
    links = dataset["event_link"].values[chosen] if "event_link" in dataset else np.full(chosen.sum(), -1)
    places = np.where(links > 0, links, 0.5)
    axes.plot(dataset["event_time"].values[chosen], places, marker(dataset, name), color=INK, markersize=4,
              markerfacecolor="white", markeredgewidth=0.7, clip_on=False, zorder=5)  # fmt: skip


def _energies(axes: Axes, dataset: xr.Dataset) -> None:
    kinetic, potential, jerks, friction = (
        dataset[name].values for name in ("kinetic_energy", "potential_energy", "jerk_loss", "friction_loss")
    )
    series = {"kinetic": kinetic, "potential": potential, "lost in jerks": jerks, "lost to friction": friction}
    for index, (label, values) in enumerate(series.items()):
        if label == "lost to friction" and not friction.any():
            continue
        axes.plot(*split_at_jumps(dataset, values), color=colour(index), label=label)
    axes.plot(dataset["time"].values, kinetic + potential + jerks + friction, "--", color=INK, label="sum")
    axes.set(xlabel="time [s]", ylabel="energy [J]")
    axes.set_title("where the energy went")
    for name in event_names(dataset):
        if name not in CROSSINGS:
            axes.plot([], [], marker(dataset, name), color=INK, markersize=4.5, markerfacecolor="white",
                      label=words(name))  # fmt: skip
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The chain sliding off, coloured by tension."""
    scene = Scene(dataset)
    return animate(scene.drawing, dataset, scene.show, FRAMES)


class Scene:
    """A drawing of the chain that shows one instant after another."""

    def __init__(self, dataset: xr.Dataset):
        self._dataset = dataset
        self._names = [words(name) for name in mode_names(dataset)]
        self.drawing = new_figure(6.4, 6.0)
        self.drawing.set_dpi(DPI)
        axes = self.drawing.add_subplot()
        _table(axes, dataset)
        self._trails = [axes.plot([], [], color=FAINT, linewidth=0.7, zorder=2)[0] for _ in range(2)]
        (self._line,) = axes.plot([], [], color=INK, linewidth=1.0, zorder=3)
        tension = dataset["tension"].values
        high = float(np.nanpercentile(np.abs(tension), 99)) or 1.0
        self._dots = axes.scatter(
            [], [], s=18 if dataset.sizes["particle"] <= 60 else 6, c=[], cmap="PuOr_r", norm=Normalize(-high, high),
            edgecolors=INK, linewidths=0.5, zorder=4,
        )  # fmt: skip
        self._caption = axes.set_title("", family="monospace")
        y, height = dataset["position"].values[..., 1], -dataset["position"].values[..., 0]
        margin = 0.06 * max(np.ptp(y), np.ptp(height))
        axes.set(xlim=(y.min() - margin, y.max() + margin), ylim=(height.min() - margin, height.max() + 2 * margin))
        axes.set(xlabel="outward [m]", ylabel="height [m]", aspect="equal")
        self.drawing.colorbar(self._dots, ax=axes, shrink=0.6, aspect=25).set_label("tension towards the table [N]")

    def show(self, row: int) -> list:
        """Draw the instant of one row of the dataset."""
        position = self._dataset["position"].values
        path = through_the_edge(self._dataset, row)
        self._line.set_data(path[:, 1], -path[:, 0])
        for trail, particle in zip(self._trails, (0, -1), strict=True):
            trail.set_data(position[: row + 1, particle, 1], -position[: row + 1, particle, 0])
        self._dots.set_offsets(np.column_stack([position[row, :, 1], -position[row, :, 0]]))
        self._dots.set_array(np.append(self._dataset["tension"].values[row], 0.0))
        off, mode = int(self._dataset["off_table"].values[row]), int(self._dataset["mode"].values[row])
        time = float(self._dataset["time"].values[row])
        self._caption.set_text(f"t = {time:7.3f} s   {off:3d} off the table   {self._names[mode]}")
        return [self._line, *self._trails, self._dots, self._caption]
