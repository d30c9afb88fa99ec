"""What is printed wrong in the paper, with both errors where a number shows them."""

from __future__ import annotations

import numpy as np

from saltus.papers.kireenkov_2021.cases import Workbench, _mesh, exact, hertz, library
from saltus.papers.kireenkov_2021.claims import rolling_power
from saltus.papers.paper import Erratum


def moment(work: Workbench) -> tuple[float, float]:
    """M⊥ of the second rail from that of the first, with and without (−1)ⁱ."""
    m = np.asarray(work.contacts((0.0, 1.0, 0.0)).reaction.rolling_moment)[:, 1]
    return float(abs(m[1] + m[0]) / abs(m[0])), float(abs(m[1] - m[0]) / abs(m[0]))


def pressure(work: Workbench) -> tuple[float, float]:
    """Reaction of the second spot from the mirror image of the first."""
    first = library(exact(), 1.0, 0.8, (0.3, 0.2))
    mirror = first * np.array([1.0, -1.0, -1.0])
    off = [np.abs(library(exact(), 1.0, -0.8, (kx, -0.2)) - mirror).max() for kx in (-0.3, 0.3)]
    return float(off[0] / np.abs(mirror).max()), float(off[1] / np.abs(mirror).max())


def rolling(work: Workbench) -> tuple[float, float]:
    """Largest power that the rolling moment gives to the ball, over M_r Ω_r; it must not be positive."""
    printed, right = rolling_power()
    return max(printed, 0.0), max(right, 0.0)


def lever(work: Workbench) -> tuple[float, float]:
    """Centre of pressure over R for a unit shift: k itself, and k/5."""
    x, y, area = _mesh()
    centre = float((area * hertz(x, y) * (1.0 + x) * x).sum())
    return abs(1.0 / centre - 1.0), abs(0.2 / centre - 1.0)


ERRATA = (
    Erratum("(2), first components", "F⊥e₁, M⊥e₁", "−F∥e₁, M∥e₁", "With moduli, friction acts against the slip."),
    Erratum("(2), signs of the moment", "M∥e₁ + (−1)ⁱM⊥e₂ + (−1)ⁱM_Ce₃", "(−1)ⁱM∥e₁ + M⊥e₂ + (−1)ⁱM_Ce₃",
            "Errors: M⊥ of one rail from that of the other.", moment),
    Erratum("(5)", "σ₂₀(1 − k_x x/R − k_y y/R)", "σ₂₀(1 + k_x x/R − k_y y/R)", "Errors: force of the second spot.", pressure),
    Erratum("(2), (5), signs (−1)ⁱ", "always", "for Ω_x = Ω_z = 0; in general the sign of Ω·nᵢ"),
    Erratum("frames eᵢ", "e₁ along the slip and along the rail", "only if Ω_x = 0; otherwise contact i also slips sideways, by R_bΩ_x"),
    Erratum("(1), (4), (5)", "N", "Nᵢ", "The two loads differ as soon as there is lateral friction."),
    Erratum("k_x, k_y", "displacement of the centre of pressure", "that displacement is Rk/2γ (R/5 for Hertz)",
            "Errors of the two readings, k = 1.", lever),
    Erratum("(7), first (8)", "moduli", "signed: F⊥ changes sign with k_xω, F∥ and M_C can through k_y"),
    Erratum("two equations (8)", "(8)", "(8a) integrals, (8b) model"),
    Erratum("second (8), u and s", "undefined", "u = ωR, s = R/2γ"),
    Erratum("second (8), rolling moment", "M∥ = −M_rΩ_y/Ω_r, M⊥ = −M_rΩ_x/Ω_r", "M∥ = −M_rΩ_x/Ω_r, M⊥ = −M_rΩ_y/Ω_r",
            "Errors: largest power given to the ball, over M_rΩ_r.", rolling),
    Erratum("ω", "rotation of the spot relative to the ball", "of the ball relative to the rail"),
)  # fmt: skip
