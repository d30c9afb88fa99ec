"""What is printed wrong in the paper, with both errors where a number shows them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from saltus.papers.palffy_muhoray_2017.cases import Workbench
from saltus.papers.palffy_muhoray_2017.claims import (
    bound_over_directions,
    curvature_sum,
    quartic_coefficient,
    second_derivatives,
    vary,
)
from saltus.papers.paper import Erratum


def factor_two(work: Workbench) -> tuple[float, float]:
    """Second derivative of the gap with v_ε by (42) and by (71), against the true gap."""
    printed, correct = [], []
    measured, right, _ = second_derivatives(work)
    for touch, true, ours in zip(vary(work.ellipsoids), measured, right, strict=True):
        local = touch.contact.local
        turning = np.cross(touch.normal, np.asarray(touch.two.angular_velocity - touch.one.angular_velocity))
        doubled = 2.0 * np.asarray(local.w) - turning  # the part H₁u of w counted twice
        bound = bound_over_directions(touch)[1] * _ratio(touch, doubled)
        printed.append(abs(float(local.a) - bound - true))
        correct.append(abs(ours - true))
    size = float(np.abs(measured).max())
    return max(printed) / size, max(correct) / size


def _ratio(touch, doubled: np.ndarray) -> float:
    """How the largest bound changes with another w."""
    n = touch.normal
    filled = np.asarray(curvature_sum(touch.one, touch.two, jnp.asarray(touch.point))) + np.outer(n, n)
    w = np.asarray(touch.contact.local.w)
    return float(doubled @ np.linalg.solve(filled, doubled)) / float(w @ np.linalg.solve(filled, w))


def quartic(work: Workbench) -> tuple[float, float]:
    """Coefficient of (51): 1/8 and 1/16."""
    printed = quartic_coefficient(work).value
    return printed, abs(0.0625 * (1.0 + printed) / 0.125 - 1.0)


def exception(work: Workbench) -> tuple[float, float]:
    """The value of a in a paradox of two ellipsoids, from the smallest and from the largest bound."""
    low, high = bound_over_directions(work.ellipsoids)
    a = float(work.ellipsoids.contact.local.a)
    return abs(low / a - 1.0), abs(high / a - 1.0)


def jerk(work: Workbench) -> tuple[float, float]:
    """Third derivative of the gap without and with third derivatives of the surface."""
    local = work.planar.contact.local
    true = float(local.gap3)
    return abs(float(local.j_quadratic) / true - 1.0), abs(float(local.j) / true - 1.0)


ERRATA = (
    Erratum("(42)", "factor 2 on (v_Q − v_P)·H₁", "factor 1, as in (34) and (71)", "Errors: second derivative of the gap at touches with slip.", factor_two),
    Erratum("3.2.3, 4", "a = (v_ε²/2x_2ε)_min", "the maximum over directions, w·K⁻¹w", "Errors: a of a paradox of two ellipsoids.", exception),
    Erratum("(51), (52), (60)", "−⅛ a_ε²t⁴/x_2ε", "−(1/16) a_ε²t⁴/x_2ε", "", quartic),
    Erratum("(73)", "ω₂ × ṅ₁", "ω₂ × n₁"),
    Erratum("(74)", "kept", "identically 0, as n·Ḣ₁n = 0"),
    Erratum("(76)", "h n₁·Ḧ₁·ε̂", "belongs to (77) only", "It is of third order in ε."),
    Erratum("(77)", "h (ω̇₂ × n₁)", "h (ω̇₂ × n₁)·H₁·ε̂, and + 2h (ω₂ × ε̂)·H₁·(ω₂ × n₁)"),
    Erratum("(18) to (28), (35), (72), j", "surfaces to second order", "+ D³d₁[u,u,ε̂] in a_ε, + ½D³d₁[u,ε̂,ε̂] in v_2ε, + ⅙(C₁ + C₂) in x_3ε, + D³d₁[u,u,u] in j",
            "Errors: third derivative of the gap of the planar event.", jerk),
    Erratum("3.2.4, type 2b*", "requires n₁·(v̇_Q − v̇_P) < 0", "= 0"),
    Erratum("(47), (52)", "t³ (t⁴) beside O(t³) (O(t⁴))", "orders do not match", "Harmless for the conclusions."),
    Erratum("3.2.3, 4", "tangential with a ≠ 0: always separate", "only if a exceeds the maximum of v_ε²/2x_2ε"),
    Erratum("4", "a non-ellipsoid is needed; impossible in 2D", "true of type 2b* only"),
    Erratum("4", "rigidity and momentum would violate energy", "not with a finite contact force"),
    Erratum("3", "curvatures strictly positive", "fails for the quartic superellipsoid where a coordinate vanishes", "Not at the published point."),
    Erratum("(66)", "ε for ε⊥; v_4ε, a_3ε, a_4ε missing", "as in (28)"),
)  # fmt: skip
