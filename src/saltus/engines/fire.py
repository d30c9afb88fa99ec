"""Firing: what is due at an instant, one jump after the other. The same pieces for one run and for many."""

from __future__ import annotations

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.accumulation import PileUp
from saltus.engines.advance import Searched
from saltus.engines.flat import FlatSystem, pack
from saltus.engines.signs import Signs
from saltus.engines.step_control import EPS
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.guard import Staged
from saltus.hybrid.parts import as_array
from saltus.hybrid.state import same_types
from saltus.hybrid.system import jump_of, settle_of

SHORT = 1e-8  # share of the time over which a guard is seen to rise or fall
PASSES = 1e-6  # share of its fall that a guard keeps after a jump that does not turn it back


def apply_jump(system: AbstractSystem, state: State, number: int, index) -> State:
    """The state after the jump of a guard, given by its number."""
    return same_types(state, jump_of(system, system.guards()[number])(state, index))


def begin_jump(system: AbstractSystem, state: State, number: int, index) -> tuple[State, Bool[Array, ""]]:
    """The state after a jump in stages, and whether that is not all (`hybrid.guard.Staged`)."""
    after, more = _staged(system, number).begin(state, index)
    return same_types(state, after), more


def finish_jump(system: AbstractSystem, state: State, number: int, index) -> State:
    """The state after a jump in stages of which `begin_jump` did not tell all."""
    return same_types(state, _staged(system, number).rest(state, index))


def _staged(system: AbstractSystem, number: int) -> Staged:
    jump = system.guards()[number].jump
    assert isinstance(jump, Staged)
    return jump


def apply_settle(system: AbstractSystem, state: State, number: int, index) -> State | None:
    """The state that follows when events of a guard pile up; None if nothing is known."""
    after = settle_of(system, system.guards()[number])(state, index)
    return None if after is None else same_types(state, after)


def at_time(state: State, t) -> State:
    """The state at another time."""
    return eqx.tree_at(lambda s: s.t, state, jnp.asarray(t, float))


def still_due(system: AbstractSystem, state: State, due: Bool[Array, " g"]) -> Bool[Array, " g"]:
    """Which of the guards that were due at this instant are so after the jump of another: at zero, and falling."""
    flat = FlatSystem(system, state)
    y = flat.vector(state)
    rate = flat.rate(state.t, y)
    ahead = SHORT * jnp.maximum(jnp.abs(state.t), 1.0) * jnp.arange(2.0)
    g, g_ahead = jax.lax.map(lambda h: flat.guards(state.t + h, y + h * rate), ahead)
    fall = g - g_ahead
    return due & flat.armed() & (fall > 0.0) & (g <= 64 * EPS / SHORT * fall)


class Turn(eqx.Module):
    """What a jump does to the guard that fired, told by the guard's slope along the flow before and after.

    Args:
        rises: The guard rises before the jump: at rounding level it has only seemed to fall.
        passes: It falls after the jump too: a mark that is passed, not a wall that turns the motion back.
    """

    rises: Bool[Array, ""]
    passes: Bool[Array, ""]


def slopes(system: AbstractSystem, state: State) -> Float[Array, " g"]:
    """How fast each guard rises along the flow [1/s]."""
    flat = FlatSystem(system, state)
    y = flat.vector(state)
    along = (jnp.ones_like(state.t), flat.rate(state.t, y))
    return jax.jvp(flat.guards, (state.t, y), along)[1]


def turn(system: AbstractSystem, before: State, after: State, which: Int[Array, ""]) -> Turn:
    """What a jump does to guard value `which`."""
    one, other = ((pack(state), as_array(state.mode)) for state in (before, after))
    unchanged = (one[0] == other[0]).all() & (one[1] == other[1]).all()
    both = jax.tree.map(lambda *pair: jnp.stack(pair), before, after)
    first, second = jax.lax.map(lambda state: slopes(system, state)[which], both)
    return Turn(first > 0.0, unchanged | (second < PASSES * jnp.minimum(first, 0.0)))


