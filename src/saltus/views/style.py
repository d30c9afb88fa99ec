"""The house style of figures: quiet axes, colours that everyone can tell apart, room for the data."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from saltus.io.files import atomic_write

DPI = 160  # dots per inch of a figure

# Okabe and Ito 2008: distinct for all common kinds of colour vision; black is kept for events and axes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F6000", "#999999")
INK = "#222222"
FAINT = "#B8B8B8"
SURFACE = "#E9E4DA"

SETTINGS: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "text.color": INK,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def colour(index: int) -> str:
    """The colour of the body, rod or quantity with this number."""
    return COLOURS[index % len(COLOURS)]


def new_figure(width: float, height: float, constrained: bool = True) -> Figure:
    """An empty figure [inches] that belongs to no window."""
    figure = Figure(figsize=(width, height), layout="constrained" if constrained else None)
    FigureCanvasAgg(figure)
    return figure


def save(drawn: Figure, path: str | os.PathLike) -> None:
    """Write a figure (.png, .pdf, .svg), whole or not at all."""
    with mpl.rc_context(SETTINGS), atomic_write(path) as temporary:
        if temporary.suffix.lower() == ".png":
            # As by `Figure.savefig`, which draws everything once more before to find the orientation of paper.
            drawn.set_dpi(DPI)
            FigureCanvasAgg(drawn).print_png(temporary, pil_kwargs={"compress_level": 2})
        else:
            drawn.savefig(temporary, dpi=DPI)


def in_house_style(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """A function that draws in the house style."""

    @functools.wraps(draw)
    def draw_styled(*arguments, **options) -> Figure:
        with mpl.rc_context(SETTINGS):
            return draw(*arguments, **options)

    return draw_styled
