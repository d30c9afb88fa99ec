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

from saltus.engines.accumulation import PileUp
from saltus.engines.advance import beyond_border
from saltus.engines.batch_lane import Lanes, each, flow_one, search_lane
from saltus.engines.flat import FlatSystem, Watch
from saltus.engines.kernel import LaneFlow, flow_lanes, lanes_program
from saltus.engines.signs import Signs
from saltus.engines.step_control import AbstractSteps, ConstantSteps
from saltus.engines.steppers import stepper
from saltus.engines.trial import Pace, Status
from saltus.hybrid import AbstractSystem, State

LOOKED, LOOKED_ON_CPU = 1 << 16, 256  # lanes that are looked into together: one size, so that little is compiled
CAREFUL = 64  # steps after a jump that are taken outside the kernel while a guard that has fired does not rise
LOOKS_PER_EVENT = 8  # looks after which a run is given up, for each event it may have


def run_lanes(
    system: AbstractSystem,
    start: State,
    watch: Watch,
    *,
    until,
    step: float,
    goes: np.ndarray | bool = True,
    progress: Callable[[int], None] | None = None,
    max_events: int = 64,
    max_steps: int = 1 << 30,
    like: AbstractSystem | None = None,
    varying: tuple[bool, ...] | None = None,
    device: str | None = None,
) -> Lanes:
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
        CannotScalariseError: If the system, in whatever mode, cannot be written as operations on scalars.
    """
    # Both programs now, also that for lanes outside mode 0: whether it can be written decides on the path of all lanes,
    # which must not depend on whether one of them leaves the mode.
    for home in (True, False):
        lanes_program(system, start, like, varying, home, watch)
    origin = float(np.asarray(start.t)[0])
    control = ConstantSteps(jnp.asarray(float(step)), jnp.asarray(origin))
    count = start.t.shape[0]
    on_gpu = jax.default_backend() == "gpu"
    size = min(count, LOOKED if on_gpu else LOOKED_ON_CPU)
    until = jnp.broadcast_to(jnp.asarray(until, float), (count,))
    now = _begin(system, start, until, jnp.broadcast_to(jnp.asarray(goes), (count,)), watch, not on_gpu)
    looks = np.zeros(count, int)
    left = int((np.asarray(now.status) == Status.going).sum())
    while True:
        flowed = flow_lanes(
            system, now.state, now.status, now.largest, watch, until=until, step=step, origin=origin,
            max_steps=max_steps, like=like, varying=varying, device=device,
        )  # fmt: skip
        now = _accept_flow(now, flowed, max_steps)
        doubtful = np.flatnonzero(np.asarray(now.status) == Status.doubtful)
        if progress is not None:
            progress(left - doubtful.size)
            left = doubtful.size
        if not doubtful.size:
            return now
        looks[doubtful] += 1
        given_up = looks > LOOKS_PER_EVENT * max_events
        for first in range(0, doubtful.size, size):
            which = np.resize(doubtful[first : first + size], size)  # filled up with repetitions: the same twice
            now = _search(now, system, jnp.asarray(which), control, watch, max_events, not on_gpu)
        if given_up[doubtful].any():
            going = jnp.asarray(given_up) & (now.status <= Status.doubtful) & (now.status != Status.reached)
            now = dataclasses.replace(now, status=jnp.where(going, int(Status.full), now.status))


@eqx.filter_jit
def _begin(system, start: State, until, goes, watch: Watch, one_by_one: bool) -> Lanes:
    """The lanes before their first step, with the signs of their guards; over, where one begins beyond a border."""
    arrays, rest = eqx.partition(system, eqx.is_array)

    def one(lane):
        arrays, state = lane
        system = eqx.combine(arrays, rest)
        flat = FlatSystem(system, state)
        g = flat.guards(state.t, flat.vector(state))
        beyond, over = beyond_border(flat.armed(), flat.marks().border, g)
        signs, pile_up = Signs(g, jnp.zeros(g.size, bool)), PileUp.empty(g.size)
        by = jnp.where(beyond, flat.guard_numbers()[0][over], -1) if g.size else jnp.asarray(-1)
        return by, jnp.nan_to_num(watch(system, state)), signs, pile_up

    by, peaks, signs, pile_up = each(one, (arrays, start), one_by_one)
    none = jnp.zeros(start.t.shape, jnp.int32)
    status = jnp.where(by >= 0, int(Status.over), int(Status.going))
    status = jnp.where(goes, status, int(Status.reached)).astype(jnp.int32)
    by = jnp.where(goes, by, -1).astype(jnp.int32)
    return Lanes(
        jnp.arange(none.size), arrays, start, until, Pace.unknown(start.t), status, start.t, by, none, none, start.t,
        peaks, signs, pile_up,
    )  # fmt: skip


@eqx.filter_jit
def _accept_flow(before: Lanes, flowed: LaneFlow, max_steps: int) -> Lanes:
    """The lanes after a flow, in which no guard has passed zero."""
    steps = before.steps + flowed.steps
    went = before.status == Status.going
    given_up = (flowed.status == Status.going) | ((flowed.status == Status.doubtful) & (steps >= max_steps))
    status = jnp.where(given_up, int(Status.full), flowed.status)
    signs = jax.tree.map(lambda p, q: jnp.where(went[:, None], p, q), before.signs.after_flow(), before.signs)
    return dataclasses.replace(
        before, signs=signs, state=flowed.state, status=status, steps=steps, largest=flowed.largest,
        t_next=jnp.where(went, flowed.t_next, before.t_next),
    )  # fmt: skip


@eqx.filter_jit
def _search(
    now: Lanes, system, which, control: AbstractSteps, watch: Watch, max_events: int, one_by_one: bool
) -> Lanes:
    """The doubtful lanes after the step that is looked into, and the jumps in it."""
    rest, method = eqx.filter(system, eqx.is_array, inverse=True), stepper("rk4")

    def careful(lane):
        lane = flow_one(lane, rest, control, method, watch, CAREFUL, unrisen=True)
        armed = FlatSystem(eqx.combine(lane.varying, rest), lane.state).armed()
        waits = (lane.status == Status.going) & (lane.signs.fired & armed).any()
        return dataclasses.replace(lane, status=jnp.where(waits, Status.full, lane.status))

    def one(lane):
        before = lane.events
        lane = search_lane(lane, rest, control, method, watch, max_events, one_by_one)
        # After a jump the kernel knows nothing of the guards' signs: the next step is taken here.
        fires = (lane.events > before) | lane.signs.fired.any()
        return jax.lax.cond(fires & (lane.status == Status.going), careful, lambda lane: lane, lane)

    after = each(one, jax.tree.map(lambda x: x[which], now), one_by_one)
    return jax.tree.map(lambda x, y: x.at[which].set(y.astype(x.dtype)), now, after)
