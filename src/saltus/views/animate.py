"""Animations as files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter

from saltus.errors import MissingExtraError

FRAMES_PER_SECOND = 25


def require_ffmpeg() -> None:
    """Refuse an mp4 where the program that makes it is missing."""
    if shutil.which("ffmpeg") is None:
        raise MissingExtraError("An .mp4 needs the program ffmpeg, which is not installed. Write a .gif instead.")


def write(animation: FuncAnimation, path: Path, progress: Callable[[float, str], None] | None = None) -> None:
    """Render all frames into a .gif or .mp4."""
    if path.suffix.lower() == ".mp4":
        require_ffmpeg()
        writer = FFMpegWriter(fps=FRAMES_PER_SECOND, bitrate=2400)
    else:
        writer = PillowWriter(fps=FRAMES_PER_SECOND)

    def report(frame: int, frames: int) -> None:
        if progress is not None:
            progress((frame + 1) / max(frames, 1), f"frame {frame + 1} of {frames}")

    animation.save(str(path), writer=writer, dpi=110, progress_callback=report)
