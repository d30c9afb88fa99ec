"""Pictures of a run; they need its dataset alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure


__all__ = ["animation", "figure", "page", "save_animation", "save_figure", "save_page"]


def figure(dataset: xr.Dataset) -> Figure:
    """The figure of a run."""
    import matplotlib as mpl

    from saltus.views.kinds import view_of
    from saltus.views.style import SETTINGS

    with mpl.rc_context(SETTINGS):
        drawn = view_of(dataset).figure(dataset)
        drawn.suptitle(_heading(dataset), x=0.01, ha="left", fontsize=10)
        return drawn


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The animation of a run."""
    import matplotlib as mpl

    from saltus.views.kinds import view_of
    from saltus.views.style import SETTINGS

    with mpl.rc_context(SETTINGS):
        return view_of(dataset).animation(dataset)


def _heading(dataset: xr.Dataset) -> str:
    """What the run is, and how it ended."""
    from saltus.views.pages.document import description

    name = str(dataset.attrs.get("scenario_name") or dataset.attrs.get("kind", ""))
    about = description(dataset)
    outcome = str(dataset.attrs.get("outcome", "")).replace("_", " ")
    return f"{name}{': ' + about if about else ''}{'   [' + outcome + ']' if outcome else ''}"


def save_figure(dataset: xr.Dataset, path: str | Path) -> None:
    """Write the figure of a run (.png, .pdf, .svg), whole or not at all."""
    from saltus.views.style import save

    save(figure(dataset), path)


def save_animation(dataset: xr.Dataset, path: str | Path, progress: Callable[[float, str], None] | None = None) -> None:
    """Write the animation of a run (.gif, or .mp4 with ffmpeg), whole or not at all."""
    import matplotlib as mpl

    from saltus.io import atomic_write
    from saltus.views import animate
    from saltus.views.style import SETTINGS

    moving = animation(dataset)
    with mpl.rc_context(SETTINGS), atomic_write(path) as temporary:
        animate.write(moving, temporary, progress)


def page(dataset: xr.Dataset) -> str:
    """The run as one self-contained web page (HTML text): scene, time line, curves and events; it opens offline."""
    from saltus.views import pages

    return pages.page(dataset)


def save_page(dataset: xr.Dataset, path: str | os.PathLike) -> None:
    """Write the run as one self-contained web page (.html), whole or not at all."""
    from saltus.views import pages

    pages.save_page(dataset, path)
