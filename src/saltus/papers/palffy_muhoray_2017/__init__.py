"""Palffy-Muhoray, Virga, Wilkinson & Zheng: a paradox in the impact of smooth rigid bodies."""

from __future__ import annotations

from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import OptimizeResult, minimize_scalar

from saltus import contacts, systems
from saltus.papers.claim import Answer
from saltus.papers.palffy_muhoray_2017.cases import Touch, Workbench, superellipsoid
from saltus.papers.palffy_muhoray_2017.claims import CLAIMS
from saltus.papers.palffy_muhoray_2017.errata import ERRATA
from saltus.papers.palffy_muhoray_2017.figures import DRAWINGS
from saltus.papers.paper import Discovery, Paper
from saltus.simulation import simulate


def _not_invariant(work: Workbench) -> Answer:
    base, told = work.published, []
    for spin in (1.0, 0.0, -2.5):
        body = base.two
        two = body.with_motion(body.center, body.velocity, body.quaternion, jnp.asarray([0.0, 0.0, spin]))
        found = Touch("spun", base.one, two, base.point, base.normal).contact
        told.append(
            f"spin {spin:g}: {found.label}, a = {float(found.local.a):.4f}, third derivative {float(found.local.gap3):.6f}"
        )
    return Answer(len(told), "; ".join(told))


def _deepest(work: Workbench) -> Answer:
    times = np.linspace(0.15, 0.31, 161)
    gap = work.published.gaps(times)
    spline = np.polynomial.Polynomial.fit(times, gap, 14)
    found = minimize_scalar(spline, bounds=(0.2, 0.25), method="bounded", options={"xatol": 1e-12})
    lowest = cast(OptimizeResult, found)  # scipy itself does not say so
    ends = float(np.interp(0.0, gap[100:], times[100:]))
    return Answer(lowest.fun, f"{lowest.fun:.9f} at t = {lowest.x:.6f}; the overlap would end at t = {ends:.4f}")


def _new(work: Workbench) -> Answer:
    told = [
        f"{one.name}: {one.contact.label}, third derivative of the gap {float(one.contact.local.gap3):.6f}"
        for one in (work.ellipsoids, work.planar)
    ]
    return Answer(len(told), "; ".join(told))


def _system(work: Workbench) -> Answer:
    touch = work.published
    system = systems.RigidBodies((touch.one, touch.two), paradox="sustain")
    run = simulate(system, system.start((touch.one, touch.two)), 0.28)
    told = ", ".join(f"{event.name} at t = {float(event.t):.12f}" for event in run.events)
    return Answer(
        len(run.events),
        f"{told}; {abs(float(run.events[-1].t) - work.sustained.release):.1e} from the release found above",
    )


def _another(work: Workbench) -> Answer:
    found = contacts.paradox.find(
        superellipsoid((1.2, 0.8, 2.0), 4.0), superellipsoid((1.5, 0.9, 0.9), 2.0), jax.random.key(1), "2b*"
    )
    return Answer(
        found.n_draws,
        f"found after {found.n_draws} draws, third derivative {float(found.contact.local.gap3):.6f}, free past certified",
    )


PAPER = Paper(
    name="palffy-muhoray-2017",
    title="On a paradox in the impact dynamics of smooth rigid bodies",
    authors="Peter Palffy-Muhoray, Epifanio G. Virga, Mark Wilkinson and Xiaoyu Zheng",
    reference="Palffy-Muhoray et al. 2017: arXiv 1703.10041, with Supplementary Data",
    link="https://doi.org/10.48550/arXiv.1703.10041",
    about="Two smooth convex bodies can touch without approaching and still be driven into each other by free motion: then the conservation "
    "laws and rigidity contradict each other. The published event is recomputed digit by digit; the derivatives of the true gap show which "
    "touches are paradoxes, and a finite contact force resolves them.",
    workbench=Workbench,
    claims=CLAIMS,
    drawings=DRAWINGS,
    errata=ERRATA,
    discoveries=(
        Discovery(
            "Paradoxes of two ellipsoids, and in a plane",
            _new,
            "a touch whose normal stands still at an inflection of the support functions",
        ),
        Discovery(
            "The types are not invariant",
            _not_invariant,
            "spin of the ellipsoid about its own axis, which cannot matter",
        ),
        Discovery("Deepest overlap of the published event", _deepest, "true gap in free motion"),
        Discovery(
            "The system of the library goes on by itself",
            _system,
            "`RigidBodies`, found as a paradox and sustained",
            slow=True,
        ),
        Discovery("One more of type 2b*", _another, "random search of the library", slow=True),
    ),
)
