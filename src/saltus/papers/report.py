"""The report: one HTML file with everything in it, and the same as Markdown beside figures."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import html
import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from saltus import __version__
from saltus.io.files import atomic_write, check_folder
from saltus.papers.claim import VERDICTS, scientific
from saltus.papers.paper import Correction, Picture, Reproduction

TITLE = "Four papers of non-smooth mechanics, recomputed"
LEAD = (
    "The numbers, formulas and figures of the papers that saltus is built on, computed again with it. A verdict is not "
    "written by hand: it follows from the printed value, its digits, and what the computation gives."
)
# k_x, R_CM, x_2ε, but not a whole word such as file_name; 1.2e-03; the sign of a number.
SUBSCRIPT = re.compile(r"(?<=\w)_([0-9]*ε|[A-Z]{2,}|[A-Z]|[a-z0-9]{1,4}(?![a-z0-9_]))")
POWER = re.compile(r"(?<![\w.])\d(?:\.\d+)?e[+-]\d+")
MINUS = re.compile(r"(?<![\w\])}⁰¹²³⁴⁵⁶⁷⁸⁹])-(?=\d)")
COLUMNS = ("where", "claim", "printed", "found here", "verdict", "remark")
ERRATA_COLUMNS = ("where", "printed", "correct", "error, printed → correct", "remark")


def write(found: Sequence[Reproduction], folder: str | Path, quick: bool = False) -> dict[str, Path]:
    """Write the report into a folder, which is made if need be: `report.html`, `report.md`, `results.json`,
    `figures/`.
    """
    folder = Path(folder)
    check_folder(folder, parents=True)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for paper in found:
        for picture in paper.pictures:
            _save(folder / "figures" / f"{paper.name}-{picture.key}.png", picture.png)
            if picture.svg is not None:
                _save(folder / "figures" / f"{paper.name}-{picture.key}.svg", picture.svg)
    results = json.dumps([facts(one) for one in found], indent=1, ensure_ascii=False)
    _save(folder / "results.json", results.encode())
    _save(folder / "report.md", markdown(found, quick).encode())
    _save(folder / "report.html", page(found, quick).encode())
    return {"html": folder / "report.html", "markdown": folder / "report.md", "figures": folder / "figures"}


def facts(found: Reproduction) -> dict[str, Any]:
    """What was found for a paper, for machines."""
    return {
        "paper": found.name,
        "verdicts": {name: found.count(name) for name in VERDICTS},
        "claims": [dataclasses.asdict(one) for one in found.findings],
        "errata": len(found.corrections),
        "figures": [picture.key for picture in found.pictures],
        "left_out": found.left_out,
        "wall_time": round(found.wall_time, 1),
    }


def _save(path: Path, data: bytes) -> None:
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


# ---- HTML -----------------------------------------------------------------------------------------


def page(found: Sequence[Reproduction], quick: bool = False) -> str:
    """The report as one HTML page that needs nothing else."""
    style, script = (resources.files("saltus.papers.page").joinpath(name).read_text("utf-8") for name in
                     ("report.css", "report.js"))  # fmt: skip
    links = "".join(f'<a href="#{paper.name}">{_text(_short(paper))}</a>' for paper in found)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{TITLE}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header>
<h1>{TITLE}</h1>
<p class="lead">{LEAD}</p>
{_notice(found)}
<div class="cards">{"".join(_card(paper) for paper in found)}</div>
{_legend()}
</header>
<nav aria-label="Papers"><div>{links}</div></nav>
<main>{"".join(_section(paper) for paper in found)}</main>
<footer><p>{_text(_colophon(found, quick))}</p></footer>
<script>{script}</script>
</body>
</html>
"""


def _quick_note(found: Sequence[Reproduction]) -> str:
    """That something is left out, said at the top; empty where nothing is."""
    left_out = sum(paper.left_out for paper in found)
    if not left_out:
        return ""
    return (
        f"This is the quick report: {left_out} slow claims, figures and errata are not in it, and are named where they "
        "belong. `saltus reproduce` without --quick computes all."
    )


def _notice(found: Sequence[Reproduction]) -> str:
    note = _quick_note(found)
    return f'<p class="lead"><strong>{_text(note)}</strong></p>' if note else ""


def _colophon(found: Sequence[Reproduction], quick: bool) -> str:
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = f"Made by saltus {__version__} on {when} with `saltus reproduce{' --quick' if quick else ''}`."
    note = _quick_note(found)
    return f"{text} {note}" if note else text


