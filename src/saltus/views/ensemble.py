"""Pictures of an ensemble: how its columns are distributed, and how likely large values are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from saltus.views.base import words
from saltus.views.pages.arrays import unit_text
from saltus.views.style import INK, colour, in_house_style, new_figure

ABREAST = 2  # columns side by side, each with two panels
MOST = 30


class Curves(Protocol):
    """What is drawn of a column: its histogram, and its exceedance curve with a band."""

    @property
    def label(self) -> str: ...
    @property
    def edges(self) -> np.ndarray: ...
    @property
    def counts(self) -> np.ndarray: ...
    @property
    def values(self) -> np.ndarray: ...
    @property
    def probability(self) -> np.ndarray: ...
    @property
    def low(self) -> np.ndarray: ...
    @property
    def high(self) -> np.ndarray: ...


@in_house_style
def figure(columns: Sequence[Curves], outcomes: Mapping[str, int] | None = None, title: str = "") -> Figure:
    """Outcomes on top, then for each column that varies its histogram and its exceedance curve, two columns a row.

    Args:
        columns: Those that vary are drawn, or all if none does. Of more than thirty the first are drawn, and the
            title says so.
        outcomes: How often each outcome came up.
        title: Stands above all.
    """
    varying = [one for one in columns if len(one.values) > 1] or list(columns)
    shown = varying[:MOST]
    rows = -(-len(shown) // ABREAST)
    heights = [0.5 + 0.25 * len(outcomes)] if outcomes else []
    heights += [1.9] * rows
    drawing = new_figure(13.0 if len(shown) > 1 else 7.0, sum(heights) + 0.4)
    abreast = ABREAST if len(shown) > 1 else 1
    grid = drawing.add_gridspec(max(len(heights), 1), 2 * abreast, height_ratios=heights or None)
    if outcomes:
        _outcomes(drawing.add_subplot(grid[0, :]), outcomes)
    for place, one in enumerate(shown):
        row, left = len(heights) - rows + place // abreast, 2 * (place % abreast)
        _histogram(drawing.add_subplot(grid[row, left]), one)
        _exceedance(drawing.add_subplot(grid[row, left + 1]), one)
    left_out = len(columns) - len(shown)
    if left_out:
        constant = len(columns) - len(varying)
        why = f"{constant} that do not vary" if constant == left_out else f"{left_out} columns"
        title = f"{title}   (without {why}; `saltus summarize` tells of all)"
    drawing.suptitle(title, x=0.01, ha="left", fontsize=10)
    return drawing


def _outcomes(axes: Axes, outcomes: Mapping[str, int]) -> None:
    names, counts = [words(name) for name in outcomes], list(outcomes.values())
    bars = axes.barh(names, counts, color=colour(0), height=0.6)
    axes.bar_label(bars, labels=[f"{count} ({count / sum(counts):.3%})" for count in counts], padding=3, fontsize=8)
    axes.set(xlim=(0, 1.3 * max(counts)), xlabel="samples")
    axes.invert_yaxis()


def _histogram(axes: Axes, column: Curves) -> None:
    axes.stairs(column.counts, column.edges, fill=True, color=colour(0), alpha=0.6)
    axes.stairs(column.counts, column.edges, color=INK, linewidth=0.6)
    axes.set(xlabel=_label(column), ylabel="samples", ylim=(0, None))


def _exceedance(axes: Axes, column: Curves) -> None:
    """The curve over the value, by the logarithm of the probability: rare large values are seen."""
    if len(column.values) < 2:
        text = f"always {column.values[0]:g}" if len(column.values) else "no finite values"
        axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center")
        axes.set_axis_off()
        return
    least = max(float(column.probability[column.probability > 0].min(initial=1.0)) / 2, 1e-12)
    # What no sample exceeded has probability 0, which has no place on this axis; its band has.
    axes.fill_between(
        column.values, np.maximum(column.low, least), np.maximum(column.high, least), step="post", color=colour(1),
        alpha=0.25, linewidth=0,
    )  # fmt: skip
    axes.step(column.values, np.maximum(column.probability, least), where="post", color=colour(1))
    axes.set(yscale="log", ylim=(least, 1.2), xlabel=_label(column), ylabel="probability to exceed")
    axes.xaxis.set_major_locator(MaxNLocator(5))


def _label(column: Curves) -> str:
    """A column's name as it is said, with its units as they are printed."""
    name, _, units = column.label.partition(" [")
    units = unit_text(units.removesuffix("]"))
    return words(name) + (f" [{units}]" if units else "")
