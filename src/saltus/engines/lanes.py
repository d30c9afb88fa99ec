"""Many runs with constant steps: the flow by a kernel, searches and jumps by the code of single runs.

All lanes stay on the device, in arrays of one size; those that still go are packed together for each flow.
"""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saltus import checks
from saltus.engines.advance import Control, Searched, Status, flow, search, target
from saltus.engines.batch import carefully, fired
from saltus.engines.kernel import flow_lanes
from saltus.engines.lanewise import Watch
from saltus.engines.loop import same_types
from saltus.engines.steppers import METHODS, stepper
from saltus.hybrid import AbstractSystem, State

LOOKED, LOOKED_ON_CPU = 1 << 16, 256  # lanes that are looked into together: one size, so that little is compiled


class Ends(eqx.Module):
    """Where many runs ended; each with a leading axis of lanes.

    Args:
        state: The last state.
        status: `Status`: `reached`, `event` (a guard ended it), `over` (it began beyond a border),
            `not_finite`, `stalled`, or `full` (too many events).
        ended_by: Number of the guard that ended it, or -1.
        events: How many events there were.
        steps: Constant steps taken by the kernel.
        largest: Largest values of what is watched, at the ends of steps and at events.
    """

    state: State
    status: Int[Array, " lanes"]
    ended_by: Int[Array, " lanes"]
    events: Int[Array, " lanes"]
    steps: Int[Array, " lanes"]
    largest: Float[Array, "lanes k"]


def run_lanes(
    system: AbstractSystem,
    start: State,
    watch: Watch,
    *,
    until: float,
    step: float,
    max_events: int = 64,
    like: AbstractSystem | None = None,
    varying: tuple[bool, ...] | None = None,
    careful: str = "rk4",
    device: str | None = None,
) -> Ends:
    """Run every lane from its start to `until`, with constant steps of the classical Runge-Kutta method.

    Args:
        system: The systems, stacked.
        start: Their states at the same time, stacked.
        watch: `watch(system, state)`: what to keep the largest values of, 1-D.
        until: Time of the end [s].
        step: Length of a step [s].
        max_events: Events after which a run is given up.
        like: One lane's system, whose numbers stand for those leaves that do not vary.
        varying: For each array leaf of `like` whether it differs between lanes; all if not given.
        careful: Method for steps that may hold an event. "rk4" does what `FixedStep` does; an adaptive one
            ("dopri8") follows a mass to its stop, where friction turns faster than constant steps can see.
        device: As for `flow_lanes`.
    """
    checks.one_of("careful", careful, METHODS)
    zero = jnp.asarray(0.0)
    origin = float(np.asarray(start.t)[0])
    control = Control(zero, zero, jnp.asarray(float(step)), jnp.asarray(origin), fixed=True, project=False)
    count = start.t.shape[0]
    size = min(count, LOOKED if jax.default_backend() == "gpu" else LOOKED_ON_CPU)
    none = jnp.zeros(count, jnp.int32)
    now = Ends(start, none + int(Status.going), none - 1, none, none, _watched(watch, system, start))
    while True:
        flowed = flow_lanes(
            system, now.state, now.status, now.largest, watch, until=until, step=step, origin=origin, like=like,
            varying=varying, device=device,
        )  # fmt: skip
        now = Ends(flowed.state, flowed.status, now.ended_by, now.events, now.steps + flowed.steps, flowed.largest)
        doubtful = np.flatnonzero(np.asarray(now.status) == Status.doubtful)
        if not doubtful.size:
            return now
        for first in range(0, doubtful.size, size):
            which = np.resize(doubtful[first : first + size], size)  # filled up with repetitions: the same twice
            now = _looked(
                system, now, jnp.asarray(which), jnp.asarray(float(until)), control, watch, max_events, careful
            )


@eqx.filter_jit
def _watched(watch: Watch, system, state):
    return jnp.nan_to_num(eqx.filter_vmap(watch)(system, state))


@eqx.filter_jit
def _looked(system, now: Ends, which, until, control: Control, watch: Watch, max_events: int, careful: str) -> Ends:
    """The doubtful lanes after the step that is looked into, and the jumps in it."""
    some, ends = jax.tree.map(lambda x: x[which] if eqx.is_array(x) else x, (system, now))
    look = functools.partial(
        _look, until=until, control=control, watch=watch, max_events=max_events, careful=careful
    )  # fmt: skip
    after = eqx.filter_vmap(look)(some, ends)
    return jax.tree.map(lambda x, y: x.at[which].set(y.astype(x.dtype)), now, after)


class _Careful(eqx.Module):
    """What a step looked into came to: the state at its end or at its event, and why it ended."""

    state: State
    status: Int[Array, ""]
    over: Int[Array, ""]
    found: Searched
    steps: Int[Array, ""]


def _same_method(system: AbstractSystem, state: State, until, control: Control) -> _Careful:
    """One constant step, searched if it may hold an event."""
    method = stepper("rk4")
    # A record of one step: the flow comes back after it, or before it if there may be an event in it.
    went = flow(system, state, jnp.asarray(0.0), until, method, control, 1)
    doubtful = went.status == Status.doubtful
    found = search(system, went.state, jnp.where(doubtful, went.t_next, went.state.t), method, control)
    state = jax.tree.map(lambda x, y: jnp.where(doubtful, x, y), found.state, went.state)
    status = jnp.where(doubtful & found.event, Status.event, jnp.where(doubtful, Status.going, went.status))
    return _Careful(state, status, found.owner[went.over], found, went.count)


def _adaptive(system: AbstractSystem, state: State, until, control: Control, careful: str) -> _Careful:
    """Adaptive steps to the end of the constant one, or to an event."""
    end = target(control, state.t, control.step, until)
    went, found = carefully(system, state, end, careful)
    return _Careful(went.state, went.status, found.owner[went.over], found, jnp.asarray(0))


def _look(
    system: AbstractSystem, now: Ends, until, control: Control, watch: Watch, max_events: int, careful: str
) -> Ends:
    """One careful step of one lane, with the jumps that are due."""
    if careful == "rk4":
        looked = _same_method(system, now.state, until, control)
    else:
        looked = _adaptive(system, now.state, until, control, careful)
    found, event = looked.found, looked.status == Status.event
    seen = jnp.maximum(now.largest, jnp.nan_to_num(watch(system, looked.state)))
    found = eqx.tree_at(lambda f: (f.state, f.event), found, (same_types(now.state, looked.state), event))
    state, ended_by, count, seen = fired(system, found, seen, watch)
    events = now.events + count
    over = looked.status == Status.over
    stopped = over | (looked.status == Status.not_finite) | (looked.status == Status.stalled)
    ended_by = jnp.where(over, looked.over, ended_by)
    status = jnp.where(stopped, looked.status, jnp.where(state.t >= until, Status.reached, Status.going))
    status = jnp.where(event & (ended_by >= 0), Status.event, status)
    status = jnp.where((status == Status.going) & (events >= max_events), Status.full, status)
    return Ends(state, status, ended_by, events, now.steps + looked.steps, seen)
