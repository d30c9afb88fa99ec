"""The report: one HTML file with everything in it, and the same as Markdown beside figures."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import re
import shlex
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from saltus import __version__
from saltus.io.files import atomic_write, check_folder
from saltus.papers.claim import VERDICTS, scientific
from saltus.papers.paper import Correction, Reproduction
from saltus.views.pages import as_json, shell

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
    """The report as one HTML page that needs nothing else; every text is escaped by the template."""
    kinds = ("report.html", "report.css", "report.js")
    template, style, script = (resources.files("saltus.papers.page").joinpath(one).read_text("utf-8") for one in kinds)
    whole = _templates().from_string(template)
    moving = any(picture.motion for paper in found for picture in paper.pictures)
    return whole.render(
        player=Markup(as_json(shell("motion"))) if moving else "",
        title=TITLE,
        lead=LEAD,
        note=_quick_note(found),
        papers=found,
        verdicts=VERDICTS,
        order={name: number for number, name in enumerate(VERDICTS)},
        columns=COLUMNS,
        errata_columns=ERRATA_COLUMNS,
        colophon=_colophon(found, quick),
        style=Markup(style),
        script=Markup(script),
    )


def _templates() -> jinja2.Environment:
    """Templates that escape what is put in, and refuse names that nobody has given."""
    templates = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    templates.filters |= {
        "words": _words,
        "linked": _link,
        "errors": _errors,
        "base64": _base64,
        "json": _json,
        "quoted": shlex.quote,
    }
    return templates


def _quick_note(found: Sequence[Reproduction]) -> str:
    """That something is left out, said at the top; empty where nothing is."""
    left_out = sum(paper.left_out for paper in found)
    if not left_out:
        return ""
    return (
        f"This is the quick report: {left_out} slow claims, figures and errata are not in it, and are named where they "
        "belong. `saltus reproduce` without --quick computes all."
    )


def _colophon(found: Sequence[Reproduction], quick: bool) -> str:
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = f"Made by saltus {__version__} on {when} with `saltus reproduce{' --quick' if quick else ''}`."
    note = _quick_note(found)
    return f"{text} {note}" if note else text


def _words(text: str) -> Markup:
    """Text for HTML; `code` in backticks, subscripts after underscores."""
    # Between tags quotes need no escape, whose digits would be taken for a number.
    parts = str(escape(text)).replace("&#34;", '"').replace("&#39;", "'").split("`")
    return Markup(
        "".join(
            f"<code>{part}</code>" if index % 2 else SUBSCRIPT.sub(r"<sub>\1</sub>", typeset(part))
            for index, part in enumerate(parts)
        )
    )


def typeset(words: str) -> str:
    """Numbers as people write them: a true minus sign, powers of ten."""
    words = POWER.sub(lambda found: scientific(found.group()), words)
    return MINUS.sub("−", words)


def _link(text: str) -> Markup:
    """Text in which addresses are links."""
    return Markup(re.sub(r"(https://\S+)", r'<a href="\1">\1</a>', str(escape(text))))


def _json(data: dict[str, Any]) -> Markup:
    return Markup(as_json(data))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _errors(one: Correction) -> str:
    if one.printed_error is None or one.correct_error is None:
        return ""
    return f"{_size(one.printed_error)} → {_size(one.correct_error)}"


def _size(error: float) -> str:
    if error < 1e-15:
        return "0"
    return f"{error:.2g}" if 0.01 <= error < 1000 else scientific(f"{error:.1e}")


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
        lines.append(f"| [{paper.short}](#{paper.name}) | {counts} |")
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
    if paper.findings:
        alone = f"saltus reproduce {paper.name} --claim {shlex.quote(paper.findings[0].key)}"
        lines += [f"One claim alone: `{alone}`; the keys of all are in `results.json`.", ""]
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
