"""A run as one self-contained web page: scene, time line, curves, events; it opens offline, anywhere."""

from __future__ import annotations

import functools
import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from saltus.io.files import atomic_write
from saltus.views.pages.document import document

__all__ = ["Inline", "document", "page", "save_page"]

PLAYER = Path(__file__).parent / "player"
SCRIPTS = (
    "vendor/three.min.js",
    "base.js",
    "clock.js",
    "space.js",
    "ground.js",
    "things.js",
    "curves.js",
    "timeline.js",
    "player.js",
)


def page(dataset: xr.Dataset) -> str:
    """The page of a run as HTML text; it needs the dataset alone."""
    return fill(document(dataset))


def save_page(dataset: xr.Dataset, path: str | os.PathLike) -> None:
    """Write the page of a run (.html), whole or not at all."""
    text = page(dataset)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


class Inline:
    """The page of a run inside a notebook.

    Args:
        dataset: The run.
        height: Of the frame [pixels].
    """

    def __init__(self, dataset: xr.Dataset, height: int = 620):
        self._dataset, self._height = dataset, height

    def _repr_html_(self) -> str:
        inner = html.escape(page(self._dataset), quote=True)
        return (
            f'<iframe srcdoc="{inner}" style="width:100%;height:{int(self._height)}px;border:0" '
            'sandbox="allow-scripts" title="a run of saltus"></iframe>'
        )


def fill(data: dict[str, Any]) -> str:
    """The template with the data of a run put in."""
    return _fill(f"{data['title']} - saltus", as_json(data))


def shell(title: str) -> tuple[str, str]:
    """The page of a run without its data: what comes before them, and what after."""
    before, after = _fill(title, "\0").split("\0")
    return before, after


def _fill(title: str, data: str) -> str:
    from saltus import __version__

    parts = {
        "title": html.escape(title),
        "version": __version__,
        "style": style(),
        "data": data,
        "script": script(),
    }
    return fill_template(PLAYER / "page.html", parts)


def fill_template(template: Path, parts: Mapping[str, str]) -> str:
    """The text of a file with {{name}} replaced by the part of this name; what is put in is never looked at again."""
    pieces = template.read_text(encoding="utf-8").split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:]))


def as_json(data: Any) -> str:
    """Data for a script element, in which no end tag may appear; JSON can say "<" otherwise."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


@functools.cache
def style() -> str:
    """The style sheet of the player."""
    return (PLAYER / "player.css").read_text(encoding="utf-8")


@functools.cache
def script() -> str:
    """The player and what it is drawn with."""
    return "\n".join((PLAYER / name).read_text(encoding="utf-8") for name in SCRIPTS)
