"""Tinti & Gallotti 2019: two masses joined by a rod, sliding on analytical surfaces."""

from __future__ import annotations

import math

import numpy as np

from saltus import systems
from saltus.papers.claim import Answer
from saltus.papers.paper import Discovery, Paper
from saltus.papers.tinti_2019.cases import MUS_1, Pendulum, Workbench
from saltus.papers.tinti_2019.claims import CLAIMS
from saltus.papers.tinti_2019.errata import ERRATA
from saltus.papers.tinti_2019.figures import DRAWINGS


def _unstable(work: Workbench) -> Answer:
    period = work.steady()[2]
    factor = math.exp(work.growth_rate * period)
    text = f"exponent {work.growth_rate:.6f} 1/s, ×{factor:.4f} per period, ×{factor**5:.1e} in five"
    return Answer(factor, text)


def _last_swing(work: Workbench) -> Answer:
    run = work.rough_swing
    x, _, z = np.asarray(run.system.observe(run.end)["position"])[0]
    angle = math.atan2(x, 1.0 - z)
    text = f"{len(run.events)} half swings, at rest at t = {work.rough_stop:.12f} s ({work.rough_stop / Pendulum.period:.4f} T), "
    return Answer(work.rough_stop, text + f"γ = {angle:.12f}")


def _example_1_rest(work: Workbench) -> Answer:
    rest = work.example_1_to_rest.events[-1].t
    return Answer(rest, f"at t = {rest:.10f} s, {rest / work.steady()[2]:.1f} T")


def _example_2_rest(work: Workbench) -> Answer:
    parts = []
    for mu in (0.015, 0.025):
        events = work.example_2_to_rest(mu).events
        told = ", ".join(f"{one.name} of mass {one.index + 1} at {one.t:.4f} s" for one in events)
        parts.append(f"μ = {mu:g}: {told}")
    return Answer(len(parts), "; ".join(parts))


def _tangent(work: Workbench) -> Answer:
    system, start = work.paraboloid(0.0)
    tangent = systems.SlidingMasses(system.surface, [1.0, 5.0], [(0, 1)], mu=0.0, formulation="tangent")
    ratio = float(tangent.forces(start).rod_force[0] / system.forces(start).rod_force[0])
    return Answer(
        ratio, f"h of Part 1 is {ratio:.5f} of the right one at the start of Example 2, and its rod stretches"
    )


PAPER = Paper(
    name="tinti-2019",
    title="Numerical solutions for point masses sliding over analytical surfaces: Part 2",
    authors="Stefano Tinti and Glauco Gallotti",
    reference="Tinti & Gallotti 2019: Theoretical & Applied Mechanics Letters 9, 96-105",
    about="Two point masses at a fixed distance slide on z = f(x, y), with and without friction; the force between them is "
    "the subject. Every case runs here with located stops, and beside it with RK4 at a constant step, as in the paper "
    "(g = 9.81 m/s², which it does not state).",
    link="companion paper (Part 1): https://doi.org/10.1016/j.taml.2019.02.004",
    workbench=Workbench,
    claims=CLAIMS,
    drawings=DRAWINGS,
    errata=ERRATA,
    discoveries=(
        Discovery("Case 1b is linearly unstable", _unstable, "eigenvalues of the motion in the turning frame"),
        Discovery("Case 2 with friction stops for good", _last_swing, "located stops", slow=True),
        Discovery(f"Example 1 (μ = {MUS_1[-1]:g}) rests", _example_1_rest, "located stop", slow=True),
        Discovery(
            "Example 2 sticks, is pulled loose, and rests", _example_2_rest, "continued to the final rest", slow=True
        ),
        Discovery("What Part 1 neglects", _tangent, "formulation “tangent” of the library"),
    ),
)
