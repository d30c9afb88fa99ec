"""Bifurcation diagrams and basins of attraction: many runs at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saltus.engines.many import simulate_many
from saltus.hybrid import FunctionSystem, State
from saltus.hybrid.outcome import OUTCOMES

FAR = 1e6  # [s]; a run of a map is ended by its events
ALL_EVENTS = "too_many_events"  # outcome of a run that had as many events as were asked for


@dataclasses.dataclass(frozen=True)
class Diagram:
    """What is seen event after event, for each value of a parameter.

    Args:
        parameter: Name of the parameter.
        values: Its values.
        seen: What was asked for, after each of the events that are kept; NaN after a run has ended; (value, event).
        times: Times of these events [s]; NaN after a run has ended.
        outcomes: Why the run of each value ended; "too_many_events" where it had all the events asked for.
    """

    parameter: str
    values: np.ndarray
    seen: np.ndarray
    times: np.ndarray
    outcomes: np.ndarray

    @property
    def complete(self) -> np.ndarray:
        """Which values have all their events."""
        return self.outcomes == ALL_EVENTS

    def branches(self, tolerance: float = 1e-6) -> np.ndarray:
        """How many different values are seen for each parameter: the period in events, if it is small.

        0 where the run ended before its events were complete.
        """
        ordered = np.sort(self.seen, axis=1)
        return np.where(self.complete, 1 + (np.diff(ordered, axis=1) > tolerance).sum(axis=1), 0)


def bifurcation(
    system: FunctionSystem,
    parameter: str,
    values,
    see: Callable[[Any, Any, Any], Any],
    *,
    skip: int = 200,
    keep: int = 32,
    start: State | None = None,
    **options: Any,
) -> Diagram:
    """What a system settles into, for many values of one of its parameters.

    Args:
        system: A system made of functions, with parameters in a dict.
        parameter: Name of the one that varies.
        values: Its values.
        see: `see(t, y, p)`: the number to look at, right after each event.
        skip: Events before the first look.
        keep: How many looks are kept.
        start: The state at the beginning; the system's own if None.
        options: As for `hybrid.simulate_many` (tolerances, method, step).
    """
    values = np.asarray(values, float)
    given = {parameter: values}
    many = simulate_many(system, start or system.start(), FAR, parameters=given, max_events=skip, **options)
    outcomes, seen, times = many.outcomes, [], []
    look = jax.jit(jax.vmap(lambda s, value: see(s.t, system.tree(s), {**system.parameters, parameter: value})))
    for _ in range(keep):
        # A run that has ended must not go on from there: its events have no memory of what ended it.
        goes = outcomes == ALL_EVENTS
        until = np.where(goes, FAR, many.end.t)
        many = simulate_many(system, many.end, until, parameters=given, max_events=1, **options)
        outcomes = np.where(goes, many.outcomes, outcomes)
        goes = outcomes == ALL_EVENTS
        found = np.asarray(look(jax.tree.map(jnp.asarray, many.end), jnp.asarray(values)))
        seen.append(np.where(goes, found, np.nan))
        times.append(np.where(goes, many.end.t, np.nan))
    return Diagram(parameter, values, np.stack(seen, 1), np.stack(times, 1), outcomes)


def basins(
    system: FunctionSystem,
    grid: Mapping[str, Any],
    until: float,
    told: Callable[[Any, Any], Any],
    **options: Any,
) -> np.ndarray:
    """Where motions from a grid of starts end.

    Args:
        system: A system made of functions, with its state in a dict.
        grid: For two parts of the state the values that they take at the start.
        until: Time of the end [s].
        told: `told(t, y)`: a number for the end, such as which attractor it is.
        options: As for `hybrid.simulate_many`.

    Returns:
        The numbers, (first part, second part); NaN where a run did not get to its end.
    """
    if len(grid) != 2:
        raise ValueError(f"`grid` must name two parts of the state, got {list(grid)}.")
    (one, first), (two, second) = ((name, np.asarray(values, float)) for name, values in grid.items())
    a, b = (part.ravel() for part in np.meshgrid(first, second, indexing="ij"))
    starts = jax.vmap(lambda x, y: system.start({one: x, two: y}))(jnp.asarray(a), jnp.asarray(b))
    many = simulate_many(system, starts, until, **options)
    numbers = jax.vmap(lambda s: told(s.t, system.tree(s)))(jax.tree.map(jnp.asarray, many.end))
    arrived = [OUTCOMES[name] for name in many.outcomes]
    return np.where(arrived, numbers, np.nan).reshape(len(first), len(second))
