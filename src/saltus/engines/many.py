"""Many runs of one system from Python: other starts, other parameters, the last states."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus.engines import batch
from saltus.engines.choice import Options, parts_for
from saltus.engines.trial import Status
from saltus.hybrid import AbstractSystem, FunctionSystem, State


@dataclasses.dataclass(frozen=True)
class ManyRuns:
    """The ends of many runs; every array has the runs as its first axis.

    Args:
        end: The last states.
        n_events: How many events each run had.
        n_steps: How many steps were tried.
        last_event: Time of the last event [s]; the time of the start where there was none.
        outcomes: Name of the outcome of each; "too_many_events" where a bound on events or steps was met.
    """

    end: State
    n_events: np.ndarray
    n_steps: np.ndarray
    last_event: np.ndarray
    outcomes: np.ndarray


def simulate_many(
    system: AbstractSystem,
    start: State,
    until: float | np.ndarray,
    *,
    parameters: Mapping[str, Any] | None = None,
    method: str | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    step: float | None = None,
    max_events: int = 10_000,
    max_steps: int = 1_000_000,
) -> ManyRuns:
    """Let many runs of one system go to their ends, on whatever device JAX computes.

    What a run gives depends neither on its place nor on its neighbours.

    Args:
        system: What moves.
        start: The states at the beginning, stacked (`jax.vmap` over `system.start` makes them); or one for all.
        until: Time of the end [s]; one for all, or one for each.
        parameters: For a system made of functions with parameters in a dict: those that differ from run to run, each
            with the runs as its first axis.
        method: As in `simulate`.
        rtol: Error allowed per step, relative.
        atol: Error allowed per step, absolute.
        step: Constant step [s], for a method without an error estimate.
        max_events: Events after which a run is ended.
        max_steps: Steps after which a run is ended.
    """
    count = _count(start, until, parameters)
    stacked = np.ndim(start.t) > 0
    start = jax.tree.map(
        lambda x: np.asarray(x) if stacked else np.broadcast_to(np.asarray(x), (count, *np.shape(x))), start
    )
    options = Options(method, rtol, atol, step)
    system, rule, control = parts_for(system, options, float(np.min(start.t)))
    varying, shared = _partition(system, parameters or {}, count)
    settings = batch.BatchSettings(rule, control, _nothing, max_events, max_steps)
    lanes = batch.run(varying, shared, start, until, settings)
    counts = np.asarray(lanes.events), np.asarray(lanes.steps), np.asarray(lanes.t_event)
    return ManyRuns(lanes.state, *counts, _outcomes(system, lanes))


def _nothing(system, state, *seen):
    """No quantity is watched: no largest values are kept."""
    return jnp.zeros(0)


def _count(start: State, until, parameters) -> int:
    """How many runs there are; `ValueError` where the lengths differ."""
    lengths = {"start": np.shape(start.t)[:1], "until": np.shape(until)[:1]}
    lengths |= {f"parameters[{name!r}]": np.shape(value)[:1] for name, value in (parameters or {}).items()}
    found = {name: length[0] for name, length in lengths.items() if length}
    if not found:
        raise ValueError("There is nothing to run many times: give stacked starts, several ends or stacked parameters.")
    if len(set(found.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in found.items())
        raise ValueError(f"The numbers of runs differ: {told}.")
    return next(iter(found.values()))


def _partition(system: AbstractSystem, parameters: Mapping[str, Any], count: int) -> tuple[Any, Any]:
    """The system's numbers that differ, stacked, and the rest."""
    if not parameters:
        return eqx.filter(system, False), system
    if not isinstance(system, FunctionSystem) or not isinstance(system.parameters, dict):
        raise TypeError("`parameters` needs a system made of functions (`hybrid.system`) with parameters in a dict.")
    stacked = system.with_parameters({name: jnp.asarray(value, float) for name, value in parameters.items()})
    for name in parameters:
        leaf = np.shape(system.parameters[name])
        if np.shape(stacked.parameters[name]) != (count, *leaf):
            raise ValueError(f"`parameters[{name!r}]` must have shape {(count, *leaf)}.")
    differs = jax.tree.map(lambda leaf: False, system)
    differs = eqx.tree_at(
        lambda tree: [tree.parameters[name] for name in parameters], differs, [True] * len(parameters)
    )
    varying, _ = eqx.partition(stacked, differs)
    _, shared = eqx.partition(system, differs)
    return jax.tree.map(np.asarray, varying), shared


def _outcomes(system: AbstractSystem, lanes) -> np.ndarray:
    """The name of each run's outcome: of the guard that ended it, else of the limit that it met."""
    names = np.full(len(lanes.number), "finished", dtype=object)
    told = {Status.full: "too_many_events"}
    told |= {status: status.name for status in (Status.stalled, Status.not_finite, Status.accumulation)}
    for status, name in told.items():
        names[lanes.status == status] = name
    for number, guard in enumerate(system.guards()):
        names[lanes.ended_by == number] = guard.ends or "finished"
    return names.astype(str)
