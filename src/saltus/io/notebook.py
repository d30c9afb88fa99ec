"""A run as a notebook shows it: what happened, and a small plot of its coordinates over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from saltus.hybrid import Events
from saltus.hybrid.tables import table

if TYPE_CHECKING:
    from saltus.hybrid import AbstractTrajectory, HybridSystem, Outcome

WIDTH, HEIGHT, MARGIN = 420, 110, 6
MAX_LINES, MAX_POINTS, MAX_EVENTS = 8, 400, 8
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F6000", "#999999")


def run_html(system: HybridSystem, trajectory: AbstractTrajectory, outcome: Outcome, wall_time: float) -> str:
    """The outcome, the first events, and a plot; nothing is computed for it."""
    start, end = float(trajectory.start.t), float(trajectory.end.t)
    rows = [
        ("outcome", f"{outcome.name}: {outcome.message}"),
        ("time", f"{start:g} to {end:.9g} s"),
        ("steps", str(trajectory.steps)),
        ("wall time", f"{wall_time:.3g} s"),
    ]
    events = Events(trajectory.events)
    few = Events(events[:MAX_EVENTS])._repr_html_()
    more = f"<p>and {len(events) - MAX_EVENTS} more events</p>" if len(events) > MAX_EVENTS else ""
    return f"{table(('run', system.kind), rows)}{plot(trajectory)}{few}{more}"


def plot(trajectory: AbstractTrajectory) -> str:
    """The coordinates at the accepted steps over time, each in its own scale, as SVG; events are thin lines."""
    times = np.asarray(trajectory.knots.t)
    span = times[-1] - times[0]
    if len(times) < 2 or not span > 0.0:
        return ""
    picked = np.unique(np.linspace(0, len(times) - 1, MAX_POINTS).astype(int))
    values = np.asarray(trajectory.knots.q).reshape(len(times), -1)[picked, :MAX_LINES]
    scale = (WIDTH - 2 * MARGIN) / span
    x = MARGIN + (times[picked] - times[0]) * scale
    happened = {round(MARGIN + (float(event.t) - times[0]) * scale, 1) for event in trajectory.events}
    marks = "".join(
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{HEIGHT}" stroke="#bbb" stroke-width="0.7"/>'
        for at in sorted(happened)
    )
    lines = "".join(_line(x, column, COLOURS[index % len(COLOURS)]) for index, column in enumerate(values.T))
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="coordinates over time">{marks}{lines}</svg>'
    )


def _line(x: np.ndarray, values: np.ndarray, colour: str) -> str:
    known = np.isfinite(values)
    if not known.any():
        return ""
    low, high = values[known].min(), values[known].max()
    scale = (high - low) or 1.0
    y = HEIGHT - MARGIN - (values - low) / scale * (HEIGHT - 2 * MARGIN)
    points = " ".join(f"{one:.1f},{two:.1f}" for one, two in zip(x[known], y[known], strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"/>'
