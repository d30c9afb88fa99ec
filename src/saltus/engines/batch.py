"""Many runs of one system at once: the same steps, searches and jumps as a single run, under `vmap`.

The runs travel in blocks of a fixed number of lanes. A lane that ends, or that has an event to look at,
makes room for another, so that none waits for the slowest. What a run gives does not depend on its lane,
nor on its neighbours.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.advance import EPS, Control, Status, _Carry, _one_step, search
from saltus.engines.flat import FlatSystem
from saltus.engines.loop import FOREVER, _same_types
from saltus.engines.steppers import ExplicitStepper, ImplicitStepper
from saltus.hybrid import AbstractSystem, State

Scalar = Float[Array, ""]
Watch = Callable[[AbstractSystem, State], Float[Array, " k"]]

LANES = 256  # runs in a block: enough to fill the vector units, few enough to stay in the cache
PATIENCE = 32  # steps between two looks at who has ended
DUE_AT_ONCE = 8  # jumps at one instant


class Lane(eqx.Module):
    """One run on its way.

    Args:
        number: Which run it is.
        system: Its system.
        state: Where it is.
        h: Step to try next [s].
        status: `Status` of its flow.
        t_next: End of the step to look into, if the status says so [s].
        ended_by: Number of the guard that ended it, or -1.
        events: How many events it had.
        t_event: Time of the last one [s].
        largest: Largest values so far of what is watched.
    """

    number: Int[Array, ""]
    system: AbstractSystem
    state: State
    h: Scalar
    status: Int[Array, ""]
    t_next: Scalar
    ended_by: Int[Array, ""]
    events: Int[Array, ""]
    t_event: Scalar
    largest: Float[Array, " k"]


@dataclasses.dataclass(frozen=True)
class Plan:
    """What all runs of a batch have in common.

    Args:
        until: Time of the end [s].
        stepper: The method.
        control: How long steps are.
        watch: What to keep the largest values of.
        max_events: Events after which a run is left to the single-run engine.
    """

    until: float
    stepper: ExplicitStepper | ImplicitStepper
    control: Control
    watch: Watch
    max_events: int = 64

    def __hash__(self):
        return hash((self.stepper, self.control.fixed, self.control.project, self.watch, self.max_events))


def lanes(system: AbstractSystem, start: State, numbers, plan: Plan) -> Lane:
    """Runs at their beginning; `system` and `start` are stacked."""

    def one(number, system, state):
        state = _same_types(state, state)
        return Lane(
            number, system, state, jnp.asarray(0.0), jnp.asarray(Status.going), state.t, jnp.asarray(-1),
            jnp.asarray(0), state.t, jnp.nan_to_num(plan.watch(system, state)),
        )  # fmt: skip

    return eqx.filter_jit(eqx.filter_vmap(one))(jnp.asarray(numbers), system, start)


def run(begin: Callable[[int, int], Lane], count: int, plan: Plan, done: Callable[[Lane], None], block: int = LANES):
    """Let `count` runs go to their ends.

    Args:
        begin: `begin(first, last)`: the lanes of these runs at their beginning.
        count: How many runs there are.
        plan: What they have in common.
        done: Called with lanes that have ended, as numpy arrays, in any order.
        block: How many travel together.
    """
    going, looking, fresh = _Queue(block), _Queue(block), 0
    while True:
        while going.size < block and fresh < count:
            last = min(fresh + block, count)
            going.add(begin(fresh, last))
            fresh = last
        if going.size >= block or (going.size and not looking.size):
            moved = _flow_block(going.take(), plan.until, plan.control, _Static(plan))
        elif looking.size:
            moved = _jump_block(looking.take(), plan.control, _Static(plan))
        else:
            return
        moved = jax.tree.map(np.asarray, moved)
        status = moved.status
        for queue, wanted in ((going, status == Status.going), (looking, status == Status.doubtful)):
            if wanted.any():
                queue.add(_rows(moved, wanted))
        ended = (status != Status.going) & (status != Status.doubtful) & (moved.number >= 0)
        if ended.any():
            done(_rows(moved, ended))


class _Queue:
    """Lanes that wait for the same treatment; taken in blocks of one size, filled up with idle ones."""

    def __init__(self, block: int):
        self.block, self.size, self._parts = block, 0, []

    def add(self, some: Lane) -> None:
        self._parts.append(jax.tree.map(np.asarray, some))
        self.size += some.number.shape[0]

    def take(self) -> Lane:
        waiting = jax.tree.map(lambda *x: np.concatenate(x), *self._parts)
        now, later = (
            jax.tree.map(lambda x: x[: self.block], waiting),
            jax.tree.map(lambda x: x[self.block :], waiting),
        )
        self._parts, self.size = ([later], later.number.shape[0]) if later.number.shape[0] else ([], 0)
        missing = self.block - now.number.shape[0]
        if missing == 0:
            return now
        filled = jax.tree.map(lambda x: np.concatenate([x, np.repeat(x[:1], missing, axis=0)]), now)
        idle = np.arange(self.block) >= self.block - missing
        return dataclasses.replace(
            filled,
            number=np.where(idle, -1, filled.number),
            status=np.where(idle, Status.reached, filled.status),
        )


def _rows(some: Lane, which) -> Lane:
    return jax.tree.map(lambda x: x[which], some)


class _Static:
    """The parts of a plan that a compiled program is made for."""

    def __init__(self, plan: Plan):
        self.stepper, self.watch, self.max_events = plan.stepper, plan.watch, plan.max_events
        self.key = (plan.stepper, plan.watch, plan.max_events)

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return isinstance(other, _Static) and self.key == other.key


@eqx.filter_jit
def _flow_block(some: Lane, until, control: Control, static: _Static) -> Lane:
    return eqx.filter_vmap(functools.partial(_flow, until=min(until, FOREVER), control=control, static=static))(some)


def _flow(lane: Lane, until, control: Control, static: _Static) -> Lane:
    """A few steps of one lane."""
    flat = FlatSystem(lane.system, lane.state)
    armed = flat.armed()
    until = jnp.asarray(until, float)
    empty = jnp.zeros(1), jnp.zeros((1, flat.vector(lane.state).size))
    start = _Carry(
        lane.state.t, flat.vector(lane.state), jnp.where(lane.h > 0.0, lane.h, control.step), lane.status,
        lane.t_next, jnp.zeros(2, int), *empty, jnp.asarray(0), jnp.asarray(0),
    )  # fmt: skip

    def going_on(carry):
        return (carry[0].status == Status.going) & (carry[0].steps < PATIENCE)

    def step(carry):
        before, largest = carry
        after = _one_step(flat, armed, static.stepper, control, until, 0, before)
        seen = static.watch(lane.system, flat.state(after.t, after.y))
        return after, jnp.maximum(largest, jnp.nan_to_num(seen))

    end, largest = jax.lax.while_loop(going_on, step, (start, lane.largest))
    ended_by = jnp.where(end.status == Status.over, end.over[0], lane.ended_by)
    return dataclasses.replace(
        lane, state=flat.state(end.t, end.y), h=end.h, status=end.status, t_next=end.t_next,
        ended_by=ended_by, largest=largest,
    )  # fmt: skip


@eqx.filter_jit
def _jump_block(some: Lane, control: Control, static: _Static) -> Lane:
    return eqx.filter_vmap(functools.partial(_look, control=control, static=static))(some)


def _look(lane: Lane, control: Control, static: _Static) -> Lane:
    """The search in a doubtful step, and the jumps that are due."""
    found = search(lane.system, lane.state, lane.t_next, static.stepper, control)
    guards = lane.system.guards()
    ends = jnp.asarray([guard.ends is not None for guard in guards])
    jumps = [functools.partial(_jump, lane.system, name=guard.name) for guard in guards]

    def due_left(carry):
        _, due, ended_by, count = carry
        return due.any() & (ended_by < 0) & (count < DUE_AT_ONCE)

    def jump(carry):
        state, due, ended_by, count = carry
        which = jnp.where(count == 0, found.guard, jnp.argmax(due))
        owner = found.owner[which]
        after = jax.lax.switch(owner, jumps, state, found.element[which])
        ended_by = jnp.where(ends[owner], owner, -1)
        return after, _still_due(lane.system, after, due.at[which].set(False)), ended_by, count + 1

    due = found.due & found.event
    state, _, ended_by, count = jax.lax.while_loop(due_left, jump, (found.state, due, jnp.asarray(-1), jnp.asarray(0)))
    duration = state.t - lane.t_event
    h = jnp.where(found.event, jnp.minimum(lane.h, jnp.maximum(4.0 * duration, 1e-6 * lane.h)), lane.h)
    events = lane.events + count
    status = jnp.where(ended_by >= 0, Status.event, Status.going)
    status = jnp.where((status == Status.going) & (events >= static.max_events), Status.full, status)
    return dataclasses.replace(
        lane, state=state, h=h, status=status, ended_by=ended_by, events=events,
        t_event=jnp.where(found.event, state.t, lane.t_event),
        largest=jnp.maximum(lane.largest, jnp.nan_to_num(static.watch(lane.system, found.state))),
    )  # fmt: skip


def _jump(system, state, index, *, name):
    return _same_types(state, system.jump(state, name, index))


def _still_due(system: AbstractSystem, state: State, due: Bool[Array, " g"]) -> Bool[Array, " g"]:
    """Which of the guards that were due at this instant are so after the jump of another."""
    flat = FlatSystem(system, state)
    y = flat.vector(state)
    g, slope = flat.guards_and_rates(state.t, y, flat.rate(state.t, y))
    near = jnp.abs(g) <= 64 * EPS * jnp.maximum(jnp.abs(state.t), 1.0) * jnp.abs(slope)
    return due & flat.armed() & near & (slope < 0.0)