def _legend() -> str:
    words = "; ".join(f'<span class="verdict {_class(name)}">{name}</span> {text}' for name, text in VERDICTS.items())
    return f'<p class="counts" style="max-width:none;margin-top:1rem;line-height:1.9">{words}.</p>'


def _short(paper: Reproduction) -> str:
    return paper.reference.split(":")[0]


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _text(words: str) -> str:
    """Text for HTML; `code` in backticks, subscripts after underscores."""
    parts = html.escape(words, quote=False).split("`")
    return "".join(
        f"<code>{part}</code>" if index % 2 else SUBSCRIPT.sub(r"<sub>\1</sub>", typeset(part))
        for index, part in enumerate(parts)
    )


def typeset(words: str) -> str:
    """Numbers as people write them: a true minus sign, powers of ten."""
    words = POWER.sub(lambda found: scientific(found.group()), words)
    return MINUS.sub("−", words)


def _card(paper: Reproduction) -> str:
    counts = [(name, paper.count(name)) for name in VERDICTS]
    bar = "".join(f'<i class="{_class(name)}" style="flex:{count}"></i>' for name, count in counts if count)
    words = ", ".join(f"{count} {name}" for name, count in counts if count)
    return (
        f'<a class="card" href="#{paper.name}"><b>{_text(_short(paper))}</b><small>{_text(paper.title)}</small>'
        f'<div class="bar" aria-hidden="true">{bar}</div><span class="counts">{words}</span></a>'
    )


def _section(paper: Reproduction) -> str:
    parts = [
        f'<section id="{paper.name}"><h2>{_text(paper.title)}</h2>',
        f'<p class="reference">{_text(paper.authors)}. {_text(paper.reference.split(": ", 1)[-1])}.</p>',
        f"<p>{_text(paper.about)}</p>",
        f'<p class="reference">{_linked(paper.link)} To compute this section again: <code>saltus reproduce '
        f"{paper.name}</code></p>",
        f'<p class="summary">{_text(paper.line)}</p>',
        "<h3>Claims</h3>",
        _tools(paper),
        _claims(paper),
    ]
    if paper.discoveries:
        entries = "".join(
            f"<dt>{_text(what)}</dt><dd>{_text(found)} <small>({_text(how)})</small></dd>"
            for what, found, how in paper.discoveries
        )
        parts.append(f"<h3>What the paper does not say</h3><dl>{entries}</dl>")
    if paper.corrections:
        parts.append(f"<h3>Errata</h3>{_errata(paper.corrections)}")
    if paper.left_out_claims:
        parts.append(f"<p><strong>Claims left out by --quick:</strong> {_text('; '.join(paper.left_out_claims))}.</p>")
    parts.append(f'<h3>Figures</h3><div class="figures">{"".join(_figure(one) for one in paper.pictures)}</div>')
    if paper.left_out_figures:
        parts.append(
            f"<p><strong>Figures left out by --quick:</strong> {_text('; '.join(paper.left_out_figures))}.</p>"
        )
    parts.append("</section>")
    return "".join(parts)


def _linked(words: str) -> str:
    """Text in which addresses are links."""
    return re.sub(r"(https://\S+)", r'<a href="\1">\1</a>', html.escape(words)) + ("." if words else "")


def _tools(paper: Reproduction) -> str:
    chosen = [("all", len(paper.findings)), *((name, paper.count(name)) for name in VERDICTS)]
    buttons = "".join(
        f'<button type="button" data-verdict="{name}" aria-pressed="{"true" if name == "all" else "false"}">'
        f"{name} {count}</button>"
        for name, count in chosen
        if count
    )
    options = "".join(f'<option value="{index}">{name}</option>' for index, name in enumerate(COLUMNS))
    menu = f'<label class="sorting">sort by <select aria-label="sort by">{options}</select></label>'
    return f'<div class="tools">{buttons}</div>{menu}'


def _claims(paper: Reproduction) -> str:
    heads = "".join(f'<th scope="col"><button type="button">{name}</button></th>' for name in COLUMNS)
    order = list(VERDICTS)
    rows = []
    for index, one in enumerate(paper.findings):
        cells = [
            f'<td data-label="where" data-sort="{index:04d}">{_text(one.where)}</td>',
            f'<td data-label="claim">{_text(one.says)}</td>',
            f'<td data-label="printed" class="formula">{_text(one.printed)}</td>',
            f'<td data-label="found here">{_text(one.found)}<span class="how" title="{html.escape(one.source)}">'
            f"{_text(one.how)}</span></td>",
            f'<td data-label="verdict" data-sort="{order.index(one.verdict)}">'
            f'<span class="verdict {_class(one.verdict)}">{one.verdict}</span></td>',
            f'<td data-label="remark">{_text(one.why)}</td>' if one.why else "<td></td>",
        ]
        rows.append(f'<tr data-verdict="{one.verdict}">{"".join(cells)}</tr>')
    return _table("claims", heads, rows)


