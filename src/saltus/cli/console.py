"""Where things are printed: results on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

from saltus.cli import interrupt


def error(message: str) -> None:
    """One line on stderr."""
    print(f"saltus: {' '.join(message.split())}", file=sys.stderr)


def note(message: str) -> None:
    """A remark on stderr."""
    print(message, file=sys.stderr)


def print_json(data: Any) -> None:
    """Data for machines on stdout; what is not a finite number is null."""
    print(json.dumps(_plain(data), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_pairs(rows: list[tuple[str, str]]) -> None:
    """A table of names and values on stdout."""
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """A table with a header on stdout; columns are as wide as they need to be."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    for row in [header, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


class Progress:
    """A bar on stderr that shows how far a piece of work is."""

    def __init__(self, bar: Any):
        self._bar = bar

    @contextlib.contextmanager
    def stage(self, description: str, total: float | None = None) -> Iterator[Callable[[float, str], None]]:
        """A piece of work; call what it gives with how much of `total` is done and a remark."""
        if self._bar is None:
            yield lambda done, remark="": None
            return
        endless = total is None or not math.isfinite(total)
        task = self._bar.add_task(description, total=None if endless else total, remark="")
        try:
            yield lambda done, remark="": self._bar.update(task, completed=done, remark=remark)
        finally:
            self._bar.remove_task(task)


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """Progress on stderr while it is a terminal, and gone afterwards."""
    from saltus.programs import waiting

    if quiet or not sys.stderr.isatty():
        with waiting.tell_by(lambda line: None):
            yield Progress(None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[remark]}"),
        TimeElapsedColumn(),
    )
    with (
        RichProgress(*columns, console=Console(stderr=True), transient=True) as bar,
        interrupt.doing(bar.stop),
        waiting.tell_by(bar.console.print),
    ):
        yield Progress(bar)
