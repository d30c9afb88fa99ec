"""What the paper says, and how each statement is checked here."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np

from saltus.laws import friction
from saltus.papers.claim import Answer, Claim, Formula, Statement, UnstatedValue, scientific
from saltus.papers.kireenkov_2021.cases import (
    PRESSURES,
    Workbench,
    _mesh,
    approximate,
    exact,
    hertz,
    integrals,
    library,
)

MOTIONS = ((1.0, 0.5), (1.0, 1.0), (1.0, 2.5), (0.3, 2.0), (1.0, 0.1))
SHIFTS = ((0.0, 0.0), (0.4, 0.0), (0.0, 0.5), (0.3, -0.4))
SUM = 2e-6  # what the midpoint rule leaves: its error of the load is a third of it
FAR, NEAR = 1e6, 1e-6


def _power(value: float) -> str:
    return scientific(f"{max(value, 1e-16):.1e}")


def load_of_pressure(work: Workbench) -> Answer:
    x, y, area = _mesh()
    error = abs(float((area * hertz(x, y)).sum()) - 1.0)
    return Answer(error, f"integral over the spot {_power(error)} from N")


def printed_integrals(work: Workbench) -> Answer:
    worst = 0.0
    for slip, rim in MOTIONS:
        for shift in SHIFTS:
            worst = max(worst, float(np.abs(integrals(slip, rim, shift) - library(exact(), slip, rim, shift)).max()))
    return Answer(
        worst, f"{len(MOTIONS) * len(SHIFTS)} motions: within {_power(worst)} of fN (rule accurate to {_power(SUM)})"
    )


def elementary(work: Workbench) -> Answer:
    s = np.linspace(0.3, 0.999, 40)
    root, arc = np.sqrt(1 - s**2), np.arcsin(s)
    slow = {
        "Phi0": 3 / (16 * s**3) * ((4 * s**2 - 1) * arc + s * root * (1 + 2 * s**2)),
        "Psi": (3 * (8 * s**4 - 4 * s**2 + 1) * arc + s * root * (4 * s**2 - 1) * (2 * s**2 + 3)) / (128 * s**4),
        "Theta0": 3 / (64 * s**4) * ((8 * s**4 - 8 * s**2 + 3) * arc + 3 * s * root * (2 * s**2 - 1)),
    }
    fast_s = np.linspace(1.001, 6.0, 40)
    c = 1 / fast_s
    fast = {
        "Phi0": 3 * math.pi / 8 * c * (1 - c**2 / 4),
        "Psi": 3 * math.pi / 32 * (1 - c**2 / 2 + c**4 / 8),
        "Theta0": 3 * math.pi / 16 * (1 - c**2 + 3 * c**4 / 8),
    }
    error = 0.0
    for ratios, forms in ((s, slow), (fast_s, fast)):
        found = friction.spot_functions(ratios, "hertz")
        error = max(
            error, *(float(np.abs(np.asarray(getattr(found, name)) - form).max()) for name, form in forms.items())
        )
    return Answer(
        error < 1e-12,
        f"arcsines and roots for s < 1, polynomials in 1/s for s > 1; equal to the library to {_power(error)}",
    )


def end_values(work: Workbench) -> Answer:
    worst = 0.0
    for pressure in PRESSURES:
        for slip, rim in ((1.0, NEAR), (NEAR, 1.0)):
            both = (library(law(pressure), slip, rim, (0.4, 0.0)) for law in (exact, approximate))
            worst = max(worst, float(np.abs(np.subtract(*both)).max()))
    return Answer(worst, f"values at v → 0 and u → 0 differ by {_power(worst)} for k_y = 0")


def end_slopes(work: Workbench) -> Answer:
    worst = 0.0
    for pressure in PRESSURES:
        slow = [library(law(pressure), NEAR, 1.0, (0.4, 0.0))[0] / NEAR for law in (exact, approximate)]
        turning = [library(law(pressure), 1.0, NEAR, (0.4, 0.0))[1:] / NEAR for law in (exact, approximate)]
        worst = max(worst, abs(slow[0] / slow[1] - 1.0), float(np.abs(turning[0] / turning[1] - 1.0).max()))
    return Answer(worst, f"∂F∥/∂v at v = 0, ∂M/∂u and ∂F⊥/∂u at u = 0: relative difference {_power(worst)}")


def lost_shift(work: Workbench) -> Answer:
    shift = (0.0, 0.5)
    sliding = [library(law(), 1.0, NEAR, shift)[2] for law in (exact, approximate)]
    turning = [library(law(), NEAR, 1.0, shift)[0] for law in (exact, approximate)]
    gap = max(abs(sliding[0] - sliding[1]), abs(turning[0] - turning[1]))
    text = f"k_y = 0.5: torque of pure sliding {sliding[0]:.4f} fNR, force of pure spin {turning[0]:.4f} fN; the model has 0 and 0"
    return Answer(gap < 1e-4, text)


def smooth(work: Workbench) -> Answer:
    names = {"F_par/F0": "F∥", "F_perp/(mu F0)": "F⊥", "M_C/M0": "M"}
    told = [
        f"{pressure}: " + ", ".join(f"{names[key]} {one.error:.3f}" for key, one in work.errors(pressure).items())
        for pressure in PRESSURES
    ]
    ratios = np.geomspace(1e-3, 1e3, 4001)
    share = approximate().coupling(jnp.ones(len(ratios)), jnp.asarray(ratios))
    bends = [np.abs(np.diff(np.asarray(values), 2)).max() for values in (share.drag, share.twist)]
    # Second differences of a smooth curve on this grid are of the order of its squared step, 1e-5.
    return Answer(max(bends) < 1e-4, "smooth; largest errors over the maximum of each: " + "; ".join(told))


def mirrored_force(work: Workbench) -> Answer:
    force = np.asarray(work.contacts((0.0, 1.0, 0.0)).reaction.force)
    error = float(abs(force[0, 1] + force[1, 1]) / np.abs(force[:, 1]).max())
    return Answer(error, f"forces across the slip {force[0, 1]:+.5f} and {force[1, 1]:+.5f} N, each on its own e₂")


def mirrored_moment(work: Workbench) -> Answer:
    moment = np.asarray(work.contacts((0.0, 1.0, 0.0)).reaction.rolling_moment)
    error = float(abs(moment[0, 1] + moment[1, 1]) / np.abs(moment[:, 1]).max())
    return Answer(error, f"rolling moments {moment[0, 1]:+.5f} and {moment[1, 1]:+.5f} N m on e₂: equal, not opposite")


def signs_in_pivoting(work: Workbench) -> Answer:
    torque = np.asarray(work.contacts((0.0, 0.0, 1.0), 0.0).reaction.spin_torque)
    return Answer(
        bool(torque[0] * torque[1] < 0.0),
        f"pivoting about the vertical: torques {torque[0]:+.2e} and {torque[1]:+.2e} N m",
    )


def second_pressure(work: Workbench) -> Answer:
    slip, rim, (kx, ky) = 1.0, 0.8, (0.3, 0.2)
    first = library(exact(), slip, rim, (kx, ky))
    mirror = np.array([first[0], -first[1], -first[2]])
    printed = library(exact(), slip, -rim, (-kx, -ky))
    right = library(exact(), slip, -rim, (kx, -ky))
    size = np.abs(mirror).max()
    error = float(np.abs(printed - mirror).max() / size)
    return Answer(
        error,
        f"off by {error:.3f} of the force from the mirror image; with +k_x by {_power(float(np.abs(right - mirror).max() / size))}",
    )


def rolling_power() -> tuple[float, float]:
    """Largest power that the rolling moment gives to the ball, per M_r Ω_r, as printed and as it should be."""
    angles = np.linspace(0.0, 2 * math.pi, 181)
    x, y = np.cos(angles), np.sin(angles)
    printed = -(y * x + x * y)
    right = -(x * x + y * y)
    return float(printed.max()), float(right.max())


def rolling_moment(work: Workbench) -> Answer:
    law = friction.Combined(1.0, 1.0, rolling_shift=0.5)
    direction = np.array([0.6, 0.8])
    slip, spin, load = jnp.array([1.0, 0.0]), jnp.array(0.0), jnp.array(1.0)
    moment = np.asarray(law.reaction(slip, spin, load, jnp.asarray(direction)).rolling_moment)
    size = np.linalg.norm(moment)
    error = float(np.abs(moment / size - np.array([-direction[1], -direction[0]])).max())
    gain, _ = rolling_power()
    return Answer(
        error, f"as printed the moment can drive the ball: power up to {gain:+.2f} M_rΩ_r; it must be −M_rΩ_r"
    )


def coefficients(work: Workbench) -> Answer:
    told = []
    for pressure in PRESSURES:
        one = approximate(pressure).coefficients(1.0, 1.0)
        told.append(f"{pressure}: M₀ = {float(one.M0):.4f} fNR, a = {float(one.a):.4f}, b = {float(one.b):.4f}, "
                    f"m = {float(one.m):.4f}, μ = {float(one.mu):.4f} k_x")  # fmt: skip
    return Answer(None, "; ".join(told))


CLAIMS = (
    Claim("normalisation", "(1)", "Hertz pressure with total load N", Formula("3N/2πR² √(1 − x²/R² − y²/R²)", 1e-6),
          "midpoint rule with a million points", load_of_pressure),
    Claim("integrals", "(7), first (8)", "Force along and across the slip and torque as integrals over spot 1",
          Formula("first Eq. (8)", SUM), "printed integrals summed, against the law `Combined`", printed_integrals),
    Claim("elementary", "below first (8)", "For Hertz pressure the integrals are elementary functions", Statement("elementary"),
          "closed forms at 80 ratios against the library's series", elementary),
    Claim("end values", "second (8)", "The approximate model has the values of the exact one at zero and infinity",
          Formula("second Eq. (8), k_y = 0", 1e-5), "laws `Pade` and `Combined`, three pressures", end_values),
    Claim("end slopes", "section 1", "It also has the first derivatives at zero and infinity", Formula("second Eq. (8), k_y = 0", 1e-5),
          "difference quotients at 10⁻⁶", end_slopes, why="Curvatures are not matched: −a/2 against −1/10 in s² for Hertz."),
    Claim("all properties", "section 1", "It preserves all analytical properties of the integral model",
          Statement("all properties"), "limits with a shift across the slip", lost_shift,
          why="The model has no k_y: two limits are lost. `Pade(lateral_shift=True)` restores them without new coefficients."),
    Claim("smooth", "section 1", "Smooth functions over the whole range of velocities", Statement("smooth"),
          "largest errors searched over all ratios", smooth, why="Always too weak; the torque by up to a third of its own value."),
    Claim("force signs", "(2)", "Forces across the slip have opposite signs on the two rails", Formula("(−1)ⁱ F⊥ e₂", 1e-9),
          "ball rolling straight, both contacts", mirrored_force),
    Claim("moment signs", "(2)", "Moments along e₂ have opposite signs on the two rails", Formula("(−1)ⁱ M⊥ e₂", 1e-9),
          "ball rolling straight, shifted pressure", mirrored_moment,
          why="A moment is a pseudo-vector: its mirror image keeps M⊥ and turns M∥ and M_C."),
    Claim("fixed signs", "(2), (5)", "The signs (−1)ⁱ hold in complex motion: rolling, spinning and sliding at once",
          Statement("fixed signs"), "spin torques of a pivoting ball", signs_in_pivoting,
          why="They hold for mirror-symmetric motion only; the sign is that of Ω·nᵢ."),
    Claim("second spot", "(5)", "Pressure of the second spot", Formula("σ₂₀ (1 − k_x x/R − k_y y/R)", 1e-9),
          "law `Combined`, against the mirror image of spot 1", second_pressure, why="Only the lateral shift mirrors: +k_x."),
    Claim("rolling", "second (8)", "Components of the rolling moment", Formula("M∥ = −M_rΩ_y/Ω_r, M⊥ = −M_rΩ_x/Ω_r", 1e-9),
          "rolling moment of the law, and its power", rolling_moment,
          why="Indices are exchanged: M∥ = −M_rΩ_x/Ω_r and M⊥ = −M_rΩ_y/Ω_r."),
    Claim("coefficients", "second (8)", "Coefficients M₀, a, b, m, μ, s of the model", UnstatedValue(), "they follow from the limits of the "
          "exact integrals", coefficients, missing="their values (other works are cited).", why="u must be ωR and s = R/2γ."),
)  # fmt: skip
