"""Pictures of friction laws: force and torque over the ratio of spin to slip, and the limit surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.laws import friction
from saltus.laws.friction.compare import QUANTITIES, functions_of, normalise
from saltus.views.style import FAINT, INK, colour, in_house_style, new_figure

APPROXIMATIONS = {
    "Pade (Kireenkov)": friction.Pade,
    "first order (Zhuravlev)": friction.FirstOrder,
    "second order": friction.SecondOrder,
    "power norm": friction.PowerNorm,
    "elliptic cone (physics engines)": friction.EllipticCone,
}
TITLES = ("force against the slip / μN", "force across the slip, per shift / its maximum", "torque / its maximum")
PRESSURES = ("hertz", "uniform", "punch")


@in_house_style
def comparison(pressure: str | float = "hertz", laws: Mapping[str, type] = APPROXIMATIONS) -> Figure:
    """Force and torque of the exact law and of its approximations over the ratio of spin to slip, and their errors."""
    ratios = np.logspace(-2, 2, 801)
    known = friction.pressure_of(pressure)
    exact = normalise(friction.spot_functions(ratios, known), known)
    drawing = new_figure(11.0, 5.6)
    grid = drawing.subplots(2, 3, sharex=True, height_ratios=[1.6, 1.0])
    for column, (quantity, title) in enumerate(zip(QUANTITIES, TITLES, strict=True)):
        above, below = grid[:, column]
        above.semilogx(ratios, exact[quantity], color=INK, linewidth=2.0, label="exact")
        for index, (name, cls) in enumerate(laws.items()):
            values = normalise(functions_of(cls(1.0, 1.0, known), ratios), known)[quantity]
            above.plot(ratios, values, color=colour(index), label=name)
            below.plot(ratios, values - exact[quantity], color=colour(index))
        below.axhline(0.0, color=INK, linewidth=0.8)
        for axes in (above, below):
            axes.axvline(1.0, color=FAINT, linewidth=0.6, zorder=0)
        above.set_title(title)
        below.set_xlabel("rim speed / slip")
    grid[1, 0].set_ylabel("error")
    name = pressure if isinstance(pressure, str) else f"gamma = {pressure:g}"
    grid[0, 0].set_ylabel(f"{name} pressure")
    grid[0, 0].legend(loc="lower left")
    return drawing


@in_house_style
def pressures(names: Sequence[str | float] = PRESSURES) -> Figure:
    """The exact law for several pressures: force and torque over the ratio, each in units of mu N and mu N R."""
    ratios = np.logspace(-2, 2, 801)
    drawing = new_figure(9.0, 3.6)
    force, torque = drawing.subplots(1, 2, sharex=True)
    for index, name in enumerate(names):
        values = friction.spot_functions(ratios, name)
        label = name if isinstance(name, str) else f"gamma = {name:g}"
        force.semilogx(ratios, values.Phi0, color=colour(index), label=label)
        torque.plot(ratios, values.Theta0, color=colour(index), label=label)
    force.set(title="force / μN", xlabel="rim speed / slip")
    torque.set(title="torque / μNR", xlabel="rim speed / slip")
    force.legend()
    return drawing


@in_house_style
def limit_surface(names: Sequence[str | float] = PRESSURES, pushes: int = 7) -> Figure:
    """What spots can bear at rest, and the motion in which a push at the boundary begins; an ellipse to compare."""
    drawing = new_figure(9.0, 4.4)
    panels = drawing.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for index, (name, axes) in enumerate(zip(names, panels, strict=True)):
        _boundary(axes, friction.LimitSurface(friction.Combined(1.0, 1.0, name)), colour(index), pushes)
        axes.set(title=name if isinstance(name, str) else f"gamma = {name:g}", xlabel="force / μN", aspect="equal")
    panels[0].set_ylabel("torque / μNR")
    panels[0].set(xlim=(0.0, 1.35), ylim=(0.0, 1.05))
    panels[0].legend(loc="upper right")
    return drawing


def _boundary(axes: Axes, surface: friction.LimitSurface, ink: str, pushes: int) -> None:
    force, torque = surface.boundary()
    angle = np.linspace(0.0, np.pi / 2, 181)
    axes.plot(np.cos(angle), np.asarray(torque)[-1] * np.sin(angle), "--", color=FAINT, label="elliptic cone")
    axes.plot(force, torque, color=ink, linewidth=1.8, label="exact")
    rows = np.linspace(0, len(force) - 1, pushes).astype(int)
    pushed = jnp.stack([force[rows], jnp.zeros(pushes)], -1)
    slip, spin = surface.motion(pushed, torque[rows], jnp.ones(pushes))
    motion = np.stack([slip[:, 0], spin])
    axes.quiver(force[rows], torque[rows], *motion, color=INK, angles="xy", scale=5.0, width=0.006)
