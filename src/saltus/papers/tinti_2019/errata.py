"""What is printed wrong in the paper, with the corrected form and, where a number can show it, both errors."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from saltus import surfaces, systems
from saltus.papers.paper import Erratum
from saltus.papers.tinti_2019 import measures
from saltus.papers.tinti_2019.cases import GRAVITY, PHI_1A, PHI_2, THETA_1A, THETA_2, Pendulum, Workbench, steady_force

SURFACE = (0.3, 0.5, 0.1)  # a, b, c of z = ax² + by² + cx, where the printed equations are tried
PLACES, SPEEDS = ((0.4, 0.1), (-0.3, 0.5)), ((0.7, -0.4), (0.2, 0.9))
MASSES, MU = (1.0, 2.0), 0.1


def _pieces(place, speed, mass: float):
    """Position, velocity, normal, n − μt and free force of a mass, as the paper writes them (Eq. 3)."""
    a, b, c = SURFACE
    (x, y), (u, v) = place, speed
    fx, fy = 2 * a * x + c, 2 * b * y
    width = math.sqrt(1 + fx**2 + fy**2)
    normal = np.array([-fx, -fy, 1.0]) / width
    velocity = np.array([u, v, fx * u + fy * v])
    drag = normal - MU * velocity / np.linalg.norm(velocity)
    gravity = np.array([0.0, 0.0, -GRAVITY])
    pressing = (2 * a * u**2 + 2 * b * v**2) / width - gravity @ normal
    position = np.array([x, y, a * x**2 + b * y**2 + c * x])
    return position, velocity, normal, drag, mass * gravity + mass * pressing * drag


def equations_9(work: Workbench) -> tuple[float, float]:
    """Acceleration of mass 2 by Eqs. 6 to 9, with the printed and with the right sign, against the library."""
    system = systems.SlidingMasses(
        surfaces.Paraboloid(*SURFACE), MASSES, [(0, 1)], mu=MU, gravity=GRAVITY, friction_reaction="signed"
    )
    state = system.start(PLACES, SPEEDS, project=True)
    wanted = np.asarray(measures.instant(system, state)[1])[1, :2]
    (r1, v1, n1, d1, f1), (r2, v2, n2, d2, f2) = (
        _pieces(np.asarray(state.q)[i], np.asarray(state.v)[i], MASSES[i]) for i in (0, 1)
    )
    m1, m2 = MASSES
    joining, relative = r1 - r2, v1 - v2
    inverse = (1 / m1 + 1 / m2) * joining @ joining
    inverse -= (joining @ n1) * (joining @ d1) / m1 + (joining @ n2) * (joining @ d2) / m2
    gamma = -(joining @ (f1 / m1 - f2 / m2) + relative @ relative) / inverse
    along = joining - (joining @ n2) * d2
    errors = [np.abs((f2 + sign * gamma * along)[:2] / m2 - wanted).max() for sign in (1.0, -1.0)]
    return float(errors[0] / np.abs(wanted).max()), float(errors[1] / np.abs(wanted).max())


def stretching(work: Workbench) -> tuple[float, float]:
    """How fast the rod would stretch at the printed and at the right start of Case 1, over the speed."""
    radius = math.sin(THETA_1A)
    height = 1.0 - math.cos(THETA_1A)

    def stretch(places, speeds):
        joining, relative = np.subtract(*places), np.subtract(*speeds)
        return float(abs(joining @ relative) / np.linalg.norm(joining))

    printed = stretch(
        ([radius, 0.0, height], [radius * math.cos(PHI_1A), radius * math.sin(PHI_1A), height]),
        ([0.0, 1.0, 0.0], [0.0, -1.0, 0.0]),
    )
    right = stretch(([0.0, radius, height], [radius, 0.0, height]), ([1.0, 0.0, 0.0], [0.0, -1.0, 0.0]))
    return printed, right


def node(work: Workbench) -> tuple[float, float]:
    """Largest h/mg near ϑ = (0, 0) (printed: up to 1) and near (π/2, π/2), as errors of "up to mg"."""
    directions = np.geomspace(1e-6, math.pi / 2 - 1e-6, 401)
    offsets = 1e-4 * np.stack([np.cos(directions), np.sin(directions)], axis=1)

    def largest(angles):
        return max(steady_force((one, two)) / GRAVITY for one, two in angles)

    return abs(largest(offsets) - 1.0), abs(largest(math.pi / 2 - offsets) - 1.0)


def corner(work: Workbench) -> tuple[float, float]:
    """Corner value of Fig. 2 as printed and corrected."""
    true, k = measures.corner_supremum(), measures.UNBALANCE
    return abs(math.sqrt(2) * (1 - k**2) / true - 1), abs(math.sqrt(2) * (1 - k) / true - 1)


def height(work: Workbench) -> tuple[float, float]:
    """Height of the start of Case 2 with cos φ and with cos ϑ."""
    x, y = math.sin(THETA_2) * math.cos(PHI_2), math.sin(THETA_2) * math.sin(PHI_2)
    true = float(surfaces.Sphere(1.0).height(x, y))
    return abs((1 - math.cos(PHI_2)) / true - 1), abs((1 - math.cos(THETA_2)) / true - 1)


def period(work: Workbench) -> tuple[float, float]:
    """Eq. 21 as printed and corrected, against the measured period."""
    inside = (1.0 - math.cos(Pendulum.amplitude)) / 2.0
    printed, correct = (4.0 / Pendulum.rate * float(special.ellipk(m)) for m in (math.sin(inside) ** 2, inside))
    return abs(printed / work.swing_period - 1), abs(correct / work.swing_period - 1)


def unit(work: Workbench) -> tuple[float, float]:
    """Small-angle period as printed and right, against the elliptic integral at a hundredth of a degree."""
    true = 4.0 * math.sqrt(1.0 / GRAVITY) * float(special.ellipk(math.sin(math.radians(0.005)) ** 2))
    base = math.pi * math.sqrt(1.0 / GRAVITY)
    return abs(base / 2 / true - 1), abs(2 * base / true - 1)


def final_force(work: Workbench) -> tuple[float, float]:
    """Rod force at the last stop of Case 2 with friction, with sin² φ and with sin φ, against the run."""
    end = work.rough_samples
    x, y, z = end["position"][-1, 0]
    theta, phi = math.asin(math.hypot(x, y)), math.atan2(abs(y), x)
    product = math.sin(theta) * math.sin(phi)
    angle = math.atan2(x, 1.0 - z)
    base = math.sin(theta) / math.sqrt(1.0 - product**2)
    true = float(end["rod_force"][-1, 0] / GRAVITY)
    printed, correct = base * math.sin(phi) ** 2, base * math.sin(phi) * math.cos(angle)
    return abs(printed / true - 1), abs(correct / true - 1)


ERRATA = (
    Erratum("Eqs. 9c, 9d", "m₂ẍ₂ = F₂ₓ + ΓR₂ₜₓ;  m₂ÿ₂ = F₁₂ + ΓR₂ₜᵧ", "m₂ẍ₂ = F₂ₓ − ΓR₂ₜₓ;  m₂ÿ₂ = F₂ᵧ − ΓR₂ₜᵧ",
            "Eq. 7b and Eq. 11 have the right sign.", equations_9, slow=True),
    Erratum("Eq. 11, last entry", "Γ₁₂", "Γ"),
    Erratum("Case 1, initial data", "P₁ = (ϑ₀, 0), V₁ = (0, v₀), V₂ = (0, −v₀)", "r₁ = (0, r), V₁ = (v₀, 0); r₂ = (r, 0), "
            "V₂ = (0, −v₀)", "As printed the rod would stretch; errors are its rate over v₀.", stretching),
    Erratum("after Eq. 18, twice", "h defined in Eq. (4)", "Eq. (5)"),
    Erratum("Fig. 1, nodes", "h is undefined at ϑ = (0, 0), 0 to mg", "at (π/2, π/2); at (0, 0) h → 0",
            "Largest h around each node, as error of \"mg\".", node),
    Erratum("Fig. 2, upper left corner", "√2 mg (1 − k²)", "√2 m₁g = √2 mg (1 − k)", "", corner),
    Erratum("Case 1b, period", "longer by 7×10⁻³", "longer by 8.7045×10⁻³", "Follows from Eq. 17."),
    Erratum("P₁₀, P₂₀, P₁, P₂, P_CM", "z = R(1 − cos φ)", "z = R(1 − cos ϑ)", "", height),
    Erratum("Eq. 21", "sin²((1 − cos γ₀)/2)", "(1 − cos γ₀)/2 = sin²(γ₀/2)", "", period),
    Erratum("Appendix A2", "K sin(γ₀/2), “Eq. (23)”", "K(sin(γ₀/2)), Eq. (21)"),
    Erratum("Fig. 3, unit of the period", "(π√(R/g))/2", "2π√(R/g)", "", unit),
    Erratum("before Eq. 22", "through Eq. (5)", "Eq. (6)"),
    Erratum("friction pendulum", "γ̈ = −(g/R_CM) sin γ − μ(|γ̇|/R_CM)(Rγ̇² + gR cos γ/R_CM)",
            "γ̈ = −(g/ρ) sin γ − μ sgn(γ̇)(R/ρ)(γ̇² + (g/ρ) cos γ), ρ = R_CM",
            "Errors in units of the friction term, along the run.", measures.pendulum_errors, slow=True),
    Erratum("h_fin", "mg sin ϑ sin²φ / √(1 − sin²ϑ sin²φ)", "mg sin ϑ sin φ cos γ_f / √(1 − sin²ϑ sin²φ), as t → t_stop",
            "", final_force, slow=True),
    Erratum("h at rest", "a definite value", "any in mg [tan(β − φ), tan(β + φ)], tan φ = μ, sin β = d/2R",
            "Static friction leaves the rod force undetermined; the quoted values are the middle."),
    Erratum("Section 5, period of h", "T of Eq. 21", "T/2", "h is even in γ."),
    Erratum("Section 5, growing period", "all cases", "Example 2 only", "See the claims."),
    Erratum("Example 2", "bottom at the origin, slopes of 10⁻⁴, uniform acceleration by c",
            "bottom at (−0.025 m, 0), slopes up to 0.67; c only shifts the vertex"),
    Erratum("Example 2, “double frequency”", "36 s and 19 s", "two unrelated rates: π/√(2gb) and half a turn of the rod"),
    Erratum("figure numbers", "Fig. 2, Figure 3, Fig. 14 in the text", "Fig. 1, Fig. 2, Fig. 12"),
)  # fmt: skip
