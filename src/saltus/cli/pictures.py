"""Figures, animations and pages of a dataset, as files."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from saltus.cli.console import Progress
from saltus.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")
ANIMATION_SUFFIXES = (".gif", ".mp4")
PAGE_SUFFIXES = (".html", ".htm")
TURN = 5e-4  # seconds after which the thread that loads gives way to the run, which asks often and for little

_loading = threading.Lock()  # held by the thread that loads matplotlib


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


@contextlib.contextmanager
def loading_meanwhile(wanted: bool, formulas: bool = False) -> Iterator[None]:
    """Within it another thread loads matplotlib, which is ready when the run is: compiled programs leave Python free.

    Args:
        wanted: Whether anything will be drawn.
        formulas: Whether formulas will be written.
    """
    if not wanted:
        yield
        return
    usual = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="saltus drawing") as helper:
            helper.submit(_load_matplotlib, formulas)  # what fails there fails again in `draw`, and is told then
            yield
    finally:
        sys.setswitchinterval(usual)


def _load_matplotlib(formulas: bool = False) -> None:
    """Load it without the help texts of its classes: to write them takes a third of the time, and nobody reads them."""
    with _loading:
        from matplotlib import artist

        write = artist.kwdoc
        artist.kwdoc = lambda artist: ""
        try:
            import matplotlib.animation
            import matplotlib.backends.backend_agg
            import matplotlib.figure  # noqa: F401
        finally:
            artist.kwdoc = write
        if formulas:
            from matplotlib.mathtext import MathTextParser

            MathTextParser("agg").parse("$x$")  # builds the grammar of formulas, which takes longer than to write them


def draw(
    dataset: xr.Dataset, plot: Path | None, animate: Path | None, progress: Progress, html: Path | None = None
) -> None:
    """Write the figure, the animation and the page that are wanted."""
    from saltus import views

    if plot is not None or animate is not None:
        _load_matplotlib()
    if html is not None:
        with progress.stage("writing the page"):
            views.save_page(dataset, html)

    if plot is not None:
        with progress.stage("drawing"):
            views.save_figure(dataset, plot)
    if animate is not None:
        with progress.stage("animating", total=1.0) as told:
            views.save_animation(dataset, animate, progress=told)
