"""Figures of long-time dynamics: diagrams, sections, basins, and how exponents settle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from saltus.views.style import COLOURS, INK, colour, in_house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from saltus.dynamics import Diagram, Orbit, Spectrum
    from saltus.hybrid import State


@in_house_style
def diagram(found: Diagram, seen: str = "seen after an event") -> Figure:
    """A bifurcation diagram: what is seen, over the parameter."""
    drawing = new_figure(6.4, 3.6)
    axes = drawing.subplots()
    values = np.repeat(found.values, found.seen.shape[1])
    axes.plot(values, found.seen.ravel(), ".", markersize=2.0, markeredgewidth=0.0, color=INK, alpha=0.8)
    axes.set_xlabel(found.parameter)
    axes.set_ylabel(seen)
    return drawing


@in_house_style
def section(states: State, names: Sequence[str], parts: tuple[int, int] = (0, 1)) -> Figure:
    """A Poincaré section: two numbers of the states at the events of a guard."""
    drawing = new_figure(4.4, 4.0)
    axes = drawing.subplots()
    flat = np.asarray(states.q).reshape(len(states.t), -1)
    flat = np.concatenate([flat, np.asarray(states.v).reshape(len(states.t), -1)], axis=1)
    axes.plot(flat[:, parts[0]], flat[:, parts[1]], ".", markersize=2.0, color=colour(0))
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    return drawing


@in_house_style
def orbit(found: Orbit, states: State, names: Sequence[str], parts: tuple[int, int] = (0, 1)) -> Figure:
    """A periodic orbit: two numbers of the states along one turn, and the multipliers with the unit circle.

    Args:
        found: The orbit.
        states: States along it, as of `run.states(times)` of a run from its start over one period.
        names: What the two numbers are, for the axes.
        parts: Which numbers, counted through configuration and velocity.
    """
    drawing = new_figure(7.2, 3.4)
    loop, plane = drawing.subplots(1, 2)
    flat = [np.asarray(part).reshape(len(states.t), -1) for part in (states.q, states.v)]
    one, two = np.concatenate(flat, axis=1)[:, list(parts)].T
    loop.plot(one, two, color=colour(0))
    loop.set_xlabel(names[0])
    loop.set_ylabel(names[1])
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    plane.plot(np.cos(turn), np.sin(turn), color=INK, linewidth=0.6)
    plane.plot(np.real(found.multipliers), np.imag(found.multipliers), "o", color=colour(1))
    plane.set_aspect("equal", adjustable="datalim")
    plane.set_xlabel("multiplier, real part")
    plane.set_ylabel("imaginary part")
    plane.set_title(f"period {found.period:.4g} s", fontsize="medium")
    return drawing


@in_house_style
def spectrum(found: Spectrum) -> Figure:
    """How the mean growth of each axis settles with the time."""
    drawing = new_figure(6.4, 3.2)
    axes = drawing.subplots()
    count = np.arange(1, len(found.growth) + 1)
    means = np.cumsum(found.growth, axis=0) / count[:, None] / found.window
    for k, line in enumerate(means.T):
        axes.plot(count * found.window, line, color=colour(k), label=f"{found.exponents[k]:.4g} 1/s")
    axes.axhline(0.0, color=INK, linewidth=0.6)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("exponent [1/s]")
    axes.legend(loc="upper right")
    return drawing


@in_house_style
def basins(found: np.ndarray, grid: dict[str, Sequence[float]]) -> Figure:
    """Which end each start leads to."""
    from matplotlib.colors import ListedColormap

    drawing = new_figure(4.8, 4.2)
    axes = drawing.subplots()
    (one, first), (two, second) = grid.items()
    ends, numbers = np.unique(found, return_inverse=True)
    extent = (first[0], first[-1], second[0], second[-1])
    chosen = ListedColormap([COLOURS[k % len(COLOURS)] for k in range(len(ends))])
    axes.imshow(numbers.reshape(found.shape).T, origin="lower", extent=extent, aspect="auto", cmap=chosen)
    axes.set_xlabel(one)
    axes.set_ylabel(two)
    return drawing
