"""Figures of the sliding chain."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from saltus.laws.impact.engagement import ENGAGEMENTS
from saltus.papers.paper import Drawing
from saltus.papers.pictures import HEIGHT, WIDTH
from saltus.papers.sampling import series
from saltus.papers.vrbik.cases import CONTINUUM, FORCES, LAWS, Workbench
from saltus.systems import chain
from saltus.views.style import FAINT, INK, SURFACE, colour, new_figure

LABELS = {"limit": "limit (exact)", "plastic": "plastic", "printed": "as printed", "frozen": "frozen edge"}


def _two() -> tuple[Figure, tuple]:
    figure = new_figure(WIDTH + 1.0, HEIGHT)
    return figure, tuple(figure.subplots(1, 2))


def snapshots(work: Workbench) -> Figure:
    links = 10
    slid = work.slide_of(links)
    figure = new_figure(WIDTH, 4.0)
    axes = figure.subplots()
    times = [0.0, *np.linspace(slid.crossings[0].t, slid.exit_time, 7)]
    seen = series(slid.run, np.minimum(np.array(times), slid.exit_time))
    axes.fill_between([-links - 0.5, 0.0], -0.35, 0.0, color=SURFACE, linewidth=0)
    for index, t in enumerate(seen["t"]):
        down, out = seen["position"][index, : links + 1].T
        axes.plot(out, -down, "o-", color=colour(index), markersize=3, linewidth=1, label=f"t = {t:.2f}")
    axes.set(xlabel="outward", ylabel="up", aspect="equal", xlim=(-links - 0.7, links * 0.75))
    axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return figure


def by_size(work: Workbench) -> Figure:
    figure, (left, right) = _two()
    for index, law in enumerate(LAWS):
        times, lost = work.table[law]
        left.plot(work.sizes, times, ".-", color=colour(index), markersize=3, label=LABELS[law])
        right.plot(work.sizes, lost, ".-", color=colour(index), markersize=3)
    right.axhline(0.0, color=INK, linewidth=0.6)
    right.text(work.sizes[0], right.get_ylim()[0] * 0.9, "below zero: created", fontsize=8)
    left.set(xlabel="links n", ylabel="time of exit")
    right.set(xlabel="links n", ylabel="energy lost in jerks")
    left.legend()
    return figure


def ledger(work: Workbench) -> Figure:
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    links = min(20, work.longest)
    for index, law in enumerate(LAWS):
        slid = work.slide_of(links, law)
        times = [0.0] + [float(event.t) for event in slid.crossings]
        axes.step(
            times,
            np.concatenate([[0.0], -np.cumsum(slid.losses)]),
            where="post",
            color=colour(index),
            label=LABELS[law],
        )
    axes.axhline(0.0, color=INK, linewidth=0.6)
    axes.set(xlabel="time", ylabel=f"change of the total energy, n = {links}")
    axes.legend()
    return figure


def jerks(work: Workbench) -> Figure:
    figure, (left, right) = _two()
    angles = jnp.linspace(-0.5, math.pi / 2 - 1e-3, 60)
    for index, law in enumerate(LAWS):
        found = jax.jit(jax.vmap(lambda angle, law=law: ENGAGEMENTS[law]()(angle, 9.0, 0.5)))(angles)
        left.plot(np.degrees(angles), np.linalg.norm(found.velocity, axis=1), color=colour(index), label=LABELS[law])
        right.plot(np.degrees(angles), found.loss, color=colour(index))
    right.axhline(0.0, color=INK, linewidth=0.6)
    left.set(xlabel="angle of the new link [°]", ylabel="speed after / table speed")
    right.set(xlabel="angle of the new link [°]", ylabel="energy lost / mV²")
    left.legend()
    return figure


def convergence(work: Workbench) -> Figure:
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    for index, law in enumerate(("limit", "printed", "plastic")):
        exit_time = work.short(law)[0]
        apart = [abs(work.finite(force).exit_time - exit_time) for force in FORCES]
        axes.loglog(FORCES, apart, "o-", color=colour((0, 2, 1)[index]), label=f"from law “{LABELS[law]}”")
    forces = np.array(FORCES)
    axes.loglog(forces, 6e-2 / forces, ":", color=INK, linewidth=0.8, label="1 / F")
    axes.set(xlabel="force F that pulls the new link taut", ylabel="distance of the exit time, n = 3")
    axes.legend()
    return figure


def angles(work: Workbench) -> Figure:
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    sizes = [size for size in (5, 10, 20, 40) if size <= work.longest]
    for index, links in enumerate(sizes):
        slid = work.slide_of(links)
        share = np.arange(1, links + 1) / links
        axes.plot(share, np.degrees([event.data["angle"] for event in slid.crossings]), "o-", markersize=3, color=colour(index),
                  label=f"n = {links}")  # fmt: skip
    axes.axhline(90.0, color=FAINT, linewidth=0.7)
    axes.set(xlabel="share of the chain that has left", ylabel="angle of the link at its crossing [°]")
    axes.legend(loc="lower right")
    return figure


def continuum(work: Workbench) -> Figure:
    figure, (left, right) = _two()
    exact = chain.continuum(length=1.0, overhang=1.0 / 8.0, gravity=1.0)
    lost = []
    for index, links in enumerate(CONTINUUM):
        over, speed, _, energy = work.many(links)
        inner = over < 1.0
        left.plot(
            over[inner],
            speed[inner] / np.asarray(exact.speed_at(over[inner])),
            color=colour(index),
            label=f"n = {links}",
        )
        lost.append(energy)
    left.axvline(float(exact.lift_off), color=INK, linewidth=0.7, linestyle=":")
    left.text(float(exact.lift_off) - 0.01, 1.25, "the continuum\nwould lift off", fontsize=8, ha="right")
    left.set(xlabel="length over the edge / L", ylabel="speed / speed of the continuous chain", ylim=(0.9, 1.5))
    left.legend(loc="upper left")
    right.plot(CONTINUUM, lost, "o-", color=colour(0))
    right.set(xlabel="links n", ylabel="energy lost / (weight × length)", ylim=(0, None))
    return figure


DRAWINGS = (
    Drawing("snapshots", "Ten links slide off", "Exact limit law. The end swings under the table, then the chain shoots out.", snapshots, play="chain"),
    Drawing("by-size", "Four laws of the jerk side by side", "The printed law, and freezing the edge link, create energy for longer "
            "chains and let them leave too early.", by_size),
    Drawing("ledger", "Energy of a chain, jerk by jerk", "An inelastic jerk can only lose energy.", ledger),
    Drawing("jerks", "One jerk as a function of its angle", "Table mass 9, response of the hanging part 0.5.", jerks, slow=True),
    Drawing("convergence", "No law at all: a finite force", "Exit times tend to those of the exact limit, about as 1/F; from the printed "
            "procedure they stay away.", convergence, slow=True),
    Drawing("angles", "How links leave", "Straight down for the first third, level at the end: losses stop when about 60 % has left.", angles),
    Drawing("continuum", "Many links", "Speeds tend to the textbook's cosh up to lift-off; the loss at the sharp edge levels off and does "
            "not vanish.", continuum, slow=True),
)  # fmt: skip