class Fired(eqx.Module):
    """What firing has led to.

    Args:
        state: The state after the last jump.
        due: What is still due.
        signs: What is known of the guards.
        pile_up: What is remembered of the times of events.
        ended_by: Number of the guard that ended the run, or -1.
        accumulates: Whether events pile up and the system has no mode for what follows.
        count: How many events there were.
        largest: Largest values of what is watched, with those after each jump.
    """

    state: State
    due: Bool[Array, " g"]
    signs: Signs
    pile_up: PileUp
    ended_by: Int[Array, ""]
    accumulates: Bool[Array, ""]
    count: Int[Array, ""]
    largest: Float[Array, " k"]


def fire(
    system: AbstractSystem,
    found: Searched,
    pile_up: PileUp,
    largest: Float[Array, " k"],
    watch: Callable[[State], Float[Array, " k"]],
    one_by_one: bool,
) -> Fired:
    """All jumps that are due at an event, inside a program.

    Args:
        system: The system.
        found: The event. Guards that have sunk come first: their events can no longer be told apart.
        pile_up: What is remembered of the times of events.
        largest: Largest values so far of what is watched.
        watch: What is watched.
        one_by_one: Whether this is one run, so that jumps that do not happen cost nothing.
    """
    guards, sinks = system.guards(), found.sunk.any()
    ends = jnp.asarray([guard.ends is not None for guard in guards])
    settles = jnp.asarray([may_settle(system, found.state, number) for number in range(len(guards))])
    due = jnp.where(sinks, found.sunk, found.due & found.event)

    def going_on(now: Fired):
        return now.due.any() & (now.ended_by < 0) & ~now.accumulates

    def one_more(now: Fired) -> Fired:
        which = jnp.argmax(now.due)
        owner, index, before = found.owner[which], found.element[which], now.state
        remembered, limit = now.pile_up.with_event(which, before.t, sinks)
        piles = ~jnp.isnan(limit)
        after = jump_or_settle(system, before, owner, index, limit, one_by_one)
        turns = turn(system, before, after, which)
        nothing = found.unsure[which] & turns.rises & ~piles
        accumulates = piles & ~settles[owner]
        stays = nothing | accumulates
        after = jax.tree.map(lambda x, y: jnp.where(stays, x, y), before, after)
        due = now.due.at[which].set(False)
        due = jax.lax.cond(due.any() & ~sinks, lambda: still_due(system, after, due), lambda: due)
        fired = now.signs.fired.at[which].set(nothing | (~turns.passes & ~piles))
        signs, ended_by = Signs(now.signs.last.at[which].set(0.0), fired), jnp.where(ends[owner] & ~stays, owner, -1)
        largest = jnp.maximum(now.largest, jnp.nan_to_num(watch(after)))
        return Fired(after, due, signs, remembered, ended_by, accumulates, now.count + ~stays, largest)

    none, no = jnp.asarray(0), jnp.asarray(False)
    return jax.lax.while_loop(
        going_on, one_more, Fired(found.state, due, found.signs, pile_up, none - 1, no, none, largest)
    )


def may_settle(system: AbstractSystem, state: State, number: int) -> bool:
    """Whether it is known what follows where events of a guard pile up."""
    like = eqx.filter_eval_shape(functools.partial(apply_settle, number=number), system, state, index=jnp.asarray(0))
    return like is not None


def jump_or_settle(system: AbstractSystem, state: State, owner, index, limit, one_by_one: bool) -> State:
    """The state after the jump of guard number `owner`, or after its pile-up if there is a limit of it."""
    count, piles = len(system.guards()), ~jnp.isnan(limit)
    at_limit = at_time(state, jnp.where(piles, limit, state.t))

    def settle(state, index, number):
        after = apply_settle(system, state, number, index)
        return state if after is None else after

    jumps = [functools.partial(lambda state, index, n: apply_jump(system, state, n, index), n=n) for n in range(count)]
    known = [number for number in range(count) if may_settle(system, state, number)]
    branches = [*jumps, *(functools.partial(settle, number=number) for number in known)]
    places = jnp.asarray([count + known.index(n) if n in known else n for n in range(count)])
    which = jnp.where(piles, places[owner], owner)
    if one_by_one:
        return jax.lax.switch(which, branches, at_limit, index)
    # Under `vmap` a switch does all of them too, and makes a copy of the system for every lane.
    return jax.tree.map(lambda *after: jax.lax.select_n(which, *after), *(one(at_limit, index) for one in branches))
