"""Figures of combined friction."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from saltus.laws import friction
from saltus.papers.kireenkov_2021.cases import BALL, PRESSURES, Workbench, approximate, exact
from saltus.papers.paper import Drawing
from saltus.papers.pictures import HEIGHT, WIDTH
from saltus.views.style import FAINT, INK, colour, new_figure

RATIOS = np.concatenate([np.linspace(1e-3, 1.0, 90), np.linspace(1.01, 5.0, 110)])


def scheme(work: Workbench) -> Figure:
    """Fig. 1: the ball between its rails."""
    figure = new_figure(4.6, 3.9)
    axes = figure.subplots()
    alpha = 0.6
    turn = np.linspace(0, 2 * math.pi, 200)
    axes.plot(np.cos(turn), np.sin(turn), color=INK, linewidth=1.4)
    for sign, name in ((1, "1"), (-1, "2")):
        foot = np.array([sign * math.sin(alpha), -math.cos(alpha)])
        axes.plot(*zip(foot, np.zeros(2), strict=True), ":", color=FAINT)
        x, y = foot
        axes.annotate("", (0.45 * x, 0.45 * y), (x, y), arrowprops={"arrowstyle": "->", "color": colour(1), "lw": 1.6})
        axes.text(0.5 * x + 0.06 * sign, 0.5 * y + 0.02, f"N$_{name}$", color=colour(1), ha="center")
        axes.plot(*foot, "o", color=colour(0), markersize=6)
        axes.fill_between(
            [foot[0], foot[0] + sign * 0.28], foot[1] - 0.26, foot[1] - 0.02, color="#D8D2C4", linewidth=0
        )
    arc = np.linspace(-math.pi / 2, -math.pi / 2 + alpha, 30)
    axes.plot(0.35 * np.cos(arc), 0.35 * np.sin(arc), color=INK, linewidth=0.8)
    axes.plot([0, 0], [0, -0.95], color=FAINT, linewidth=0.8)
    axes.text(0.1, -0.5, "α")
    axes.set(aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.2, 1.1))
    axes.axis("off")
    return figure


def spot(work: Workbench) -> Figure:
    """Fig. 2: motion inside the spot, and the shifted pressure."""
    figure = new_figure(WIDTH, 3.2)
    left, right = figure.subplots(1, 2)
    grid = np.linspace(-0.9, 0.9, 10)
    x, y = np.meshgrid(grid, grid)
    inside = x**2 + y**2 < 0.95
    slip, spin = 1.0, 1.6
    left.quiver(x[inside], y[inside], slip - spin * y[inside], spin * x[inside], color=colour(0), width=0.006)
    turn = np.linspace(0, 2 * math.pi, 200)
    left.plot(np.cos(turn), np.sin(turn), color=INK)
    left.plot(0, slip / spin, "o", color=colour(1))
    left.text(0.07, slip / spin + 0.05, "pole", color=colour(1), fontsize=8)
    left.set(aspect="equal", title="velocity in the spot, u/v = 1.6")
    left.axis("off")
    axis = np.linspace(-1, 1, 201)
    base = 1.5 * np.sqrt(1 - axis**2)
    for index, k in enumerate((0.0, 0.4, 0.8)):
        right.plot(axis, base * (1 + k * axis), color=colour(index), label=f"k = {k:g}, centre at {k / 5:.2f} R")
    right.set(xlabel="x / R", ylabel="pressure / (N/πR²)", title="Hertz pressure, shifted")
    right.legend(loc="lower center")
    return figure


def _curves(law) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    share = law.coupling(np.ones_like(RATIOS), RATIOS)
    torque = float(law.pressure.spin_torque)
    return np.asarray(share.drag), np.asarray(share.lift) / (torque / 2), np.asarray(share.twist) / torque


def exact_and_approximate(work: Workbench) -> Figure:
    figure = new_figure(WIDTH + 1.4, 3.3)
    axes = figure.subplots(1, 3, sharex=True)
    for index, pressure in enumerate(PRESSURES):
        for law, style in ((exact(pressure), "-"), (approximate(pressure), "--")):
            for panel, values in zip(axes, _curves(law), strict=True):
                panel.plot(RATIOS, values, style, color=colour(index), label=pressure if style == "-" else None)
    for panel, title in zip(axes, ("force along, F∥/fN", "force across, F⊥/max", "torque, M/max"), strict=True):
        panel.set(title=title, xlabel="s = ωR / v", ylim=(0, 1.04))
    axes[0].plot([], [], "--", color=INK, label="model (8)")
    axes[0].legend()
    return figure


def model_errors(work: Workbench) -> Figure:
    figure = new_figure(WIDTH + 1.4, 3.3)
    axes = figure.subplots(1, 3, sharex=True)
    true = _curves(exact())
    laws = {"model (8)": approximate(), "first order": friction.FirstOrder(1.0, 1.0), "second order": friction.SecondOrder(1.0, 1.0),
            "power norm": friction.PowerNorm(1.0, 1.0)}  # fmt: skip
    for index, (name, law) in enumerate(laws.items()):
        for panel, found, wanted in zip(axes, _curves(law), true, strict=True):
            panel.plot(RATIOS, found - wanted, color=colour(index), label=name)
    for panel, title in zip(axes, ("error of F∥/fN", "error of F⊥/max", "error of M/max"), strict=True):
        panel.axhline(0.0, color=INK, linewidth=0.6)
        panel.set(title=title, xlabel="s = ωR / v")
    axes[0].legend()
    return figure


def shifts(work: Workbench) -> Figure:
    figure = new_figure(WIDTH + 0.6, HEIGHT)
    left, right = figure.subplots(1, 2, sharex=True)
    found = friction.spot_functions(RATIOS, "hertz")
    for index, ky in enumerate((0.0, 0.4, -0.4)):
        left.plot(RATIOS, np.asarray(found.Phi0 + ky * found.Phi1), color=colour(index), label=f"k_y = {ky:g}")
        right.plot(RATIOS, np.asarray(found.Theta0 + ky * found.Theta1), color=colour(index))
    left.plot(RATIOS, np.asarray(0.4 * found.Psi), "-.", color=colour(3), label="F⊥ for k_x = 0.4")
    share = approximate().coupling(jnp.ones(len(RATIOS)), jnp.asarray(RATIOS))
    left.plot(RATIOS, np.asarray(share.drag), "--", color=INK, linewidth=0.8, label="model (8), any k_y")
    right.plot(RATIOS, np.asarray(share.twist), "--", color=INK, linewidth=0.8)
    left.set(title="force / fN", xlabel="s = ωR / v")
    right.set(title="torque / fNR", xlabel="s = ωR / v")
    left.legend()
    return figure


def on_rails(work: Workbench) -> Figure:
    figure = new_figure(WIDTH + 0.6, HEIGHT)
    left, right = figure.subplots(1, 2)
    models = (("exact", "exact spot"), ("pade", "model (8)"), ("coulomb", "point contact"))
    for index, (model, label) in enumerate(models):
        seen = work.motion(model)
        left.plot(seen["t"], seen["velocity"][:, 0], color=colour(index), label=label)
        slip = np.abs(seen["slip"][:, 0, 0])
        right.semilogy(seen["t"], np.maximum(slip, 1e-6), color=colour(index))
    cosine = math.cos(BALL["half_angle"])
    rolling = 5 * cosine**2 * BALL["speed"] / (5 * cosine**2 + 2)
    left.axhline(rolling, color=INK, linewidth=0.7, linestyle=":")
    left.text(0.98, rolling + 0.01, "5C²/(5C² + 2) v₀", ha="right", fontsize=8)
    left.set(xlabel="time [s]", ylabel="speed along the rails [m/s]")
    right.set(xlabel="time [s]", ylabel="slip of a contact [m/s]", ylim=(1e-5, 3))
    left.legend()
    return figure


def to_rest(work: Workbench) -> Figure:
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    for index, (model, shift, label) in enumerate(
        (
            ("exact", 0.0, "exact spot"),
            ("exact", 0.3, "exact spot, rolling shift 0.3"),
            ("coulomb", 0.0, "point contact"),
        )
    ):
        run = work.roll(model, shift)
        seen = work.motion(model, shift, float(run.end.t))
        axes.plot(seen["t"], seen["velocity"][:, 0], color=colour(index), label=label)
    axes.set(xlabel="time [s]", ylabel="speed along the rails [m/s]", ylim=(0, None))
    axes.legend()
    return figure


DRAWINGS = (
    Drawing("fig-1", "Fig. 1: the ball on its rails", "", scheme),
    Drawing("fig-2", "Fig. 2: inside the spot", "Left: slip and spin together turn about a pole. Right: the shifted pressure.", spot),
    Drawing("exact-approximate", "Exact law and model (8)", "Solid: exact. Dashed: the paper's model, right at both ends and too weak "
            "between.", exact_and_approximate),
    Drawing("errors", "Errors of four approximations", "Hertz pressure.", model_errors),
    Drawing("shifts", "What a shifted pressure does", "A shift across the slip changes force and torque also in the limits, which the "
            "model (8) cannot follow.", shifts),
    Drawing("rails", "A pushed ball on rails", "With finite spots slip never ends: the ball creeps on.", on_rails, slow=True, play="rails-slide-to-creep"),
    Drawing("rails-rest", "The same ball, to the end", "A point contact would roll for ever.", to_rest, slow=True, play="rails-to-rest"),
)  # fmt: skip
