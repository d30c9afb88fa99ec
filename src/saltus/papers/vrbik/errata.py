"""What is printed wrong in the article, with both errors where a number shows them."""

from __future__ import annotations

import numpy as np

from saltus.papers.paper import Erratum
from saltus.papers.vrbik import printed
from saltus.papers.vrbik.cases import FORCES, Workbench
from saltus.papers.vrbik.claims import speeds_after


def sums(work: Workbench) -> tuple[float, float]:
    """(2) without and with the factor j."""
    return printed.error_of_2((2, 3), factor_j=False), printed.error_of_2((2, 3), factor_j=True)


def turning(work: Workbench) -> tuple[float, float]:
    """(2) with a turning rate of zero and with the right one."""
    return printed.error_of_2((0, 1), True, no_turning=True), printed.error_of_2((0, 1), True)


def jerk(work: Workbench) -> tuple[float, float]:
    """Exit time of a short chain by the printed and by the right jerk, against a force of 10⁶."""
    true = work.finite(FORCES[-1]).exit_time
    return abs(work.short("printed")[0] / true - 1.0), abs(work.short("limit")[0] / true - 1.0)


def speed(work: Workbench) -> tuple[float, float]:
    """Speed after a jerk by the printed law, and by the plastic one, against the limit."""
    right = speeds_after("limit")
    found = [float(np.abs(speeds_after(law) / right - 1.0).max()) for law in ("printed", "limit")]
    return found[0], found[1]


ERRATA = (
    Erratum("(2), right side, rows X and Y", "Σ φ̇ⱼ² cos φⱼ,  Σ φ̇ⱼ² sin φⱼ", "Σ j φ̇ⱼ² cos φⱼ,  Σ j φ̇ⱼ² sin φⱼ",
            "Invisible for k ≤ 1.", sums),
    Erratum("(2) and below", "(ẎX − XẎ)/(X² + Y²)", "θ̇ = (XẎ − YẊ)/(X² + Y²)", "As printed identically zero.", turning),
    Erratum("(1) to (3), step 1", "√(Ẋ² + Ẏ²), (arctan Y/X)²", "ṙ = (XẊ + YẎ)/r, θ̇²", "Dots lost in typesetting."),
    Erratum("(4), right side, rows X_N and Y_N", "0, 0", "−(n−k−1) X_N ω², −(n−k−1) Y_N ω², ω = (X_N Λ − Y_N Γ)/(X_N² + Y_N²)",
            "X_N ~ 1/F but θ̇ ~ F: the same order as what is kept. Errors: exit time of n = 3.", jerk, slow=True),
    Erratum("step (g) to (h)", "the edge link is re-pointed along (Γ, Λ)", "go on with Ω = 0 until the edge link is parallel to (Γ, Λ)",
            "Re-pointing sets the table speed without an impulse and creates energy. Errors: speed after a jerk.", speed),
    Erratum("step 1", "φ = arctan(Y/X)", "atan2(Y, X)", "X may be negative."),
    Erratum("step (f)", "all coordinates frozen", "all but the direction of (X_N, Y_N)"),
)  # fmt: skip
