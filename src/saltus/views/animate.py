"""Animations as files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter
from PIL import Image

from saltus.errors import MissingExtraError
from saltus.views import style
from saltus.views.base import FRAMES_PER_SECOND

DPI = 100
COLOURS = 256


class GifWriter(PillowWriter):
    """Frames with one palette and no dithering: a tenth of the size, and what stands still stays still."""

    _frames: list[Image.Image]  # made by `setup` of the parent

    def grab_frame(self, **savefig_kwargs) -> None:
        """Keep what the canvas shows; the animation has just drawn it."""
        canvas = self.fig.canvas
        pixels = bytes(canvas.buffer_rgba())  # type: ignore[attr-defined]
        self._frames.append(Image.frombytes("RGBA", canvas.get_width_height(), pixels).convert("RGB"))

    def finish(self) -> None:
        """Write the file."""
        width, height = self._frames[0].size
        chosen = [self._frames[i * (len(self._frames) - 1) // 3] for i in range(4)]
        # Large swatches keep the thin coloured lines from fading into the ground.
        chosen += [Image.new("RGB", (width, height // 3), ink) for ink in ("white", *style.COLOURS)]
        sheet = Image.new("RGB", (width, sum(part.height for part in chosen)))
        top = 0
        for part in chosen:
            sheet.paste(part, (0, top))
            top += part.height
        palette = sheet.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
        flat = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self._frames]
        duration = int(1000 / self.fps)
        flat[0].save(self.outfile, save_all=True, append_images=flat[1:], duration=duration, loop=0, optimize=True)


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
        writer = GifWriter(fps=FRAMES_PER_SECOND)

    def report(frame: int, frames: int) -> None:
        if progress is not None:
            progress((frame + 1) / max(frames, 1), f"frame {frame + 1} of {frames}")

    animation.save(str(path), writer=writer, dpi=DPI, progress_callback=report)
