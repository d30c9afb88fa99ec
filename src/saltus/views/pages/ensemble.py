"""What came out of an ensemble as one web page: outcomes, distributions, exceedance curves and sensitivity."""

from __future__ import annotations

import base64
import dataclasses
import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from saltus.views import pages as player
from saltus.views.pages.arrays import unit_text
from saltus.views.style import COLOURS

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 420, 190, 46, 34, 10  # of a diagram, in its own units
STATISTICS = ("mean", "standard_error", "sd", "min", "q05", "q50", "q95", "max")
HEADS = {"standard_error": "± error", "q05": "5 %", "q50": "median", "q95": "95 %"}
MOST_POINTS = 400


class Summary(Protocol):
    """What is told of an ensemble."""

    @property
    def facts(self) -> Mapping[str, Any]: ...
    @property
    def outcomes(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def parameters(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def columns(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def sensitivity(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def curves(self) -> Sequence[Any]: ...


@dataclasses.dataclass(frozen=True)
class Pictures:
    """What a page shows of an ensemble besides its numbers.

    Args:
        samples: Single runs to play: what each of them is, and its document.
        maps: Pictures (PNG) with their titles.
    """

    samples: Sequence[tuple[str, Mapping[str, Any]]] = ()
    maps: Sequence[tuple[str, bytes]] = ()


def page(summary: Summary, pictured: Pictures | None = None) -> str:
    """The page as HTML text; it loads nothing, and runs a script only to play samples."""
    facts = summary.facts
    pictured = pictured or Pictures()
    name = Path(str(facts["store"])).name
    varying = [one for one in summary.curves if len(one.values) > 1]
    head = [
        f"<h1>{_text(name)}</h1>",
        f"<p>{_text(facts['kind'])}: {facts['done']} of {facts['samples']} samples complete; design "
        f"{_text(facts['design'])}, seed {_text(facts['seed'])}.</p>",
        *(f'<p class="remark">{_mark_code(remark)}</p>' for remark in facts.get("remarks", ())),
        "<h2>Outcomes</h2>",
        _outcomes(summary.outcomes),
    ]
    rest = [
        *_maps(pictured.maps),
        "<h2>What came out</h2>",
        f'<div class="cards">{"".join(_card(one, summary) for one in varying)}</div>',
        "<h2>Statistics</h2>",
        _table(summary.columns),
        "<h2>What was varied</h2>",
        _table(summary.parameters, known=False),
        "<footer>Made by saltus. Everything stands in this one file; nothing is loaded from elsewhere.</footer>",
    ]
    played = _player_of_samples(pictured.samples)
    return _document(
        name, f'<div class="summary">{"".join(head)}</div>{played}<div class="summary">{"".join(rest)}</div>', played
    )


def _document(name: str, body: str, played: str) -> str:
    """The whole page; scripts are allowed where there is something to play."""
    style = (Path(__file__).parent / "player" / "ensemble.css").read_text(encoding="utf-8")
    scripts = "script-src 'unsafe-inline'; " if played else ""
    policy = f"default-src 'none'; {scripts}style-src 'unsafe-inline'; img-src data: blob:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{_text(name)} - saltus</title><style>{player.style() if played else ''}{style}</style></head>"
        f'<body class="ensemble">{body}</body></html>\n'
    )


def _player_of_samples(samples: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Buttons for the samples, the player, and their data."""
    if not samples:
        return ""
    data = player.as_json([{"what": what, "run": run} for what, run in samples])
    start = (Path(__file__).parent / "player" / "samples.js").read_text(encoding="utf-8")
    return (
        '<div class="summary"><h2>Single samples</h2><div class="choices" role="group" aria-label="sample"></div></div>'
        f'<div class="play"><div id="run"></div></div><script type="application/json" id="data">{data}</script>'
        f"<script>{player.script()}</script><script>{start}</script>"
    )


def _maps(maps: Sequence[tuple[str, bytes]]) -> list[str]:
    """Pictures over the terrain."""
    if not maps:
        return []
    images = [
        f'<figure><img alt="{_text(title)}" src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}">'
        f"<figcaption>{_mark_code(title)}</figcaption></figure>"
        for title, png in maps
    ]
    return ["<h2>Maps</h2>", *images]


def _text(value: Any) -> str:
    return html.escape(str(value))


def _words(name: str) -> str:
    """The name of a column for people: "final_position.0.1" is the y of number 0."""
    stem, *places = name.split(".")
    if places and stem.endswith(("position", "velocity")) and places[-1] in ("0", "1", "2"):
        places[-1] = "xyz"[int(places[-1])]
    return _text(", ".join([stem.replace("_", " "), *places]))


def label_of(label: str) -> str:
    """A column with its units, as it stands over a diagram: "largest_speed [m s-1]" is "largest speed [m/s]"."""
    name, _, units = label.partition(" [")
    units = unit_text(units.removesuffix("]"))
    return html.unescape(_words(name)) + (f" [{units}]" if units else "")


def _number(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "–"


def _mark_code(text: str) -> str:
    """A sentence in which backticks mark keys."""
    parts = _text(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def _outcomes(rows: Iterable[Mapping[str, Any]]) -> str:
    """Bars with counts, shares and their confidence."""
    bars = "".join(
        f"<tr><th>{_words(str(row['outcome']))}</th>{_bar(row['share'])}"
        f"<td>{row['count']}</td><td>{row['share']:.2%}</td><td>{row['low']:.2%} to {row['high']:.2%}</td></tr>"
        for row in rows
    )
    heads = "<tr><td></td><td></td><td>samples</td><td>share</td><td>95 % confidence</td></tr>"
    return f'<div class="wide"><table>{heads}{bars}</table></div>'


def _bar(share: float) -> str:
    return f'<td class="bar"><i style="width:{100 * min(max(share, 0.0), 1.0):.2f}%"></i></td>'


def _card(column: Any, summary: Summary) -> str:
    """Histogram, exceedance curve, and what the column depends on."""
    label = label_of(column.label)
    told = [row for row in summary.sensitivity if row["column"] == column.name]
    drawn = _histogram(column, label) + _exceedance(column, label) + _sensitivity(told)
    return f"<section><h3>{_text(label)}</h3>{drawn}</section>"


def _frame(low: float, high: float, top: str, bottom: str, label: str) -> str:
    """Axes with their ends."""
    base = HEIGHT - BOTTOM
    ends = "".join(
        f'<text x="{x}" y="{base + 14}" text-anchor="{anchor}">{value:.4g}</text>'
        for x, value, anchor in (
            (LEFT, low, "start"),
            ((LEFT + WIDTH) / 2, (low + high) / 2, "middle"),
            (WIDTH, high, "end"),
        )
    )
    return (
        f'<line x1="{LEFT}" x2="{WIDTH}" y1="{base}" y2="{base}"/>'
        f'<line x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{base}"/>{ends}'
        f'<text x="{LEFT - 5}" y="{TOP + 9}" text-anchor="end">{top}</text>'
        f'<text x="{LEFT - 5}" y="{base}" text-anchor="end">{bottom}</text>'
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 5}" text-anchor="middle">{_text(label)}</text>'
    )


def _histogram(column: Any, label: str) -> str:
    edges, counts = np.asarray(column.edges, float), np.asarray(column.counts, float)
    low, high, most = edges[0], edges[-1], max(counts.max(), 1.0)
    x = LEFT + (edges - low) / max(high - low, 1e-300) * (WIDTH - LEFT)
    tall = counts / most * (HEIGHT - BOTTOM - TOP)
    bars = "".join(
        f'<rect x="{a:.1f}" y="{HEIGHT - BOTTOM - t:.1f}" width="{max(b - a - 0.6, 0.4):.1f}" height="{t:.1f}"/>'
        for a, b, t in zip(x[:-1], x[1:], tall, strict=True)
    )
    frame = _frame(low, high, f"{most:.0f}", "0", label)
    box = f'viewBox="0 0 {WIDTH + 8} {HEIGHT}" role="img" aria-label="histogram"'
    return f'<svg {box}><g fill="{COLOURS[0]}">{bars}</g>{frame}</svg>'


def _exceedance(column: Any, label: str) -> str:
    """The probability to exceed a value, by its logarithm, with its band of confidence."""
    picked = np.unique(np.linspace(0, len(column.values) - 1, MOST_POINTS).astype(int))
    value, share, low, high = (
        np.asarray(one, float)[picked] for one in (column.values, column.probability, column.low, column.high)
    )
    least = max(float(share[share > 0].min(initial=1.0)) / 2, 1e-9)
    depth = -np.log10(least)

    def y(p: np.ndarray) -> np.ndarray:
        return TOP + -np.log10(np.maximum(p, least)) / depth * (HEIGHT - BOTTOM - TOP)

    x = LEFT + (value - value[0]) / max(value[-1] - value[0], 1e-300) * (WIDTH - LEFT)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y(share), strict=True))
    band = [*zip(x, y(high), strict=True), *reversed([*zip(x, y(low), strict=True)])]
    area = " ".join(f"{a:.1f},{b:.1f}" for a, b in band)
    frame = _frame(value[0], value[-1], "1", f"{least:.0e}", f"{label}: probability to exceed")
    return (
        f'<svg viewBox="0 0 {WIDTH + 8} {HEIGHT}" role="img" aria-label="probability to exceed">'
        f'<polygon points="{area}" fill="{COLOURS[1]}" opacity="0.22"/>'
        f'<polyline points="{line}" fill="none" stroke="{COLOURS[1]}" stroke-width="1.6"/>{frame}</svg>'
    )


def _sensitivity(rows: Sequence[Mapping[str, Any]]) -> str:
    """Bars of the indices: how much of the variance each key explains."""
    known = [
        (row, next((name for name in ("total", "first") if np.isfinite(row.get(name, np.nan))), None)) for row in rows
    ]
    bars = "".join(
        f"<tr><th>{_text(row['key'])}</th>{_bar(row[name])}"
        f"<td>{row[name]:.2f} ± {row.get(f'{name}_ci', float('nan')):.2f}</td></tr>"
        for row, name in known
        if name is not None
    )
    return f"<table><tr><td colspan=3>share of the variance (Sobol)</td></tr>{bars}</table>" if bars else ""


def _table(rows: Sequence[Mapping[str, Any]], known: bool = True) -> str:
    """Statistics; names of columns are put into words, keys of the scenario are not."""
    heads = "".join(f"<td>{HEADS.get(name, name)}</td>" for name in STATISTICS)
    body = "".join(
        f"<tr><th>{_words(str(row['name'])) if known else _text(row['name'])}</th>"
        f"<td>{_text(unit_text(str(row['units'])))}</td>"
        + "".join(f"<td>{_number(row[name])}</td>" for name in STATISTICS)
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><tr><td></td><td>units</td>{heads}</tr>{body}</table></div>'
