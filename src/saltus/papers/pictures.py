"""Figures as bytes, in the house style."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl

from saltus.papers.drawing import Drawing, Picture
from saltus.views.style import SETTINGS

DPI = 160
SHARE = 0.25  # of the size of a page, for each motion of a report
WIDTH, HEIGHT = 6.2, 3.7  # of a plain figure [inches]


def render(drawing: Drawing, work: Any, vector: bool) -> Picture:
    """Draw a figure as PNG and, if wanted, as SVG."""
    with mpl.rc_context(SETTINGS):
        figure = drawing.draw(work)
        png = _save(figure, "png", dpi=DPI)
        svg = _save(figure, "svg") if vector else None
    caption = drawing.caption if getattr(work, "quick", False) else f"{drawing.caption} {drawing.in_full}".strip()
    if drawing.play:
        caption = f"{caption} The motion: `saltus run {drawing.play} --html {drawing.play}.html`.".strip()
    return Picture(drawing.key, drawing.title, caption, png, svg, _motion(drawing.play) if drawing.play else None)


def _motion(name: str) -> dict[str, Any]:
    """The run of a scenario of the catalogue, for the player."""
    from saltus.scenarios import load
    from saltus.views.pages import document

    loaded = load(name)
    about = {"scenario": loaded.text, "scenario_name": loaded.name}
    return document(loaded.scenario.simulate().to_dataset(loaded.scenario.solve.samples, attributes=about), SHARE)


def _save(figure: Any, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    # No date inside: the same figure is the same file.
    metadata = {"Software": None} if kind == "png" else {"Date": None}
    figure.savefig(buffer, format=kind, metadata=metadata, **options)
    return buffer.getvalue()
