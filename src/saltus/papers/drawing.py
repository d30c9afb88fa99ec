"""A figure of a paper: how it is drawn, and what came of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A figure of a paper, or one that it should have had.

    Args:
        key: Name of its files.
        title: Its title.
        caption: What to notice.
        draw: Draws it; takes the workbench of the paper.
        slow: Whether `--quick` leaves it out.
        in_full: What to notice in addition where it is drawn in full, without `--quick`.
        play: Name of the catalogue's scenario whose motion it shows, if it shows one: the report plays it.
    """

    key: str
    title: str
    caption: str
    draw: Callable[[Any], Figure]
    slow: bool = False
    in_full: str = ""
    play: str = ""


@dataclasses.dataclass(frozen=True)
class Picture:
    """A drawn figure: plain data that travels between processes."""

    key: str
    title: str
    caption: str
    png: bytes
    svg: bytes | None
    motion: dict[str, Any] | None = None  # the motion that it shows, for the player
