"""A run of many members that move on their own, taken again through its own events with other numbers."""

from __future__ import annotations

import bisect
import dataclasses
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.engines.replay import Replay, _pad
from saltus.hybrid import State
from saltus.hybrid.parts import as_array, refill
from saltus.numerics.differentiable import linear_part

if TYPE_CHECKING:
    from saltus.engines.queue_trajectory import QueueTrajectory


@dataclasses.dataclass
class _Pieces:
    """The changes of one member: when they were in the earlier run, when they are now, and the rows after them."""

    were: list[float]
    since: list[Array]
    q: list[Array]
    v: list[Array]

    def add(self, was: float, since: Array, q: Array, v: Array) -> None:
        self.were.append(was)
        self.since.append(since)
        self.q.append(q)
        self.v.append(v)


def replay(memory: QueueTrajectory, system, start: State, times=None) -> Replay:
    """The motion of `system` from `start` through the events of an earlier run.

    Args:
        memory: That run.
        system: Its system, the numbers perhaps traced.
        start: Its start, perhaps traced.
        times: Times at which the states are wanted [s].
    """
    for event in memory.events:
        system.check_replay(event)
    began = float(memory.start.t)
    q, v = as_array(start.q), as_array(start.v)
    pieces = [_Pieces([began], [start.t], [q[i]], [v[i]]) for i in range(len(memory.pieces))]
    ledger, event_times = [as_array(start.ledger)], []
    for event in memory.events:
        concerned = [pieces[member] for member in event.members]
        rows = (jnp.stack([getattr(kept, name)[-1] for kept in concerned]) for name in ("since", "q", "v"))
        came = system.replay_event(event, jnp.asarray(event.t, float), *rows)
        for kept, q, v in zip(concerned, came.q, came.v, strict=True):
            kept.add(event.t, came.t, q, v)
        ledger.append(ledger[-1] + came.ledger)
        event_times.append(came.t)
    finished = memory.outcome is not None and memory.outcome.name == "finished"
    end_time = jnp.asarray(memory.until, float) if finished or not event_times else event_times[-1]
    moments, wanted = [event.t for event in memory.events], np.asarray(() if times is None else times, float)
    were = np.concatenate([moments, wanted, [memory.until]])
    fired = jnp.stack(event_times) if event_times else jnp.zeros(0)
    now = jnp.concatenate([fired, jnp.asarray(wanted), end_time[None]])
    # All states in one go, their number filled up with the end so that few are compiled.
    more = _pad(were).size - were.size
    were, now = _pad(were), jnp.concatenate([now, jnp.broadcast_to(now[-1], (more,))])
    states = _states(memory, system, pieces, jnp.stack(ledger), moments, were, now)

    def part(rows) -> State:
        return jax.tree.map(lambda x: x[rows], states)

    n, m = len(moments), wanted.size
    return Replay(
        end=part(-1),
        event_times=fired,
        after=part(slice(0, n)) if n else None,
        states=None if times is None else part(slice(n, n + m)),
    )


def _states(memory, system, pieces: list[_Pieces], ledger: Array, moments, were, now: Array) -> State:
    """All members at the times `now`, which were `were` in the earlier run."""
    first = np.cumsum([0, *(len(kept.were) for kept in pieces[:-1])])
    row = np.array([[first[i] + bisect.bisect_right(kept.were, t) - 1 for i, kept in enumerate(pieces)] for t in were])
    since, q, v = (
        jnp.stack([entry for kept in pieces for entry in getattr(kept, name)])[row] for name in ("since", "q", "v")
    )
    members = np.broadcast_to(np.arange(len(pieces)), row.shape)
    q, v = _fly(system, jnp.asarray(members), q, v, now[:, None] - since)
    place = np.array([bisect.bisect_right(moments, t) for t in were], int)
    like = memory.start
    mode = jnp.broadcast_to(like.mode, row.shape)
    return State(now, refill(like.q, q), refill(like.v, v), refill(like.ledger, ledger[place]), mode)


def _fly(system, members, q, v, durations) -> tuple[Array, Array]:
    """All rows after their free motion, each member a system for itself."""
    shape = durations.shape
    alone, *rows = _one_by_one(system, (members, q, v, durations))
    q, v = linear_part(_flow_alone, alone, *rows, rows=True)
    return q.reshape(*shape, -1), v.reshape(*shape, -1)


@eqx.filter_jit
def _one_by_one(system, rows: tuple[Array, ...]):
    members, *rest = (row.reshape(-1, *row.shape[2:]) for row in rows)
    return eqx.filter_vmap(lambda member: system.only(member[None]))(members), *rest


def _flow_alone(alone, q, v, duration) -> tuple[Array, Array]:
    return alone.flow(jnp.zeros((), int), q, v, duration, compact=True)