def _errors(one: Correction) -> str:
    if one.printed_error is None or one.correct_error is None:
        return ""
    return f"{_size(one.printed_error)} → {_size(one.correct_error)}"


def _size(error: float) -> str:
    if error < 1e-15:
        return "0"
    return f"{error:.2g}" if 0.01 <= error < 1000 else scientific(f"{error:.1e}")


def _errata(corrections: Sequence[Correction]) -> str:
    rows = []
    for one in corrections:
        errors = _errors(one)
        cells = [
            f'<td data-label="where">{_text(one.where)}</td>',
            f'<td data-label="printed" class="formula">{_text(one.printed)}</td>',
            f'<td data-label="correct" class="formula">{_text(one.correct)}</td>',
            f'<td data-label="error, printed → correct" class="number">{errors}</td>' if errors else "<td></td>",
            f'<td data-label="remark">{_text(one.why)}</td>' if one.why else "<td></td>",
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(f'<th scope="col">{name}</th>' for name in ERRATA_COLUMNS)
    return _table("errata", heads, rows)


def _table(kind: str, heads: str, rows: Sequence[str]) -> str:
    body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="wide"><table class="{kind}">{body}</table></div>'


def _figure(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode()
    caption = f" {_text(picture.caption)}" if picture.caption else ""
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{html.escape(picture.title)}">'
        f"<figcaption><b>{_text(picture.title)}.</b>{caption}</figcaption></figure>"
    )


# ---- Markdown -------------------------------------------------------------------------------------


def markdown(found: Sequence[Reproduction], quick: bool = False) -> str:
    """The report as Markdown; figures are files beside it."""
    note = _quick_note(found)
    lines = [
        f"# {TITLE}",
        "",
        LEAD,
        "",
        *([f"**{note}**", ""] if note else []),
        "| paper | " + " | ".join(VERDICTS) + " |",
        "|---" * (len(VERDICTS) + 1) + "|",
    ]
    for paper in found:
        counts = " | ".join(str(paper.count(name)) for name in VERDICTS)
        lines.append(f"| [{_short(paper)}](#{paper.name}) | {counts} |")
    for paper in found:
        lines += ["", *section(paper)]
    return "\n".join([*lines, "", "---", "", _colophon(found, quick), ""])


def section(paper: Reproduction, figures: str = "figures") -> list[str]:
    """A paper as lines of Markdown."""
    lines = [f'<a id="{paper.name}"></a>', "", f"## {paper.title}", "", f"{paper.authors}. {paper.reference}.", ""]
    lines += [paper.about, ""]
    lines += [f"{paper.link + '. ' if paper.link else ''}To compute it again: `saltus reproduce {paper.name}`", ""]
    lines += [f"**{paper.line}**", "", "### Claims", ""]
    rows = [(one.where, one.says, one.printed, one.found, one.verdict, one.why) for one in paper.findings]
    lines += table(COLUMNS, rows)
    if paper.discoveries:
        lines += ["", "### What the paper does not say", ""]
        lines += [f"- **{what}**: {typeset(result)} ({how})" for what, result, how in paper.discoveries]
    if paper.corrections:
        lines += ["", "### Errata", ""]
        rows = [(one.where, one.printed, one.correct, _errors(one), one.why) for one in paper.corrections]
        lines += table(ERRATA_COLUMNS, rows)
    if paper.left_out_claims:
        lines += ["", f"**Claims left out by --quick:** {'; '.join(paper.left_out_claims)}."]
    lines += ["", "### Figures", ""]
    if paper.left_out_figures:
        lines += [f"**Left out by --quick:** {'; '.join(paper.left_out_figures)}.", ""]
    for picture in paper.pictures:
        words = f"**{picture.title}.** {picture.caption}".strip()
        lines += [f"![{picture.title}]({figures}/{paper.name}-{picture.key}.png)", "", words, ""]
    return lines


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of Markdown."""

    def line(cells):
        return "| " + " | ".join(typeset(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(heads), "|" + "---|" * len(heads), *(line(row) for row in rows)]
