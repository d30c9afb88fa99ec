"""Pictures of a run; they need its dataset alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

__all__ = ["animation", "figure", "save_animation", "save_figure"]


def figure(dataset: xr.Dataset) -> Figure:
    """The figure of a run."""
    import matplotlib as mpl

    from saltus.views.kinds import view_of
    from saltus.views.style import SETTINGS

    with mpl.rc_context(SETTINGS):
        return view_of(dataset).figure(dataset)


def animation(dataset: xr.Dataset) -> FuncAnimation:
    """The animation of a run."""
    import matplotlib as mpl

    from saltus.views.kinds import view_of
    from saltus.views.style import SETTINGS

    with mpl.rc_context(SETTINGS):
        return view_of(dataset).animation(dataset)


def save_figure(dataset: xr.Dataset, path: str | Path) -> None:
    """Write the figure of a run (.png, .pdf, .svg), whole or not at all."""
    import matplotlib as mpl

    from saltus.io import atomic_write
    from saltus.views.style import SETTINGS

    drawn = figure(dataset)
    with mpl.rc_context(SETTINGS), atomic_write(path) as temporary:
        drawn.savefig(temporary, dpi=160)


def save_animation(dataset: xr.Dataset, path: str | Path, progress: Callable[[float, str], None] | None = None) -> None:
    """Write the animation of a run (.gif, or .mp4 with ffmpeg), whole or not at all."""
    import matplotlib as mpl

    from saltus.io import atomic_write
    from saltus.views import animate
    from saltus.views.style import SETTINGS

    moving = animation(dataset)
    with mpl.rc_context(SETTINGS), atomic_write(path) as temporary:
        animate.write(moving, temporary, progress)
