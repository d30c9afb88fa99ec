"""What the article says, and how each statement is checked here."""

from __future__ import annotations

import math

import jax
import numpy as np

from saltus.laws.impact.engagement import ENGAGEMENTS
from saltus.papers.claim import Answer, Claim, Formula, Statement, scientific
from saltus.papers.sampling import series
from saltus.papers.vrbik import printed
from saltus.papers.vrbik.cases import FORCES, Workbench

# Scaled jerks (angle, table mass, response of the hanging part) at which laws are compared.
JERKS = ((0.0, 1.0, 1.0), (0.0, 39.0, 1.0), (1.0, 9.0, 0.3), (0.6, 4.0, 0.5))


def _error(value: float) -> Answer:
    return Answer(value, f"largest relative error {scientific(f'{max(value, 1e-16):.1e}')}")


def speeds_after(law: str) -> np.ndarray:
    """Speed of the crossing particle after each jerk, in units of the table speed."""
    one = jax.jit(ENGAGEMENTS[law]())
    return np.array([float(np.linalg.norm(np.asarray(one(*jerk).velocity))) for jerk in JERKS])


def right_hand_sides(work: Workbench) -> Answer:
    error = printed.error_of_2((2, 3, 4), factor_j=False)
    fine = printed.error_of_2((0, 1), factor_j=False)
    return Answer(
        error, f"wrong by up to {error:.0%} for k = 2 to 4; {scientific(f'{max(fine, 1e-16):.0e}')} for k ≤ 1"
    )


def turning_rate(work: Workbench) -> Answer:
    error = printed.error_of_2((0, 1), factor_j=True, no_turning=True)
    return Answer(error, f"as printed it is 0 always; the accelerations are then wrong by up to {error:.0%}")


def jerk_law(work: Workbench) -> Answer:
    wrong, right = speeds_after("printed"), speeds_after("limit")
    error = np.abs(wrong / right - 1.0)
    worst = int(error.argmax())
    return Answer(
        float(error.max()),
        f"speed after a jerk {wrong[worst]:.5f} instead of {right[worst]:.5f} (φ, m, a = {JERKS[worst]})",
    )


def frozen_coordinates(work: Workbench) -> Answer:
    turned = [
        math.degrees(math.pi / 2 - math.atan2(*np.asarray(ENGAGEMENTS["limit"]()(*jerk).velocity)[::-1]))
        for jerk in JERKS
    ]
    largest = max(abs(angle) for angle in turned)
    return Answer(largest < 1.0, f"the edge link turns by up to {largest:.0f}° during the jerk")


def stays_finite(work: Workbench) -> Answer:
    slid, later = work.slide_of(5), np.array([1e-3, 1e-4, 1e-5])
    times = np.array([float(event.t) for event in slid.crossings[:-1]])
    seen = series(slid.run, (times[:, None] + later).ravel())
    edge = np.repeat(np.arange(1, len(times) + 1), len(later))  # the particle that has just crossed
    rows = np.arange(len(edge))
    place, velocity = seen["position"][rows, edge], seen["velocity"][rows, edge]
    across = place[:, 0] * velocity[:, 1] - place[:, 1] * velocity[:, 0]
    rates = (across / (place**2).sum(axis=1)).reshape(-1, len(later))
    settled = np.abs(rates[:, 2] - rates[:, 1]) < 1e-2 * (1.0 + np.abs(rates[:, 1]))
    text = f"tends to {rates[:, 2].min():.3f} … {rates[:, 2].max():.3f} after the crossings of n = 5"
    return Answer(bool(settled.all()), text)


def finite_limit(work: Workbench) -> Answer:
    limit, wrong = work.short("limit")[0], work.short("printed")[0]
    far, near = (abs(work.finite(force).exit_time - limit) for force in (FORCES[0], FORCES[-1]))
    away = abs(work.finite(FORCES[-1]).exit_time - wrong)
    text = (
        f"n = 3, F = {scientific(f'{FORCES[-1]:.0e}')}: exit {scientific(f'{near:.1e}')} from the limit law "
        f"({scientific(f'{far:.1e}')} at F = {FORCES[0]:g}), {away:.4f} from the printed one"
    )
    return Answer(away < near, text)


def all_particles_leave(work: Workbench) -> Answer:
    n = work.sizes[-1]
    slid = work.slide_of(n)
    return Answer(len(slid.crossings) == n, f"n = 1 to {n}: all leave; n = {n} at t = {slid.exit_time:.6f}")


CLAIMS = (
    Claim("lagrangian", "(1)", "Lagrangian of the sliding chain", Formula("(1), its root read as ṙ", 1e-12),
          "kinetic energy of the library at 24 states, k = 0 to 3", lambda work: _error(printed.error_of_1((0, 1, 2, 3)))),
    Claim("matrix", "(2)", "Equations of motion while sliding, k ≤ 1", Formula("(2), θ̇ corrected", 1e-11),
          "accelerations of the library, which solves for tensions instead", lambda work: _error(printed.error_of_2((0, 1), False))),
    Claim("right side", "(2), rows X and Y", "Equations of motion while sliding, any k", Formula("Σ φ̇ⱼ² cos φⱼ, Σ φ̇ⱼ² sin φⱼ", 1e-11),
          "accelerations of the library at 18 states, k = 2 to 4", right_hand_sides,
          why="A factor j is missing in both sums; for k ≤ 1 it cannot be seen."),
    Claim("turning", "(2) and below", "Rate at which the edge link turns", Formula("(ẎX − XẎ)/(X² + Y²)", 1e-11),
          "accelerations of the library, k ≤ 1", turning_rate, why="As printed it vanishes identically: (XẎ − YẊ) is meant."),
    Claim("finite", "below (2)", "The turning rate stays finite as a particle has just crossed (X = Y = 0)",
          Statement("finite"), "turning rate 10⁻³, 10⁻⁴ and 10⁻⁵ after each crossing", stays_finite),
    Claim("start of jerk", "step 1", "Rates of the new link's angle and length as the next particle crosses",
          Formula("θ̇ − Xṙ and (1 − Y)ṙ", 1e-12), "velocities of the particles", lambda work: _error(printed.error_of_step_1())),
    Claim("lengthening", "(3)", "Lagrangian while the new link lengthens", Formula("(3)", 1e-12),
          "kinetic energy of the particles", lambda work: _error(printed.error_of_3())),
    Claim("frozen", "step (f)", "All coordinates are frozen during the jerk", Statement("frozen"),
          "direction of the crossing particle, exact limit", frozen_coordinates,
          why="True except for the direction of the edge link: (X_N, Y_N) tends to 0, its direction turns."),
    Claim("jerk", "(4) and step (g)", "Momenta after the jerk", Formula("(4) with zeros on the right", 1e-6),
          "law “printed” of the library against law “limit”", jerk_law,
          why="Rows X_N and Y_N lack −(n−k−1)(X_N, Y_N)ω², of the order kept; and the edge link is re-pointed without an impulse."),
    Claim("large force", "step (f)", "The procedure is the limit of a large force F", Statement("limit of large F"),
          "chain of 3 links integrated with a finite force and no law at all", finite_limit,
          why="The finite force tends to the corrected limit, not to the printed procedure.", slow=True),
    Claim("loop", "last paragraph", "Looping until k = n takes the whole chain off the table", Statement("leaves"),
          "limit law, every n", all_particles_leave),
)  # fmt: skip
