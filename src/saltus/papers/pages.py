"""Pages of the documentation, one per paper: from its data, with verdicts of a stored reproduction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saltus.papers.catalogue import load, names
from saltus.papers.claim import VERDICTS
from saltus.papers.paper import Paper
from saltus.papers.report import COLUMNS, table

INTRODUCTION = (
    "Saltus is built on four papers. `saltus reproduce` computes every claim in them, draws their figures, and writes "
    "a report (`reproduction/report.html`). A verdict follows from what is printed, its digits, and what the "
    "computation gives."
)


def read_findings(path: str | Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Findings by paper and claim, from the `results.json` that `saltus reproduce` writes."""
    papers = json.loads(Path(path).read_text(encoding="utf-8"))
    return {one["paper"]: {claim["key"]: claim for claim in one["claims"]} for one in papers}


def page(paper: Paper, found: Mapping[str, Mapping[str, Any]]) -> str:
    """A paper as a page of Markdown."""
    lines = [f"# {paper.short}", "", f"*{paper.title}*. {paper.authors}.", "", paper.about, ""]
    lines += [f"The same with figures: `saltus reproduce {paper.name}`.", "", "## Claims", ""]
    rows = [
        (claim.where, claim.says, str(claim.printed), *_finding(found.get(claim.key)), claim.why)
        for claim in paper.claims
    ]
    lines += table(COLUMNS, rows)
    lines += ["", "## Errata", ""]
    errata = [(one.where, one.printed, one.correct, one.why) for one in paper.errata]
    lines += table(("where", "printed", "correct", "remark"), errata)
    if paper.discoveries:
        lines += ["", "## What the paper does not say", ""]
        lines += [f"- {one.what} ({one.how})" for one in paper.discoveries]
    return "\n".join([*lines, ""])


def overview(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The page that leads to the others."""
    lines = ["# Papers", "", INTRODUCTION, ""]
    lines += [f"- **{name}**: {text}" for name, text in VERDICTS.items()]
    rows = []
    for name in names():
        paper = load(name)
        verdicts = [claim["verdict"] for claim in found.get(name, {}).values()]
        rows.append(
            [f"[{paper.short}]({name}.md)", *(str(verdicts.count(one)) for one in VERDICTS), str(len(paper.errata))]
        )
    return "\n".join([*lines, "", *table(("paper", *VERDICTS, "errata"), rows), ""])


def _finding(claim: Mapping[str, Any] | None) -> tuple[str, str]:
    return ("", "") if claim is None else (claim["found"], claim["verdict"])
