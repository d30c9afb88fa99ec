"""What the paper says, and how each number is found here."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import special

from saltus.papers.claim import (
    About,
    Answer,
    AtMost,
    Between,
    Claim,
    Formula,
    Number,
    Order,
    Statement,
    format_value,
    scientific,
)
from saltus.papers.sampling import series
from saltus.papers.tinti_2019 import measures
from saltus.papers.tinti_2019.cases import (
    END_2,
    GRAVITY,
    MUS_1,
    MUS_2,
    PENDULUM_STEP,
    STEPS,
    THETA_1B,
    Pendulum,
    Workbench,
)  # fmt: skip

NO_STEP = "the time step of the runs on the sphere."
ADAPTIVE = "adaptive run (dopri8, rtol 1e-13)"


def _power(value: float) -> str:
    return scientific(f"{value:.1e}")


# ---- Case 1 ---------------------------------------------------------------------------------------


def _best_step(errors, printed: float) -> float:
    """The step whose first error comes nearest to a printed order of magnitude."""
    return min(STEPS, key=lambda step: abs(math.log10(errors(step)[0] / printed)))


def circle_position(work: Workbench) -> Answer:
    step = _best_step(work.circle_errors, 1e-9)
    error = work.circle_errors(step)[0]
    return Answer(error, f"{_power(error)} with dt = {step:g} s")


def circle_force(work: Workbench) -> Answer:
    step = _best_step(work.circle_errors, 1e-9)
    fine = min(STEPS)
    there, finer = work.circle_errors(step)[1], work.circle_errors(fine)
    text = f"{_power(there)} with that dt; dt = {fine:g} s gives {_power(finer[1])}, but {_power(finer[0])} in x"
    return Answer(there, text)


def steady_position(work: Workbench) -> Answer:
    step = _best_step(work.steady_errors, 1e-6)
    error = work.steady_errors(step)[0]
    return Answer(error, f"{_power(error)} with dt = {step:g} s")


def steady_force_error(work: Workbench) -> Answer:
    step = _best_step(work.steady_errors, 1e-6)
    error = work.steady_errors(step)[1]
    return Answer(error, f"{_power(error)} with that dt")


def steady_value(work: Workbench) -> Answer:
    force = float(series(work.steady_run)["rod_force"].mean() / GRAVITY)
    return Answer(force, format_value(force, 12))


def longer_period(work: Workbench) -> Answer:
    together = work.steady()[2]
    alone = work.circle[2]
    excess = together / alone - 1.0
    return Answer(excess, format_value(excess, 8))


# ---- Case 2 ---------------------------------------------------------------------------------------


def swing_period(work: Workbench) -> Answer:
    error = abs(work.swing_period / Pendulum.period - 1.0)
    return Answer(error, f"T = {work.swing_period:.12f} s; {_power(max(error, 1e-16))} from the elliptic integral")


def printed_period(work: Workbench) -> Answer:
    inside = math.sin((1.0 - math.cos(Pendulum.amplitude)) / 2.0) ** 2
    printed = 4.0 / Pendulum.rate * float(special.ellipk(inside))
    error = abs(printed / work.swing_period - 1.0)
    return Answer(error, f"as printed T = {printed:.6f} s, {error:.2%} short of {work.swing_period:.6f} s")


def swing_lowest(work: Workbench) -> Answer:
    low = float(series(work.swing_run)["rod_force"].min() / GRAVITY)
    return Answer(low, format_value(low, 10))


def swing_highest(work: Workbench) -> Answer:
    bottom = series(work.swing_run, np.array([0.25, 0.75]) * work.swing_period)
    high = float(bottom["rod_force"].max() / GRAVITY)
    return Answer(high, format_value(high, 10))


def swing_position(work: Workbench) -> Answer:
    seen = work.swing_rk4
    path = measures.rk4_pendulum(5 * Pendulum.period, PENDULUM_STEP)
    reference = Pendulum.length * np.sin(path[np.round(seen["t"] / PENDULUM_STEP).astype(int)])
    shared = float(np.abs(seen["position"][:, 0, 0] - reference).max() / Pendulum.length)
    exact = Pendulum.length * np.sin(Pendulum.angle(seen["t"]))
    true = float(np.abs(seen["position"][:, 0, 0] - exact).max() / Pendulum.length)
    text = f"{_power(shared)} against RK4 of the pendulum (dt = {PENDULUM_STEP:g} s); {_power(true)} against the exact"
    return Answer(shared, text)


def swing_force(work: Workbench) -> Answer:
    seen = work.swing_rk4
    error = float(np.abs(seen["rod_force"][:, 0] / GRAVITY - Pendulum.force(Pendulum.angle(seen["t"]))).max())
    return Answer(error, f"{_power(error)} of mg against Eq. 22 with the exact angle (dt = {PENDULUM_STEP:g} s)")


def force_formulas(work: Workbench) -> Answer:
    seen = series(work.swing_run)
    angle = np.arctan2(seen["position"][:, 0, 0], 1.0 - seen["position"][:, 0, 2])
    force = seen["rod_force"][:, 0] / GRAVITY
    error = float(np.abs(Pendulum.force(angle) / force - 1.0).max())
    return Answer(error, f"largest relative error {_power(error)}")


def force_period(work: Workbench) -> Answer:
    times = np.linspace(0.0, 2.0 * Pendulum.period, 802)
    force = series(work.swing_run, times)["rod_force"][:, 0]
    ratio = measures.mean_period(times, force) / work.swing_period
    return Answer(ratio, f"{ratio:.6f} of T")


def small_period(work: Workbench) -> Answer:
    unit = math.pi * math.sqrt(1.0 / GRAVITY) / 2.0
    ratio = work.swing_period / unit
    return Answer(ratio, f"T is {ratio:.4f} of that unit; 2π√(R/g) makes it {ratio / 4.0:.4f}")


def rough_pendulum(work: Workbench) -> Answer:
    printed, correct = measures.pendulum_errors(work)
    return Answer(printed, f"wrong by {printed:.3g} of the friction term; corrected: {_power(correct)}")


def rough_accuracy(work: Workbench) -> Answer:
    seen = work.rough_samples
    angle = np.arctan2(seen["position"][:, 0, 0], 1.0 - seen["position"][:, 0, 2])
    differences = []
    for printed in (False, True):
        times, path = work.rough_pendulum(printed)
        differences.append(float(np.abs(np.interp(seen["t"], times, path) - angle).max()))
    correct, wrong = differences
    text = f"corrected pendulum {_power(correct)}, printed one {_power(wrong)} (RK4, dt = {PENDULUM_STEP:g} s)"
    return Answer(correct, text)


def rough_lowest(work: Workbench) -> Answer:
    low = float(np.nanmin(work.rough_samples["rod_force"]) / GRAVITY)
    s, c = Pendulum.half_rod, math.cos(math.radians(24.35))
    error = abs(low / (s * c / (1.0 - s**2)) - 1.0)
    return Answer(error, f"lowest {format_value(low, 8)}, {_power(max(error, 1e-16))} from Eq. 24")


def rough_final(work: Workbench) -> Answer:
    low, high = measures.rest_range(2.0 * Pendulum.half_rod, 0.02)
    end = work.rough_samples
    x, y = end["position"][-1, 0, :2]
    theta, phi = math.asin(math.hypot(x, y)), math.atan2(abs(y), x)
    product = math.sin(theta) * math.sin(phi)
    printed = math.sin(theta) * math.sin(phi) ** 2 / math.sqrt(1.0 - product**2)
    limit = float(end["rod_force"][-1, 0] / GRAVITY)
    error = abs(printed / limit - 1.0)
    return Answer(error, f"tends to {limit:.9f} mg as it stops; at rest anything from {low:.4f} to {high:.4f} mg")


def swing_spacing(work: Workbench) -> Answer:
    stops = [0.0, *(event.t for event in work.rough_swing.events)]
    swings = np.diff(np.array(stops, float))
    text = f"half swings shrink from {swings[0]:.4f} to {swings[-1]:.4f} s"
    return Answer(bool(swings[-1] > swings[0]), text)


# ---- Example 1 ------------------------------------------------------------------------------------


def rest_force(work: Workbench) -> Answer:
    # Both masses at the bottom, at the same height; without friction h is determined there.
    side = math.sin((THETA_1B[1] - THETA_1B[0]) / 2.0)
    system = work.bowl(0.0)
    value = float(measures.instant(system, system.state([[-side, 0.0], [side, 0.0]], np.zeros((2, 2))))[0][0] / GRAVITY)
    return Answer(value, f"{value:.10f} (the middle of what static friction allows)")


def faster_with_friction(work: Workbench) -> Answer:
    means = [float(work.samples_1(mu)["rod_force"][-80:, 0].mean() / GRAVITY) for mu in MUS_1]
    pairs = ", ".join(f"{mean:.4f} (μ = {mu:g})" for mu, mean in zip(MUS_1, means, strict=True))
    return Answer(all(a < b for a, b in itertools.pairwise(means)), f"mean h/mg of the last period: {pairs}")


def attains_limit(work: Workbench) -> Answer:
    now = float(work.samples_1(MUS_1[-1])["rod_force"][-1, 0] / GRAVITY)
    limit = math.tan((THETA_1B[1] - THETA_1B[0]) / 2.0)
    return Answer(bool(abs(now / limit - 1.0) < 0.05), f"{now:.4f} at 5T with the largest μ, against {limit:.4f}")


# ---- Example 2 ------------------------------------------------------------------------------------


def _shares(work: Workbench, mu: float) -> dict[str, np.ndarray]:
    seen = work.samples_2(mu)
    total = seen["kinetic_energy"] + seen["potential_energy"]
    return {
        "t": seen["t"],
        "kinetic": seen["kinetic_energy"] / total,
        "potential": seen["potential_energy"] / total,
        "centre": seen["com_energy"] / total,
        "force": seen["rod_force"][:, 0] / (3.0 * GRAVITY),
    }


def exchange_period(work: Workbench) -> Answer:
    share = _shares(work, 0.0)
    period = measures.mean_peak_spacing(share["t"], share["potential"])
    return Answer(
        period, f"{period:.2f} s between maxima, on average; π/√(2gb) = {math.pi / math.sqrt(2 * 9.81 * 4e-4):.2f} s"
    )


def centre_period(work: Workbench) -> Answer:
    share = _shares(work, 0.0)
    period = measures.mean_peak_spacing(share["t"], share["centre"])
    return Answer(period, f"{period:.2f} s between maxima, on average")


def energy_exchange(work: Workbench) -> Answer:
    share = _shares(work, 0.0)["kinetic"]
    swing = 100.0 * float(share.max() - share.min())
    return Answer(swing, f"{swing:.1f} %: kinetic energy goes from {share.min():.3f} to {share.max():.3f} of the total")


def centre_share(work: Workbench) -> Answer:
    share = 100.0 * _shares(work, 0.0)["centre"]
    return Answer(float(share.mean()), f"mean {share.mean():.1f} %, from {share.min():.1f} to {share.max():.1f} %")


def pulls_without_friction(work: Workbench) -> Answer:
    force = _shares(work, 0.0)["force"]
    return Answer(bool((force < 0.0).all()), f"h/mg from {force.min():.4f} to {force.max():.4f}")


def in_phase(work: Workbench) -> Answer:
    share = _shares(work, 0.0)
    correlation = float(np.corrcoef(share["force"], share["centre"])[0, 1])
    return Answer(correlation > 0.9, f"correlation of h and the centre's energy {correlation:.3f}")


def same_start(work: Workbench) -> Answer:
    first = [float(_shares(work, mu)["force"][0]) for mu in MUS_2]
    spread = max(first) - min(first)
    return Answer(
        spread < 1e-9 and max(first) < 0.0, f"h/mg = {first[0]:.9f} for every μ (spread {_power(max(spread, 1e-16))})"
    )


def turns_to_push(work: Workbench) -> Answer:
    rough = [mu for mu in MUS_2 if mu > 0.0]
    pushing = [mu for mu in rough if (_shares(work, mu)["force"] > 0.0).any()]
    listed = " and ".join(f"μ = {mu:g}" for mu in pushing) or "none"
    return Answer(pushing == rough, f"within 200 s only for {listed}")


def centre_gains(work: Workbench) -> Answer:
    ends = {mu: 100.0 * float(_shares(work, mu)["centre"].max()) for mu in MUS_2 if mu > 0.0}
    text = ", ".join(f"{share:.1f} % (μ = {mu:g})" for mu, share in ends.items())
    return Answer(ends[MUS_2[-1]], f"largest within 200 s: {text}")


def slower_later(work: Workbench) -> Answer:
    share = _shares(work, 0.015)
    peaks = measures.peak_times(share["t"], share["centre"])
    gaps = np.diff(peaks)
    grows = len(gaps) >= 2 and gaps[-1] > gaps[0]
    return Answer(
        bool(grows), f"maxima of the centre's energy {gaps[0]:.1f}, later {gaps.max():.1f} s apart (μ = 0.015)"
    )


def gentle_slopes(work: Workbench) -> Answer:
    place = work.samples_2(0.0)["position"]
    slope = np.hypot(4e-4 * place[..., 0] + 1e-5, 8e-4 * place[..., 1]).max()
    return Answer(float(slope), f"{slope:.2f} at most along the path; 10⁻⁴ m⁻¹ is the curvature")


def bottom_at_origin(work: Workbench) -> Answer:
    surface = work.paraboloid(0.0)[0].surface
    slope = np.array(surface.gradient(0.0, 0.0), float)
    bend = np.array(surface.gradient(1.0, 1.0), float) - slope
    bottom = -slope / bend
    height = scientific(f"{float(surface.height(*bottom)):.3g}")
    return Answer(bool(np.hypot(*bottom) < 1e-9), f"at x = {bottom[0]:.4g} m, z = {height} m")


def step_is_enough(work: Workbench) -> Answer:
    fixed, adaptive = series(work.example_2_rk4(0.0), work.samples_2(0.0)["t"]), work.samples_2(0.0)
    error = float(np.abs(fixed["position"] - adaptive["position"]).max())
    length = fixed["rod_length"][:, 0]
    drift = float(np.abs(length - length[0]).max())
    return Answer(
        error < 1e-3,
        f"position error {_power(error)} m of 400 m, rod drift {_power(max(drift, 1e-16))} m after {END_2:g} s",
    )


CLAIMS = (
    Claim("1a position", "3.1, first case", "Error of x(t) over the radius after 5 periods of RK4", Order(1e-9),
          "RK4 of the library, steps tried: " + ", ".join(f"{step:g}" for step in STEPS), circle_position,
          missing=NO_STEP, slow=True),
    Claim("1a force", "3.1, first case", "|h|/mg of two masses that would circle alone as well", Order(1e-13),
          "same run as for x", circle_force, missing=NO_STEP,
          why="Each of the two orders is reached, but not with one step.", slow=True),
    Claim("1b speeds", "Eqs. 16 and 17", "Speeds at which two masses circle steadily at different heights",
          Formula("Eqs. 16a, 16b, 17", 1e-12), "accelerations of the library at 25 states, against −ω²r",
          measures.steady_speeds),
    Claim("1b force formula", "Eq. 18", "Rod force of that motion", Formula("Eq. 18", 1e-11),
          "rod force of the library at the same states", measures.steady_forces),
    Claim("1b force", "3.1, second case", "h/mg for ϑ = 17.5° and 23.6°", Number("6.9e-3"), ADAPTIVE, steady_value),
    Claim("1b period", "3.1, second case", "Period longer than that of particle 2 alone, by the factor",
          Number("7e-3"), "Eq. 17 against Eq. 15, both checked above", longer_period,
          why="The printed factor does not follow from the printed Eq. 17."),
    Claim("1b position", "3.1, second case", "Error of x(t) over the radius after 5 periods of RK4", Order(1e-6),
          "RK4 of the library", steady_position, missing=NO_STEP, slow=True),
    Claim("1b force error", "3.1, second case", "Difference of h from Eq. 18", Order(1e-3), "same run, relative",
          steady_force_error, missing=NO_STEP, slow=True),
    Claim("corner values", "Fig. 2, text", "Largest h in the upper left corner of the map for unequal masses",
          Formula("√2 mg (1 − k²)", 1e-3), "Eq. 18 around the corner, k = 0.82", measures.corner,
          why="The corner belongs to the light mass: √2 m₁g = √2 mg(1 − k)."),
    Claim("2 period", "3.2", "Period of the coupled masses against the pendulum's, relative difference", AtMost(1e-5),
          ADAPTIVE + ", zeros of x", swing_period),
    Claim("2 period formula", "Eq. 21", "Period of the pendulum of length R_CM",
          Formula("4√(R_CM/g) ∫ dα/√(1 − sin²((1 − cos γ₀)/2) sin²α)", 1e-9), "against the measured period", printed_period,
          why="The modulus is sin²(γ₀/2) = (1 − cos γ₀)/2; the outer sin² is one too many."),
    Claim("2 h formulas", "Eqs. 22 and 23", "Rod force along the swing", Formula("Eq. 22", 1e-10),
          ADAPTIVE, force_formulas),
    Claim("2 lowest h", "3.2, Fig. 5", "Smallest h/mg", Number("0.092"), ADAPTIVE, swing_lowest),
    Claim("2 highest h", "3.2, Fig. 5", "Largest h/mg", Number("0.118"), ADAPTIVE, swing_highest,
          why="0.117 is the rounded value."),
    Claim("2 position", "3.2", "Difference of x(t) from the pendulum by RK4, over R_CM", Order(1e-12),
          "RK4 of both", swing_position, missing=NO_STEP,
          why="Both sides share the error of RK4; the true error is larger.", slow=True),
    Claim("2 force error", "3.2", "Difference of h from the analytical one", Order(1e-12), "RK4 of the library", swing_force,
          missing=NO_STEP, slow=True),
    Claim("2 unit of Fig. 3", "3.2, Fig. 3", "Small-angle period is π√(R/g)/2, so that the scaled T is near 1",
          About(1.0), "measured period over that unit", small_period,
          why="π√(R/g)/2 is a quarter of the small-angle period."),
    Claim("h period", "Section 5", "h oscillates with the period of Eq. 21 (share of T)", About(1.0, 0.01),
          "spacing of the maxima of h", force_period, why="h is even in γ: its period is T/2."),
    Claim("friction pendulum", "3.2, before Fig. 5", "Pendulum equation with friction",
          Formula("−μ|γ̇|/R_CM (Rγ̇² + gR cos γ/R_CM)", 1e-9), "acceleration of the library along the run",
          rough_pendulum, why="Dimensionally wrong, and never dissipative for both directions.", slow=True),
    Claim("friction accuracy", "3.2", "With μ = 0.02 the difference of x(t) is of the order 10⁻²: loss of accuracy of "
          "the scheme", Order(1e-2), "events of the library against plain RK4 of the pendulum", rough_accuracy,
          why="Not the scheme: it loses one order at each reversal, 10⁻⁴ in all. The reference equation is misprinted, "
          "or was wrong.", slow=True),
    Claim("friction lowest", "3.2", "Smallest h with friction still given by Eq. 24", Formula("Eq. 24", 1e-9),
          "run with events, to rest", rough_lowest, slow=True),
    Claim("friction final", "3.2", "h at rest", Formula("mg sin ϑ sin²φ / √(1 − sin²ϑ sin²φ)", 1e-6),
          "limit of h before the last stop", rough_final,
          why="sin φ, not its square; and at rest h is indeterminate within the friction cone.", slow=True),
    Claim("case 2 slows", "Section 5", "Damped oscillations of Case 2 with a period that grows with time",
          Statement("grows"), "times of the stops", swing_spacing, why="A pendulum's period falls with its amplitude.", slow=True),
    Claim("ex 1 limit", "4.1", "h/mg at rest, tan(Δϑ/2)", Number("0.053"), "rod force of the library at the bottom", rest_force),
    Claim("ex 1 trend", "4.1, Fig. 8", "h rises towards the limit, faster with more friction", Statement("trend"),
          ADAPTIVE + " with every μ", faster_with_friction, slow=True),
    Claim("ex 1 attains", "4.1, Fig. 8", "h tends to attain the limit in the time shown (5T)", Statement("attains it"),
          ADAPTIVE, attains_limit, why="With μ = 0.01 the masses rest only after 11.6 T.", slow=True),
    Claim("ex 2 exchange", "4.2, Fig. 10", "Kinetic and potential energy are exchanged with period", About(36.0, unit="s"),
          "maxima of the potential energy", exchange_period),
    Claim("ex 2 centre", "4.2, Fig. 10", "Energy of the centre of mass oscillates with period", About(19.0, unit="s"),
          "maxima of the centre's energy", centre_period,
          why="Not a doubled frequency: half turns of the rod, unrelated to the swing across the valley."),
    Claim("ex 2 share", "4.2, Fig. 10", "Share of the energy that is exchanged", Between(45.0, 55.0, "%"),
          "range of the kinetic share", energy_exchange),
    Claim("ex 2 centre share", "4.2, Fig. 10", "The centre's energy swings around half of the total",
          About(50.0, 0.1, "%"), "mean share", centre_share),
    Claim("ex 2 pulls", "4.2, Fig. 12", "Without friction the rod always pulls (h < 0)", Statement("h < 0"),
          "sign of h over 200 s", pulls_without_friction),
    Claim("ex 2 phase", "4.2", "|h| is largest where the centre's energy is smallest", Statement("in phase"),
          "correlation of h with the centre's energy", in_phase),
    Claim("ex 2 start", "4.2, Fig. 12", "All histories of h start from one negative value", Statement("one value"),
          "h at t = 0 for every μ", same_start),
    Claim("ex 2 pushes", "4.2, Fig. 12", "With friction h becomes positive for larger times", Statement("h > 0"),
          "sign of h over 200 s for every μ > 0", turns_to_push,
          why="True of the two largest coefficients only, within the time shown."),
    Claim("ex 2 gains", "4.2, Fig. 13", "With friction the centre's share of the energy rises to",
          Between(80.0, 90.0, "%"), "largest share within 200 s", centre_gains,
          why="So with the largest coefficient; the smaller ones stay below 80 % in the time shown."),
    Claim("ex 2 slows", "Section 5", "Oscillations of Example 2 with a period that grows with time", Statement("grows"),
          "spacing of the maxima", slower_later),
    Claim("ex 2 slopes", "4.2", "Gradients of the slope are of the order 10⁻⁴", Order(1e-4), "slope along the path",
          gentle_slopes, why="Curvature and slope are confused."),
    Claim("ex 2 bottom", "4.2", "The bottom of the surface is at the origin", Statement("at the origin"),
          "minimum of ax² + by² + cx", bottom_at_origin,
          why="c only moves the vertex by 2.5 cm; it gives no uniform acceleration."),
    Claim("ex 2 step", "4.2", "RK4 with dt = 0.05 s is adequate", Statement("adequate"),
          "RK4 at that step against the adaptive run", step_is_enough, slow=True),
)  # fmt: skip
