"""What the views of all kinds share: series over time, events, and gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

from saltus.views.motion import moves_until
from saltus.views.pages.arrays import unit_text
from saltus.views.style import FAINT, INK, colour


class Lines(Protocol):
    """What is drawn of a panel of a page."""

    @property
    def title(self) -> str: ...
    @property
    def units(self) -> str: ...
    @property
    def lines(self) -> Mapping[str, np.ndarray]: ...
    @property
    def inks(self) -> tuple[int, ...]: ...
    @property
    def note(self) -> str: ...


MAX_EVENT_LINES = 60
FRAMES_PER_SECOND = 25
HELD = 12  # frames for which the end is shown

# One marker per name of event, in the order in which they appear.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")


def split_at_jumps(dataset: xr.Dataset, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times and values with a NaN between the two sides of each jump, so that lines break there."""
    times = dataset["time"].values
    after = np.flatnonzero(dataset["jump_side"].values == 1)
    return np.insert(times, after, times[after]), np.insert(values.astype(float), after, np.nan, axis=0)


def event_names(dataset: xr.Dataset) -> list[str]:
    """The names of the events of a run, in the order in which they first appear."""
    return list(dict.fromkeys(str(name) for name in dataset["event_name"].values))


def marker(dataset: xr.Dataset, name: str) -> str:
    """The marker of an event's name in this run."""
    return MARKERS[event_names(dataset).index(name) % len(MARKERS)]


def mark_events(axes: Axes, dataset: xr.Dataset) -> None:
    """A thin line at each event; with many events only ticks at the top."""
    times = np.unique(dataset["event_time"].values)
    if len(times) <= MAX_EVENT_LINES:
        # All in one piece: drawn in a tenth of the time.
        height = axes.get_xaxis_transform()
        axes.vlines(times, 0.0, 1.0, FAINT, linewidths=0.6, capstyle="projecting", zorder=0, transform=height)
    else:
        axes.plot(
            times, np.full_like(times, 1.0), "|", color=FAINT, transform=axes.get_xaxis_transform(), clip_on=False
        )


def shade_undefined(axes: Axes, dataset: xr.Dataset, values: np.ndarray) -> None:
    """A shade where a quantity is undefined (NaN), with the word where it fits."""
    times = dataset["time"].values
    undefined = np.all(np.isnan(values).reshape(len(times), -1), axis=1)
    span = times[-1] - times[0]
    for first, last in _stretches(undefined):
        axes.axvspan(times[first], times[last], color="#EFEFEF", zorder=-1, linewidth=0)
        if times[last] - times[first] > 0.12 * span:
            middle = (times[first] + times[last]) / 2
            axes.text(middle, 0.5, "undefined\n(at rest)", transform=axes.get_xaxis_transform(), ha="center",
                      va="center", fontsize=8, color="#777777")  # fmt: skip


def _stretches(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]


def event_legend(axes: Axes, dataset: xr.Dataset) -> None:
    """Empty marks that name the events in the legend of `axes`."""
    for name in event_names(dataset):
        axes.plot([], [], marker(dataset, name), color=INK, markersize=4.5, markerfacecolor="white", label=words(name))


def words(name: str) -> str:
    """A name as it is said: `lift_off` is "lift off"."""
    return name.replace("_", " ")


def frame_times(dataset: xr.Dataset, frames: int, until: float | None = None) -> np.ndarray:
    """Row of the dataset that each of several instants shows, evenly spaced in time."""
    times = dataset["time"].values
    wanted = np.linspace(times[0], times[-1] if until is None else until, frames)
    return np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(times) - 1)


def animate(
    drawing: Figure, dataset: xr.Dataset, show: Callable[[int], Iterable[Artist]], frames: int
) -> FuncAnimation:
    """The animation of a run: rows evenly spaced in time until nothing moves, with the pace written on it."""
    until = moves_until(dataset)
    frames = min(frames, max(2, dataset.sizes["time"]))
    rows = frame_times(dataset, frames, until)
    pace = (until - float(dataset["time"].values[0])) * FRAMES_PER_SECOND / frames
    drawing.text(0.985, 0.012, pace_text(pace), ha="right", va="bottom", fontsize=8, color="#777777")
    return FuncAnimation(drawing, show, frames=np.append(rows, np.full(HELD, rows[-1])), blit=False)


def pace_text(pace: float) -> str:
    """How fast time passes in an animation, such as "1/5 of real time"."""
    if 0.97 < pace < 1.03:
        return "real time"
    return f"{pace:.2g} × real time" if pace > 1 else f"1/{1 / pace:.2g} of real time"


def draw_panel(axes: Axes, dataset: xr.Dataset, panel: Lines | None) -> None:
    """The lines of a panel of a page, as a figure has them; nothing where the dataset has none."""
    if panel is None:
        return
    inks = panel.inks or tuple(range(len(panel.lines)))
    drawn: list[np.ndarray] = []
    for (label, values), ink in zip(panel.lines.items(), inks, strict=True):
        times, broken = split_at_jumps(dataset, np.asarray(values, float))
        covers = any(np.allclose(values, other, rtol=1e-3, atol=1e-12, equal_nan=True) for other in drawn)
        dashed = covers or ink < 0
        axes.plot(times, broken, "--" if dashed else "-", color=INK if ink < 0 else colour(ink), label=label)
        drawn.append(values)
    units = unit_text(panel.units)
    axes.set_ylabel(f"[{units}]" if units else "")
    axes.set_title(panel.title + (f" ({panel.note})" if panel.note else ""))
    axes.set_xlim(times[0], max(times[-1], times[0] + 1e-12))
    if len(panel.lines) > 1:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)


def _not_too_near(axes: Axes) -> None:
    """Show what only varies by rounding as constant."""
    low, high = axes.get_ylim()
    least, middle = 1e-6 * max(abs(low), abs(high)), 0.5 * (low + high)
    if high - low < least:
        wide = 1e4 * least
        axes.set_ylim(middle - wide, middle + wide)


def time_panels(
    drawing: Figure, grid: GridSpec, panels: Sequence[Lines | Callable[[Axes], None] | None], dataset: xr.Dataset
) -> None:
    """Panels below each other in the second column, over one axis of time, with the events marked.

    A panel is one of a page, or a function that draws on the axes it is given.
    """
    stack: list[Axes] = []
    for row, panel in enumerate(panels):
        axes = drawing.add_subplot(grid[row, 1], sharex=stack[0] if stack else None)
        if callable(panel):
            panel(axes)
        else:
            draw_panel(axes, dataset, panel)
        mark_events(axes, dataset)
        _not_too_near(axes)
        axes.tick_params(labelbottom=row == len(panels) - 1)
        stack.append(axes)
    stack[-1].set_xlabel("time [s]")
