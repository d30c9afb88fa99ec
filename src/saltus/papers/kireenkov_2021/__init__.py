"""Kireenkov 2021: combined dry friction of a ball on two rails."""

from __future__ import annotations

import math

from saltus.papers.claim import Answer
from saltus.papers.kireenkov_2021.cases import BALL, PRESSURES, Workbench
from saltus.papers.kireenkov_2021.claims import CLAIMS
from saltus.papers.kireenkov_2021.errata import ERRATA
from saltus.papers.kireenkov_2021.figures import DRAWINGS
from saltus.papers.paper import Discovery, Paper
from saltus.systems.ball_on_rails import critical_slope, terminal_creep


def _errors(work: Workbench) -> Answer:
    names = {"F_par/F0": "F∥", "F_perp/(mu F0)": "F⊥", "M_C/M0": "M"}
    told = []
    for pressure in PRESSURES:
        parts = ", ".join(
            f"{names[key]} {one.sign * one.error:+.3f} at s = {one.ratio:.2f}"
            for key, one in work.errors(pressure).items()
        )
        told.append(f"{pressure}: {parts}")
    return Answer(len(told), "; ".join(told))


def _creep(work: Workbench) -> Answer:
    ratio, gain = terminal_creep(work.ball("exact"))
    text = f"slip / rim speed {float(ratio):.6f}, deceleration {-float(gain):.6f} m/s² (α = {BALL['half_angle']:g}, R/R_b = 0.05)"
    return Answer(float(ratio), text)


def _rolls(work: Workbench) -> Answer:
    run = work.roll("coulomb")
    cosine = math.cos(BALL["half_angle"])
    wanted = 5 * cosine**2 * BALL["speed"] / (5 * cosine**2 + 2)
    speed = float(run.end.v[0])
    return Answer(
        speed, f"{speed:.12f} m/s from t = {float(run.events[-1].after.t):.9f} s; 5C²v₀/(5C² + 2) = {wanted:.12f}"
    )


def _slope(work: Workbench) -> Answer:
    steepest, ratio = critical_slope(work.ball("exact"))
    return Answer(float(steepest), f"tan β = {float(steepest):.6f}, at the ratio s = {float(ratio):.3f}")


def _rests(work: Workbench) -> Answer:
    run = work.roll("exact", 0.3)
    return Answer(float(run.end.t), f"rolling shift 0.3: at rest at t = {float(run.events[-1].after.t):.6f} s")


PAPER = Paper(
    name="kireenkov-2021",
    title="Influence of the combined dry friction on the dynamics of the rigid ball moving along two parallel rails",
    authors="Alexey A. Kireenkov",
    reference="Kireenkov 2021: COUPLED PROBLEMS 2021",
    link="https://doi.org/10.23967/coupled.2021.032",
    about="A round contact spot that slides and spins at once: the exact friction is an integral over the spot, the paper replaces it by "
    "three square roots and applies it to a ball on two rails. It prints formulas only; the integrals are summed here as printed, and "
    "the signs for two rails are checked on a ball.",
    workbench=Workbench,
    claims=CLAIMS,
    drawings=DRAWINGS,
    errata=ERRATA,
    discoveries=(
        Discovery("How far the model is off", _errors, "largest errors over all ratios, each over its maximum"),
        Discovery("A spinning contact cannot stick: the ball creeps", _creep, "self-similar motion in closed form"),
        Discovery("With point contacts it rolls", _rolls, "located end of slip", slow=True),
        Discovery("The steepest slope on which the ball rests", _slope, "balance of force and torques"),
        Discovery("With rolling resistance it stops", _rests, "run to rest", slow=True),
    ),
)
