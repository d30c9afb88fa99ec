"""Lyapunov exponents of flows with events."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from saltus import checks
from saltus.dynamics.tangent import with_derivative
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.state import pack


@dataclasses.dataclass(frozen=True)
class Spectrum:
    """Lyapunov exponents, largest first.

    Args:
        exponents: Mean growth rates of the axes of a small ball of states [1/s].
        errors: One standard error of each, from the scatter of its windows taken in ten groups [1/s].
        growth: Growth of each axis in each window [1]; (window, axis).
        window: Length of a window [s].
        end: The last state, to go on from.
        complete: Whether every window was run to its end within its bounds.
    """

    exponents: np.ndarray
    errors: np.ndarray
    growth: np.ndarray
    window: float
    end: State
    complete: bool

    @property
    def total(self) -> float:
        """The sum of the exponents: rate at which volume of states grows [1/s]."""
        return float(np.sum(self.exponents))


def lyapunov(
    system: AbstractSystem,
    start: State,
    *,
    windows: int,
    window: float,
    discard: int = 0,
    max_events: int = 16,
    max_steps: int = 128,
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> Spectrum:
    """The Lyapunov spectrum along one motion, by the derivative of the flow through its events.

    The run goes in windows; in each the derivative of the end by the start is taken, with the saltation at each
    event, and the axes are made orthogonal again (QR). All windows use one compiled program. Accuracy is
    that of the mean over a chaotic motion: the error falls with the root of the time, see `errors`.

    Args:
        system: What moves.
        start: Its state at the beginning.
        windows: How many windows are averaged.
        window: Length of a window [s]; short enough for derivatives not to overflow, a few events long.
        discard: Windows before those, for the motion to settle and the axes to turn.
        max_events: Events in a window at most.
        max_steps: Steps and events in a window at most.
        rtol: Error allowed per step, relative.
        atol: Error allowed per step, absolute.
    """
    checks.positive("window", window)
    bounds = {"max_events": max_events, "max_steps": max_steps, "rtol": rtol, "atol": atol}
    growth, end, complete = _along(system, start, float(window), windows + discard, bounds)
    growth = growth[discard:]
    groups = np.array([part.mean(axis=0) for part in np.array_split(growth, min(10, len(growth)))])
    mean = growth.mean(axis=0) / window
    scatter = (
        groups.std(axis=0, ddof=1) / np.sqrt(len(groups)) / window if len(groups) > 1 else np.full_like(mean, np.nan)
    )
    order = np.argsort(-mean)
    return Spectrum(mean[order], scatter[order], growth[:, order], float(window), end, complete)


def _along(system: AbstractSystem, start: State, window: float, windows: int, bounds: dict):
    """Growth of each axis in each window, the last state, and whether all windows were complete.

    The axes are made orthogonal by NumPy, between two calls of one program: compiled for a CPU, a loop that holds the
    QR of LAPACK beside other loops did not find it ("No registered implementation for untyped custom call").
    """
    state, axes, growth, complete = start, np.eye(pack(start).size), [], True
    for _ in range(windows):
        state, slope, whole = _window(system, state, jnp.asarray(window), tuple(bounds.items()))
        axes, stretch = np.linalg.qr(np.asarray(slope) @ axes)
        growth.append(np.log(np.abs(np.diagonal(stretch))))
        complete = complete and bool(whole)
    return np.array(growth), state, complete


@eqx.filter_jit
def _window(system: AbstractSystem, state: State, window, bounds: tuple):
    """The state after a window, its derivative by the state before, and whether the window is complete."""
    vector, until = pack(state), state.t + window
    run, slope = with_derivative(system, state, state.t, vector, state.mode, until, **dict(bounds))
    return run.end, slope, run.complete
