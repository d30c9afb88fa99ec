"""A paper as data: its claims, its figures, its errata, and what goes beyond it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from saltus.papers.claim import Answer, Claim, Finding, judge
from saltus.papers.drawing import Drawing, Picture

Progress = Callable[[float, str], None]


@dataclasses.dataclass(frozen=True)
class Erratum:
    """Something printed wrong.

    Args:
        where: Equation, figure or sentence.
        printed: As it stands.
        correct: As it should stand.
        why: How it shows.
        errors: Computes how far off the printed and the corrected form are (relative); None if it
            is a slip of the pen that no number shows.
        slow: Whether `--quick` leaves the computation out.
    """

    where: str
    printed: str
    correct: str
    why: str = ""
    errors: Callable[[Any], tuple[float, float]] | None = None
    slow: bool = False


@dataclasses.dataclass(frozen=True)
class Discovery:
    """Something that the paper does not have, and its computation shows."""

    what: str
    find: Callable[[Any], Answer]
    how: str = ""
    slow: bool = False


@dataclasses.dataclass(frozen=True)
class Paper:
    """A paper and everything that is computed for it.

    Args:
        name: Name on the command line.
        title, authors, reference: Where it is found.
        about: Two sentences on what it does.
        workbench: Makes what claims and figures share; takes whether to be quick.
        claims, drawings, errata, discoveries: What there is.
        link: Where it can be read, such as its DOI; empty where none is known.
    """

    name: str
    title: str
    authors: str
    reference: str
    about: str
    workbench: Callable[[bool], Any]
    claims: tuple[Claim, ...]
    drawings: tuple[Drawing, ...]
    errata: tuple[Erratum, ...]
    discoveries: tuple[Discovery, ...] = ()
    link: str = ""

    @property
    def short(self) -> str:
        """Author and year."""
        return self.reference.split(":")[0]


@dataclasses.dataclass(frozen=True)
class Correction:
    """An erratum with the errors of both forms, where they can be computed."""

    where: str
    printed: str
    correct: str
    why: str
    printed_error: float | None
    correct_error: float | None


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """All that was computed for a paper."""

    name: str
    title: str
    authors: str
    reference: str
    about: str
    findings: tuple[Finding, ...]
    pictures: tuple[Picture, ...]
    corrections: tuple[Correction, ...]
    discoveries: tuple[tuple[str, str, str], ...]
    left_out: int
    wall_time: float
    left_out_figures: tuple[str, ...] = ()
    left_out_claims: tuple[str, ...] = ()
    link: str = ""

    @property
    def short(self) -> str:
        """Author and year."""
        return self.reference.split(":")[0]

    def count(self, verdict: str) -> int:
        """How many claims have this verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)

    @property
    def line(self) -> str:
        """One line that sums up."""
        from saltus.papers.claim import VERDICTS

        counts = ", ".join(f"{self.count(name)} {name}" for name in VERDICTS if self.count(name))
        return f"{len(self.findings)} claims: {counts}; {len(self.corrections)} errata, {len(self.pictures)} figures."


def reproduce(paper: Paper, quick: bool = False, vector: bool = True, progress: Progress | None = None) -> Reproduction:
    """Compute every claim, draw every figure, check every erratum of a paper.

    Args:
        paper: The paper.
        quick: Whether to leave out what is slow.
        vector: Whether figures are also made as SVG.
        progress: Called with the share done and what is done now.
    """
    from saltus.papers.pictures import render

    began = time.perf_counter()
    work = paper.workbench(quick)
    kinds = (paper.claims, paper.errata, paper.discoveries, paper.drawings)
    chosen = [[one for one in kind if not (quick and one.slow)] for kind in kinds]
    total, done = max(sum(len(kind) for kind in chosen), 1), 0

    def each(kind: int, act: Callable[[Any], Any], label: Callable[[Any], str]) -> tuple[Any, ...]:
        nonlocal done
        made = []
        for one in chosen[kind]:
            if progress is not None:
                progress(done / total, label(one))
            made.append(act(one))
            done += 1
        return tuple(made)

    findings = each(0, lambda claim: judge(claim, work), lambda claim: claim.key)
    corrections = each(1, lambda erratum: _check(erratum, work), lambda erratum: erratum.where)
    discoveries = each(2, lambda one: (one.what, one.find(work).text, one.how), lambda one: one.what)
    pictures = each(3, lambda drawing: render(drawing, work, vector), lambda drawing: drawing.key)
    slow = [one for kind in kinds for one in kind if quick and one.slow]
    unchecked = tuple(_without_check(one) for one in slow if isinstance(one, Erratum))
    return Reproduction(
        paper.name, paper.title, paper.authors, paper.reference, paper.about,
        findings, pictures, corrections + unchecked, discoveries,
        len(slow), time.perf_counter() - began,
        tuple(one.title for one in slow if isinstance(one, Drawing)),
        tuple(f"{one.where}: {one.says}" for one in slow if isinstance(one, Claim)),
        paper.link,
    )  # fmt: skip


def _check(erratum: Erratum, work: Any) -> Correction:
    printed, correct = (None, None) if erratum.errors is None else erratum.errors(work)
    return Correction(erratum.where, erratum.printed, erratum.correct, erratum.why, printed, correct)


def _without_check(erratum: Erratum) -> Correction:
    return Correction(erratum.where, erratum.printed, erratum.correct, erratum.why, None, None)
