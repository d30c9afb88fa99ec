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

FAR = 1e6  # [s]; a run of a map is ended by its events


@dataclasses.dataclass(frozen=True)
class Diagram:
    """What is seen event after event, for each value of a parameter.

    Args:
        parameter: Name of the parameter.
        values: Its values.
        seen: What was asked for, after each of the events that are kept; (value, event).
        times: Times of these events [s].
        complete: Which values were run to the end.
    """

    parameter: str
    values: np.ndarray
    seen: np.ndarray
    times: np.ndarray
    complete: np.ndarray

    def branches(self, tolerance: float = 1e-6) -> np.ndarray:
        """How many different values are seen for each parameter: the period in events, if it is small."""
        ordered = np.sort(self.seen, axis=1)
        return 1 + (np.diff(ordered, axis=1) > tolerance).sum(axis=1)


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
    state = system.start() if start is None else start
    given = {parameter: values}
    many = simulate_many(system, state, FAR, parameters=given, max_events=skip, **options)
    seen, times = [], []
    look = jax.jit(jax.vmap(lambda s, value: see(s.t, system.tree(s), {**system.parameters, parameter: value})))
    complete = many.outcomes == "too_many_events"
    for _ in range(keep):
        many = simulate_many(system, many.end, FAR, parameters=given, max_events=1, **options)
        complete &= many.outcomes == "too_many_events"
        seen.append(np.asarray(look(jax.tree.map(jnp.asarray, many.end), jnp.asarray(values))))
        times.append(np.asarray(many.end.t))
    return Diagram(parameter, values, np.stack(seen, 1), np.stack(times, 1), complete)


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
        The numbers, (first part, second part).
    """
    if len(grid) != 2:
        raise ValueError(f"`grid` must name two parts of the state, got {list(grid)}.")
    (one, first), (two, second) = ((name, np.asarray(values, float)) for name, values in grid.items())
    a, b = (part.ravel() for part in np.meshgrid(first, second, indexing="ij"))
    starts = jax.vmap(lambda x, y: system.start({one: x, two: y}))(jnp.asarray(a), jnp.asarray(b))
    many = simulate_many(system, starts, until, **options)
    numbers = jax.vmap(lambda s: told(s.t, system.tree(s)))(jax.tree.map(jnp.asarray, many.end))
    return np.asarray(numbers).reshape(len(first), len(second))
