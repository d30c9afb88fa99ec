"""Small HTML tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any


def short(value: Any) -> str:
    """A value as a cell: numbers with six digits, short lists, words as they are."""
    if isinstance(value, str | bool):
        return str(value)
    if getattr(value, "ndim", 0) or isinstance(value, list | tuple):
        entries = [short(one) for one in value]
        return f"[{', '.join(entries[:6])}{', …' if len(entries) > 6 else ''}]"
    try:
        return f"{float(value):.6g}"
    except (TypeError, ValueError):
        return str(value)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table."""
    lines = [_line("th", heads), *(_line("td", row) for row in rows)]
    return f"<table><thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody></table>"


def _line(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f'<{tag} style="text-align:left">{html.escape(cell)}</{tag}>' for cell in cells) + "</tr>"
