"""Vrbik: a chain of n links sliding off a table."""

from __future__ import annotations

import numpy as np

from saltus.papers.claim import Answer
from saltus.papers.paper import Discovery, Paper
from saltus.papers.vrbik.cases import CONTINUUM, OVERHANG, Workbench
from saltus.papers.vrbik.claims import CLAIMS
from saltus.papers.vrbik.errata import ERRATA
from saltus.papers.vrbik.figures import DRAWINGS
from saltus.systems.chain import continuum


def _creates(work: Workbench) -> Answer:
    lost = work.table["printed"][1]
    some = next((n for n in work.sizes if (work.slide_of(n, "printed").losses < 0.0).any()), None)
    total = next((n for n, energy in zip(work.sizes, lost, strict=True) if energy < 0.0), None)
    right = work.table["limit"][1][-1]
    text = f"at some crossing from n = {some}, in total from n = {total}; n = {work.sizes[-1]}: {-lost[-1]:.3f} created, where "
    return Answer(float(lost[-1]), text + f"{right:.3f} should be lost")


def _early(work: Workbench) -> Answer:
    wrong, right = (work.table[law][0][-1] for law in ("printed", "limit"))
    return Answer(
        wrong / right,
        f"n = {work.sizes[-1]}: exit at {wrong:.6f} instead of {right:.6f}, {1 - wrong / right:.1%} too early",
    )


def _plastic(work: Workbench) -> Answer:
    off = np.abs(work.table["plastic"][0] / work.table["limit"][0] - 1.0).max()
    return Answer(float(off), f"within {off:.2%} in exit time for all n")


def _exits(work: Workbench) -> Answer:
    chosen = [n for n in (1, 2, 3, 5, 10, 20, 40) if n in work.sizes]
    told = ", ".join(
        f"n = {n}: {work.slide_of(n).exit_time:.6f} (lost {work.slide_of(n).losses.sum():.4f})" for n in chosen
    )
    return Answer(len(chosen), told)


def _gentle(work: Workbench) -> Answer:
    shift = work.slide_of(10, "limit", 1e-8).exit_time - work.slide_of(10).exit_time
    return Answer(shift, f"Y = {OVERHANG:g} instead of a true zero shortens the exit of n = 10 by {shift:.3f}")


def _levels(work: Workbench) -> Answer:
    exact = continuum(length=1.0, overhang=1.0 / 8.0, gravity=1.0)
    told = []
    for links in CONTINUUM:
        over, speed, _, lost = work.many(links)
        inner = over < 1.0
        ratio = np.interp(0.5, over[inner], speed[inner] / np.asarray(exact.speed_at(over[inner])))
        told.append(f"n = {links}: speed at L/2 {ratio:.4f} of cosh, lost {lost:.5f}")
    return Answer(len(told), "; ".join(told))


PAPER = Paper(
    name="vrbik",
    title="Simulating n-link chain sliding off a desktop",
    authors="Jan Vrbik",
    reference="Vrbik: an algorithm complementing “Chain sliding off a table”, Am. J. Phys. 61 (1993)",
    link="related article: https://www.mathematica-journal.com/2011/02/simulating-a-chain-sliding-off-a-desktop/",
    about="Each link that crosses the edge is jerked taut; the article derives the jump as the limit of a large force. It prints no "
    "numbers, so its equations are the claims: they are held against the library, which solves for tensions instead, and against "
    "a chain integrated with a finite force and no law at all.",
    workbench=Workbench,
    claims=CLAIMS,
    drawings=DRAWINGS,
    errata=ERRATA,
    discoveries=(
        Discovery("The printed law creates energy", _creates, "energies before and after each crossing"),
        Discovery("It lets the chain leave too early", _early, "exit times"),
        Discovery("A plastic jerk is nearly as good as the limit", _plastic, "law “plastic”: one scalar root"),
        Discovery("Exit times by the exact limit", _exits, f"unit masses, lengths and gravity, Y = {OVERHANG:g}"),
        Discovery("The gentle start is not so gentle", _gentle, "start nearer to the edge"),
        Discovery(
            "The continuum is approached, the loss stays", _levels, "unit length, an eighth over the edge", slow=True
        ),
    ),
)
