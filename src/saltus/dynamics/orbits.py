"""Periodic orbits of flows with events, by Newton's method, and their multipliers."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus.dynamics.tangent import flow, state_of
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.state import pack


@dataclasses.dataclass(frozen=True)
class Orbit:
    """A periodic orbit.

    Args:
        start: A state on it.
        period: Its period [s].
        multipliers: Eigenvalues of the derivative of one turn, largest first: below one in size, it is stable.
        residual: How far one turn is from closing.
        steps: Newton steps that were taken.
    """

    start: State
    period: float
    multipliers: np.ndarray
    residual: float
    steps: int

    @property
    def stable(self) -> bool:
        """Whether all multipliers are below one in size."""
        return bool(np.max(np.abs(self.multipliers)) < 1.0)


def periodic_orbit(
    system: AbstractSystem,
    guess: State,
    *,
    period: float | None = None,
    events: int | None = None,
    horizon: float = 100.0,
    max_events: int = 16,
    max_steps: int = 256,
    tolerance: float = 1e-11,
    max_newton: int = 30,
    rtol: float = 1e-12,
    atol: float = 1e-14,
) -> Orbit:
    """The periodic orbit near a state.

    With `period`, a state that comes back after that time is sought: for systems that are driven with it. With
    `events`, one that comes back after so many events: for systems that do not know the time; the guess is then a
    state right after an event, and the period is part of the answer.

    Args:
        system: What moves.
        guess: A state near the orbit.
        period: Time after which it comes back [s].
        events: Number of events after which it comes back.
        horizon: With `events`: time within which they happen [s].
        max_events: With `period`: events within it at most.
        max_steps: Steps and events in one turn at most.
        tolerance: How well one turn must close, relative to the size of the state.
        max_newton: Newton steps at most.
        rtol: Error allowed per step, relative.
        atol: Error allowed per step, absolute.

    Raises:
        ValueError: If neither or both of `period` and `events` are given, or Newton's method does not get there.
    """
    if (period is None) == (events is None):
        raise ValueError("Give either `period`, for a system that is driven, or `events`, for one that is not.")
    bounds = (("max_events", events or max_events), ("max_steps", max_steps), ("rtol", rtol), ("atol", atol))
    x, t, mode = pack(guess), guess.t, guess.mode
    span = jnp.asarray(float(period if period is not None else horizon))
    for step in range(max_newton + 1):
        after, slope, duration, ok = _turn(system, guess, t, x, mode, span, events, bounds)
        if not bool(ok):
            raise ValueError("One turn does not come to its end within its bounds: raise them, or guess better.")
        residual = float(jnp.max(jnp.abs(after - x)))
        if residual <= tolerance * (1.0 + float(jnp.max(jnp.abs(x)))):
            values = np.linalg.eigvals(np.asarray(slope))
            order = np.argsort(-np.abs(values))
            return Orbit(state_of(guess, t, x, mode), float(duration), values[order], residual, step)
        # A motion that keeps something (energy) has no isolated orbit: the least step that closes it is taken.
        x = x + jnp.linalg.lstsq(jnp.eye(x.size) - slope, after - x, rcond=1e-9)[0]
    raise ValueError(f"Newton's method does not close the orbit: after {max_newton} steps it is {residual:.2g} off.")


@eqx.filter_jit
def _turn(system, like: State, t, x, mode, span, events: int | None, bounds):
    """The vector after one turn, its derivative, how long it took, and whether it came to its end."""
    place = (events or 1) - 1

    def return_map(x):
        run = flow(system, like, t, x, mode, t + span, **dict(bounds))
        last: State = run.end if events is None else jax.tree.map(lambda leaf: leaf[place], run.after)
        ok = run.complete if events is None else run.n_events >= events
        return pack(last), (pack(last), jnp.subtract(last.t, t), ok)

    slope, (after, duration, ok) = jax.jacfwd(return_map, has_aux=True)(x)
    return after, slope, duration, ok
