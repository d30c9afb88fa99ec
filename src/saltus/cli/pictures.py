"""Figures, animations and pages of a dataset, as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from saltus.cli.console import Progress
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")
ANIMATION_SUFFIXES = (".gif", ".mp4")
PAGE_SUFFIXES = (".html", ".htm")


def check_file(path: Path, force: bool) -> None:
    """Refuse, before any work, a file that could not be written at its end, or that is there already."""
    from saltus.io.files import check_writable

    check_writable(path)
    if path.exists() and not force:
        raise ScenarioError(f"{str(path)!r} is there already. Give another name, or --force to replace it.")


def check(plot: Path | None, animate: Path | None, html: Path | None, force: bool) -> None:
    """Refuse pictures and pages that could not be written: their endings, their folders, their names."""
    asked = ((plot, "--plot", FIGURE_SUFFIXES), (animate, "--animate", ANIMATION_SUFFIXES))
    for path, option, suffixes in (*asked, (html, "--html", PAGE_SUFFIXES)):
        if path is None:
            continue
        if path.suffix.lower() not in suffixes:
            raise ScenarioError(f"{option} writes {', '.join(suffixes)}, got {str(path)!r}.")
        check_file(path, force)
    if animate is not None and animate.suffix.lower() == ".mp4":
        from saltus.views.animate import require_ffmpeg

        require_ffmpeg()


def load_matplotlib() -> None:
    """Load it without the help texts of its classes: to write them takes a third of the time, and nobody reads them."""
    from matplotlib import artist

    write = artist.kwdoc
    artist.kwdoc = lambda artist: ""
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.figure  # noqa: F401
    finally:
        artist.kwdoc = write


def draw(
    dataset: xr.Dataset, plot: Path | None, animate: Path | None, progress: Progress, html: Path | None = None
) -> None:
    """Write the figure, the animation and the page that are wanted."""
    from saltus import views

    if plot is not None or animate is not None:
        load_matplotlib()
    if html is not None:
        with progress.stage("writing the page"):
            views.save_page(dataset, html)

    if plot is not None:
        with progress.stage("drawing"):
            views.save_figure(dataset, plot)
    if animate is not None:
        with progress.stage("animating", total=1.0) as told:
            views.save_animation(dataset, animate, progress=told)
