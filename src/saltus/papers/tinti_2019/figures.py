"""The figures of the paper, drawn from the library's runs; and those it should have had."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import special

from saltus.papers.paper import Drawing
from saltus.papers.pictures import HEIGHT, WIDTH
from saltus.papers.sampling import series
from saltus.papers.tinti_2019.cases import (
    END_2,
    GRAVITY,
    MU_2,
    MUS_1,
    MUS_2,
    PENDULUM_STEP,
    PHI_2,
    STEP_2,
    THETA_1B,
    THETA_2,
    Pendulum,
    Workbench,
)  # fmt: skip
from saltus.papers.tinti_2019.measures import UNBALANCE, rest_range
from saltus.views.style import FAINT, INK, colour, new_figure

GRID = 241


def _grid() -> tuple[np.ndarray, np.ndarray]:
    angles = np.linspace(1e-3, math.pi / 2 - 1e-3, GRID)
    return np.meshgrid(angles, angles, indexing="xy")


def _map(values: np.ndarray, levels: np.ndarray, label: str, names: tuple[str, str]) -> Figure:
    """A contour map over the quarter square of two angles."""
    figure = new_figure(5.4, 4.4)
    axes = figure.subplots()
    scale = np.linspace(1e-3, 1.0, GRID)
    filled = axes.contourf(scale, scale, values, levels=levels, cmap="YlGnBu", extend="both")
    axes.contour(scale, scale, values, levels=levels, colors=INK, linewidths=0.3)
    axes.set(xlabel=f"{names[0]} / (π/2)", ylabel=f"{names[1]} / (π/2)", aspect="equal")
    figure.colorbar(filled, ax=axes, label=label)
    return figure


def _steady_map(unbalance: float) -> np.ndarray:
    """Eq. 18 over the square: ϑ₂ to the right, ϑ₁ upward, in units of the mean weight."""
    two, one = _grid()
    m1, m2 = 1.0 - unbalance, 1.0 + unbalance
    below = m1 * np.sin(one) * np.cos(one) + m2 * np.sin(two) * np.cos(two)
    lever = np.abs(np.cos(one) - np.cos(two)) / np.cos((two - one) / 2)
    return lever * m1 * m2 * np.sin(one) * np.sin(two) / below


def figure_1(work: Workbench) -> Figure:
    figure = _map(_steady_map(0.0), np.arange(0.0, 1.45, 0.1), "h / mg", ("ϑ₂", "ϑ₁"))
    figure.axes[0].plot([0, 1], [0, 1], color=INK, linewidth=2)
    return figure


def figure_2(work: Workbench) -> Figure:
    figure = _map(_steady_map(UNBALANCE), np.arange(0.0, 2.65, 0.1), "h / mg, m the mean mass", ("ϑ₂", "ϑ₁"))
    figure.axes[0].plot([0, 1], [0, 1], color=INK, linewidth=2)
    return figure


def figure_3(work: Workbench) -> Figure:
    colatitude, longitude = _grid()
    half = np.sin(colatitude) * np.sin(longitude)
    length = np.sqrt(1.0 - half**2)
    amplitude = np.arccos(np.clip(np.cos(colatitude) / length, -1.0, 1.0))
    scaled = np.sqrt(length) * special.ellipk(np.sin(amplitude / 2) ** 2) * 2.0 / math.pi
    return _map(scaled, np.arange(0.1, 1.25, 0.05), "T / 2π√(R/g)", ("ϑ₀", "φ₀"))


def figure_4(work: Workbench) -> Figure:
    colatitude, longitude = _grid()
    half = np.sin(colatitude) * np.sin(longitude)
    largest = half / (1.0 - half**2) * (3.0 * np.sqrt(1.0 - half**2) - 2.0 * np.cos(colatitude))
    return _map(np.log10(largest), np.arange(-3.0, 2.6, 0.25), "log₁₀(h_max / mg)", ("ϑ₀", "φ₀"))


def _plain(xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return figure, axes


def figure_5(work: Workbench) -> Figure:
    figure, axes = _plain("time [s]", "h / mg")
    seen = series(work.swing_run)
    axes.plot(seen["t"], seen["rod_force"][:, 0] / GRAVITY, color=colour(0), label="adaptive")
    if not work.quick:
        fixed, label = work.swing_rk4, f"RK4, dt = {PENDULUM_STEP:g} s"
        axes.plot(fixed["t"], fixed["rod_force"][:, 0] / GRAVITY, ":", color=colour(1), label=label)
    for level, text in ((0.092, "0.092"), (0.118, "0.118")):
        axes.axhline(level, color=FAINT, linewidth=0.7, zorder=0)
        axes.text(0.02, level, f" {text} printed", va="bottom", fontsize=7, color="#777777")
    axes.set_ylim(0.0905, 0.1215)
    axes.legend(ncols=2, loc="upper right")
    return figure


def figure_6(work: Workbench) -> Figure:
    figure, axes = _plain("time [s]", "h / mg")
    seen = work.rough_samples
    end = float(work.rough_swing.end.t)
    low, high = rest_range(2 * Pendulum.half_rod, MU_2)
    axes.plot(seen["t"], seen["rod_force"][:, 0] / GRAVITY, color=colour(0), label="events located")
    axes.fill_between([work.rough_stop, end], low, high, color=colour(4), alpha=0.3, linewidth=0,
                      label="at rest: any value here")  # fmt: skip
    axes.axvline(work.rough_stop, color=INK, linewidth=0.7)
    axes.text(work.rough_stop - 0.1, 0.1165, f"all stops at {work.rough_stop:.6f} s", ha="right", fontsize=8)
    axes.set_ylim(0.078, 0.125)
    axes.legend(loc="lower left")
    return figure


def _paths(axes, seen) -> None:
    """Paths of two masses; circles, diamonds and triangles mark start, middle and end, as in the paper."""
    middle = len(seen["t"]) // 2
    for mass, (line, mark) in enumerate((("#C8A000", "#D55E00"), (INK, "#CC79A7"))):
        x, y = seen["position"][:, mass, 0], seen["position"][:, mass, 1]
        axes.plot(x, y, color=line, linewidth=0.8)
        for index, marker in ((0, "o"), (middle, "D"), (-1, "^")):
            axes.plot(x[index], y[index], marker, color=mark, markersize=6, markeredgecolor=INK, markeredgewidth=0.5)
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")


def figure_7(work: Workbench) -> Figure:
    figure = new_figure(4.8, 4.6)
    axes = figure.subplots()
    for radius in (0.1, 0.2, 0.3, 0.4):
        axes.add_patch(_circle(radius))
    _paths(axes, series(work.example_1(MUS_1[-1]), np.linspace(0.0, float(work.example_1(MUS_1[-1]).end.t), 802)))
    return figure


def _circle(radius: float):
    from matplotlib.patches import Circle

    return Circle((0, 0), radius, fill=False, edgecolor=FAINT, linewidth=0.5)


def figure_8(work: Workbench) -> Figure:
    figure, axes = _plain("time / T", "h / mg")
    period = work.steady()[2]
    for index, mu in enumerate(MUS_1):
        seen = work.samples_1(mu)
        axes.plot(seen["t"] / period, seen["rod_force"][:, 0] / GRAVITY, color=colour(index), label=f"μ = {mu:g}")
    limit = math.tan((THETA_1B[1] - THETA_1B[0]) / 2)
    axes.axhline(limit, color=INK, linewidth=0.8, linestyle="--")
    axes.text(0.02, limit, "tan(Δϑ/2), printed as the limit", va="bottom", fontsize=8)
    axes.set_ylim(0.0, 0.062)
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.85))
    return figure


def _valley(work: Workbench, mu: float) -> Figure:
    figure = new_figure(WIDTH, 4.2)
    axes = figure.subplots()
    seen = work.samples_2(mu)
    reach = 1.08 * np.abs(seen["position"][..., :2]).max(axis=(0, 1))
    x, y = np.meshgrid(np.linspace(-reach[0], reach[0], 80), np.linspace(-reach[1], reach[1], 80))
    axes.contour(x, y, 2e-4 * x**2 + 4e-4 * y**2 + 1e-5 * x, levels=12, colors=FAINT, linewidths=0.5)
    _paths(axes, {"t": seen["t"], "position": seen["position"][:, ::-1]})
    return figure


def figure_9(work: Workbench) -> Figure:
    return _valley(work, 0.0)


def figure_10(work: Workbench) -> Figure:
    figure, axes = _plain("time [s]", "share of the total energy")
    seen = work.samples_2(0.0)
    total = seen["kinetic_energy"] + seen["potential_energy"]
    for index, (name, label) in enumerate(
        (("kinetic_energy", "kinetic"), ("potential_energy", "potential"), ("com_energy", "centre of mass"))
    ):
        axes.plot(seen["t"], seen[name] / total, color=colour((2, 0, 1)[index]), label=label)
    axes.set_ylim(0, 1)
    axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.12))
    return figure


def figure_11(work: Workbench) -> Figure:
    return _valley(work, 0.025)


def _by_friction(work: Workbench, ylabel: str, values) -> Figure:
    figure, axes = _plain("time [s]", ylabel)
    for index, mu in enumerate(MUS_2):
        seen = work.samples_2(mu)
        axes.plot(seen["t"], values(seen), color=colour(index), label=f"μ = {mu:g}")
    if not work.quick:
        fixed = series(work.example_2_rk4(0.0))
        axes.plot(fixed["t"][::4], values(fixed)[::4], ".", color=INK, markersize=2.5, label=f"RK4, dt = {STEP_2:g} s")
    axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.18))
    axes.set_xlim(0.0, END_2)
    return figure


def figure_12(work: Workbench) -> Figure:
    figure = _by_friction(work, "h / mg, m the mean mass", lambda seen: seen["rod_force"][:, 0] / (3 * GRAVITY))
    figure.axes[0].axhline(0.0, color=INK, linewidth=0.6)
    return figure


def figure_13(work: Workbench) -> Figure:
    def share(seen):
        return seen["com_energy"] / (seen["kinetic_energy"] + seen["potential_energy"])

    return _by_friction(work, "centre of mass, share of the energy", share)


# ---- what the paper does not show -----------------------------------------------------------------


def instability(work: Workbench) -> Figure:
    figure, axes = _plain("time / T", "error of the heights / R")
    period, rate = work.steady()[2], work.growth_rate
    for index, (name, step) in enumerate((("1a", 5e-3), ("1b", 5e-3), ("1b", 1e-3))):
        times, error = work.height_error(name, step)
        shown = error > 1e-16
        axes.semilogy(
            times[shown] / period, error[shown], color=colour(index), label=f"Case {name}, RK4, dt = {step:g} s"
        )
    times, error = work.height_error("1b", 5e-3)
    later = times > 2.0 * period
    line = error[-1] * np.exp(rate * (times[later] - times[-1]))
    axes.semilogy(times[later] / period, line, "--", color=INK, linewidth=0.9,
                  label=f"×{math.exp(rate * period):.2f} per period (linear theory)")  # fmt: skip
    axes.legend(loc="lower right")
    return figure


def misprint(work: Workbench) -> Figure:
    figure, axes = _plain("time [s]", "angle of the centre of mass [°]")
    seen = work.rough_samples
    angle = np.arctan2(seen["position"][:, 0, 0], 1.0 - seen["position"][:, 0, 2])
    axes.plot(
        seen["t"], np.degrees(angle), color=colour(0), linewidth=2.4, alpha=0.5, label="masses and rod, events located"
    )
    for printed, style, label in ((False, "-", "pendulum, corrected"), (True, "--", "pendulum, as printed")):
        times, path = work.rough_pendulum(printed)
        axes.plot(times, np.degrees(path), style, color=colour(2 if not printed else 1), linewidth=0.9, label=label)
    axes.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.13))
    return figure


def to_rest(work: Workbench) -> Figure:
    figure = new_figure(WIDTH, 4.6)
    upper, lower = figure.subplots(2, 1, sharex=True)
    run = work.example_2_to_rest(0.015)
    end = run.events[-1].t
    seen = series(run, np.linspace(0.0, end + 20.0, 4 * 401))
    speed = np.linalg.norm(seen["velocity"], axis=-1)
    for mass, label in ((0, "light mass"), (1, "heavy mass")):
        upper.plot(seen["t"], speed[:, mass], color=colour(mass), label=label)
    held = run.system.mode_names.index("stick")
    for axes in (upper, lower):
        axes.fill_between(seen["t"], 0, 1, where=seen["mode"][:, 1] == held, transform=axes.get_xaxis_transform(),
                          color=FAINT, alpha=0.4, linewidth=0)  # fmt: skip
        axes.axvline(END_2, color=INK, linewidth=0.7, linestyle=":")
    upper.set(ylabel="speed [m/s]", ylim=(0, None))
    upper.text(END_2 + 5, upper.get_ylim()[1] * 0.9, "the paper ends here", fontsize=8)
    upper.legend(loc="upper right")
    lower.plot(seen["t"], seen["rod_force"][:, 0] / (3 * GRAVITY), color=colour(2))
    lower.axhline(0.0, color=INK, linewidth=0.6)
    lower.set(xlabel="time [s]", ylabel="h / mg")
    return figure


NOT_SHOWN = "Not in the paper. "
DRAWINGS = (
    Drawing("fig-01", "Fig. 1: rod force of equal masses that circle", "Eq. 18 in units of mg.", figure_1),
    Drawing("fig-02", "Fig. 2: the same, unequal masses", f"k = {UNBALANCE:g}.", figure_2),
    Drawing("fig-03", "Fig. 3: period of the pendulum of two masses", "With the corrected Eq. 21 and the right unit.",
            figure_3),
    Drawing("fig-04", "Fig. 4: largest rod force of that pendulum", "Eq. 25, logarithmic.", figure_4),
    Drawing("fig-05", "Fig. 5: rod force of Case 2", f"ϑ₀ = {math.degrees(THETA_2):.2f}°, φ₀ = {math.degrees(PHI_2):.2f}°.",
            figure_5, in_full="The two schemes cannot be told apart.", play="bowl-pendulum"),
    Drawing("fig-06", "Fig. 6: the same with friction", f"μ = {MU_2:g}. After the last stop the force is undetermined within "
            "the shaded range.", figure_6, slow=True, play="bowl-pendulum-friction"),
    Drawing("fig-07", "Fig. 7: paths of Example 1", "μ = 0.01, five periods.", figure_7, slow=True),
    Drawing("fig-08", "Fig. 8: rod force of Example 1", "At 5T the limit is still far.", figure_8, slow=True),
    Drawing("fig-09", "Fig. 9: paths of Example 2 without friction", "Yellow: heavy, black: light.", figure_9, play="paraboloid"),
    Drawing("fig-10", "Fig. 10: energies of Example 2", "", figure_10),
    Drawing("fig-11", "Fig. 11: paths of Example 2 with friction", "μ = 0.025.", figure_11, play="paraboloid-friction"),
    Drawing("fig-12", "Fig. 12: rod force of Example 2", "It turns positive for the two largest coefficients only.",
            figure_12, in_full="Dots: RK4 at the paper's step."),
    Drawing("fig-13", "Fig. 13: energy of the centre of mass", "", figure_13),
    Drawing("instability", "Case 1b is unstable", NOT_SHOWN + "An error of Case 1b grows ninefold per period; Case 1a only "
            "drifts.", instability, slow=True, play="bowl-steady"),
    Drawing("misprint", "The pendulum with friction, printed and corrected", NOT_SHOWN + "The printed equation drives one half "
            "of each swing.", misprint, slow=True),
    Drawing("to-rest", "Example 2 continued to rest", NOT_SHOWN + "μ = 0.015. The heavy mass sticks three times (shaded) and is "
            "pulled loose twice before everything rests.", to_rest, slow=True),
)  # fmt: skip
