"""Many runs with constant steps: the flow by one program for all, searches and jumps by the code of single runs.

All lanes stay on the device, in arrays of one size; those that still go are packed together for each flow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saltus.engines.advance import Control, Status, crossed, search
from saltus.engines.batch import each, fired
from saltus.engines.flat import FlatSystem
from saltus.engines.kernel import Flowed, flow_lanes, lanes_program
from saltus.engines.lanewise import Watch
from saltus.engines.steppers import stepper
from saltus.hybrid import AbstractSystem, State

LOOKED, LOOKED_ON_CPU = 1 << 16, 256  # lanes that are looked into together: one size, so that little is compiled
LOOKS_PER_EVENT = 8  # looks after which a run is given up, for each event it may have


class Ends(eqx.Module):
    """Where many runs ended; each with a leading axis of lanes.

    Args:
        state: The last state.
        status: `Status`: `reached`, `event` (a guard ended it), `over` (it began beyond a border),
            `not_finite`, or `full` (too many events or steps).
        ended_by: Number of the guard that ended it, or -1.
        events: How many events there were.
        looks: How many steps were searched for one.
        steps: Steps taken by the kernel.
        t_event: Time of the last event, that of the start if there was none [s].
        largest: Largest values of what is watched, at the ends of steps and at events.
    """

    state: State
    status: Int[Array, " lanes"]
    ended_by: Int[Array, " lanes"]
    events: Int[Array, " lanes"]
    looks: Int[Array, " lanes"]
    steps: Int[Array, " lanes"]
    t_event: Float[Array, " lanes"]
    largest: Float[Array, "lanes k"]


def run_lanes(
    system: AbstractSystem,
    start: State,
    watch: Watch,
    *,
    until,
    step: float,
    goes=True,
    progress: Callable[[int], None] | None = None,
    max_events: int = 64,
    max_steps: int = 1 << 30,
    like: AbstractSystem | None = None,
    varying: tuple[bool, ...] | None = None,
    device: str | None = None,
) -> Ends:
    """Run every lane from its start to `until`, with constant steps of the classical Runge-Kutta method.

    Args:
        system: The systems, stacked.
        start: Their states at the same time, stacked.
        watch: `watch(system, state)`: what to keep the largest values of, 1-D.
        until: Time of the end, one for all or one for each [s].
        step: Length of a step [s].
        goes: Which lanes to run; the others stay where they are.
        progress: Called with the number of lanes that have ended since the last call.
        max_events: Events after which a run is given up.
        max_steps: Steps after which it is.
        like: One lane's system, whose numbers stand for those leaves that do not vary.
        varying: For each array leaf of `like` whether it differs between lanes; all if not given.
        device: As for `flow_lanes`.

    Raises:
        NotImplementedError: If the system, in whatever mode, cannot be written as operations on scalars.
    """
    for home in (True, False):  # now, whether or not a lane will leave mode 0: no lane's way may hang on the others
        lanes_program(system, start, like, varying, home, watch)
    zero = jnp.asarray(0.0)
    origin = float(np.asarray(start.t)[0])
    control = Control(zero, zero, jnp.asarray(float(step)), jnp.asarray(origin), fixed=True, project=False)
    count = start.t.shape[0]
    on_gpu = jax.default_backend() == "gpu"
    size = min(count, LOOKED if on_gpu else LOOKED_ON_CPU)
    none, until = jnp.zeros(count, jnp.int32), jnp.broadcast_to(jnp.asarray(until, float), (count,))
    status = none + jnp.where(jnp.asarray(goes), int(Status.going), int(Status.reached))
    now = Ends(start, status, none - 1, none, none, none, start.t, _watched(watch, system, start, not on_gpu))
    left = int((np.asarray(status) == Status.going).sum())
    while True:
        flowed = flow_lanes(
            system, now.state, now.status, now.largest, watch, until=until, step=step, origin=origin,
            max_steps=max_steps, like=like, varying=varying, device=device,
        )  # fmt: skip
        now, t_next = _moved(now, flowed, max_steps), flowed.t_next
        doubtful = np.flatnonzero(np.asarray(now.status) == Status.doubtful)
        if progress is not None:
            progress(left - doubtful.size)
            left = doubtful.size
        if not doubtful.size:
            return now
        for first in range(0, doubtful.size, size):
            which = np.resize(doubtful[first : first + size], size)  # filled up with repetitions: the same twice
            now = _looked(system, now, t_next, jnp.asarray(which), until, control, watch, max_events, not on_gpu)


@eqx.filter_jit
def _watched(watch: Watch, system, state, one_by_one: bool):
    arrays, rest = eqx.partition(system, eqx.is_array)
    return each(lambda one: jnp.nan_to_num(watch(eqx.combine(one[0], rest), one[1])), (arrays, state), one_by_one)


@eqx.filter_jit
def _moved(before: Ends, flowed: Flowed, max_steps: int) -> Ends:
    steps = before.steps + flowed.steps
    given_up = (flowed.status == Status.going) | ((flowed.status == Status.doubtful) & (steps >= max_steps))
    status = jnp.where(given_up, int(Status.full), flowed.status)
    return dataclasses.replace(before, state=flowed.state, status=status, steps=steps, largest=flowed.largest)


@eqx.filter_jit
def _looked(
    system, now: Ends, t_next, which, until, control: Control, watch: Watch, max_events: int, one_by_one: bool
) -> Ends:
    """The doubtful lanes after the step that is looked into, and the jumps in it."""
    arrays, rest = eqx.partition(system, eqx.is_array)

    def one(lane):
        numbers, ends, t_next, until = lane
        return _look(eqx.combine(numbers, rest), ends, t_next, until, control, watch, max_events, one_by_one)

    after = each(one, jax.tree.map(lambda x: x[which], (arrays, now, t_next, until)), one_by_one)
    return jax.tree.map(lambda x, y: x.at[which].set(y.astype(x.dtype)), now, after)


def _look(
    system: AbstractSystem, now: Ends, t_next, until, control: Control, watch: Watch, max_events: int, one_by_one: bool
) -> Ends:
    """The search in one short step of one lane, and the jumps that are due."""
    flat = FlatSystem(system, now.state)
    beyond, over = crossed(flat.armed(), flat.marks().border, flat.guards(now.state.t, flat.vector(now.state)))
    found = search(system, now.state, t_next, stepper("rk4"), control)
    finite = jnp.isfinite(flat.vector(found.state)).all()
    stays = beyond | ~finite
    found = eqx.tree_at(
        lambda f: (f.state, f.event), found,
        (jax.tree.map(lambda x, y: jnp.where(stays, x, y), now.state, found.state), found.event & ~stays),
    )  # fmt: skip
    seen = jnp.maximum(now.largest, jnp.nan_to_num(watch(system, found.state)))
    state, ended_by, count, seen = fired(system, found, seen, watch, one_by_one)
    events, looks = now.events + count, now.looks + 1
    status = jnp.where(state.t >= until, int(Status.reached), int(Status.going))
    given_up = (status == Status.going) & ((events >= max_events) | (looks >= LOOKS_PER_EVENT * max_events))
    status = jnp.where(given_up, int(Status.full), status)
    status = jnp.where(ended_by >= 0, int(Status.event), status)
    status = jnp.where(finite, status, int(Status.not_finite))
    status = jnp.where(beyond, int(Status.over), status)
    ended_by = jnp.where(beyond, found.owner[over], ended_by)
    t_event = jnp.where(found.event, state.t, now.t_event)
    return Ends(state, status, ended_by, events, looks, now.steps, t_event, seen)
