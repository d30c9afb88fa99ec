"""Firing: what is due at an instant, one jump after the other. The same pieces for one run and for many."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.accumulation import PileUp
from saltus.engines.advance import SearchResult
from saltus.engines.flat import FlatSystem
from saltus.engines.signs import SUNK, Signs
from saltus.engines.step_control import EPS
from saltus.hybrid import AbstractSystem, Guard, State
from saltus.hybrid.guard import StagedJump
from saltus.hybrid.parts import as_array
from saltus.hybrid.state import pack, same_types
from saltus.hybrid.system import jump_of
from saltus.numerics.loops import in_pieces
from saltus.numerics.trees import choose

PASSES = 1e-6  # share of its fall that a guard keeps after a jump that does not turn it back


def apply_jump(system: AbstractSystem, state: State, number: int, index) -> State:
    """The state after the jump of a guard, given by its number."""
    return same_types(state, jump_of(system, system.guards()[number])(state, index))


def begin_jump(system: AbstractSystem, state: State, number: int, variant, index) -> tuple[State, Bool[Array, ""], Any]:
    """The first stage of a variant of the jump of a guard (`hybrid.guard.StagedJump`)."""
    after, more, known = _staged_jump(system, number).begin(system, state, index, variant)
    return same_types(state, after), more, known


def finish_jump(system: AbstractSystem, state: State, known: Any, number: int) -> State:
    """The second stage of a jump."""
    return same_types(state, _staged_jump(system, number).rest(system, state, known))


def _staged_jump(system: AbstractSystem, number: int) -> StagedJump:
    jump = system.guards()[number].jump
    assert isinstance(jump, StagedJump)
    return jump


def begins_like(guards: Sequence[Guard], rule: Any) -> int | None:
    """Number of the first guard whose jump begins as this one does; None if it is not in stages."""
    alike = (
        n for n, guard in enumerate(guards) if isinstance(guard.jump, StagedJump) and guard.jump.begin is rule.begin
    )
    return next(alike, None) if isinstance(rule, StagedJump) else None


def jumps_like(guards: Sequence[Guard], number: int) -> int:
    """Number of the first guard with the same jump as this one: one program serves both."""
    own = guards[number].jump
    return number if own is None else next(n for n, guard in enumerate(guards) if guard.jump is own)


def apply_settle(system: AbstractSystem, state: State, number: int, index) -> State:
    """The state that follows when events of a guard pile up, for a guard that says so (`Guard.settle`)."""
    return same_types(state, system.guards()[number].settle(state, index))


def at_time(state: State, t) -> State:
    """The state at another time."""
    return eqx.tree_at(lambda s: s.t, state, jnp.asarray(t, float))


class GuardCourse(eqx.Module):
    """Where guards are and how they move along the flow.

    Args:
        values: Their values.
        slopes: How fast they rise [1/s].
    """

    values: Float[Array, " g"]
    slopes: Float[Array, " g"]

    @staticmethod
    def of(system: AbstractSystem, state: State) -> GuardCourse:
        """Values of all guards in a state, and how fast they rise."""
        flat = FlatSystem(system, state)
        here = state.t, flat.vector(state)
        if not flat.entwined():
            return GuardCourse(*jax.jvp(flat.guards, here, (jnp.ones_like(state.t), flat.rate(*here))))

        def guards_and_rate(t, y):
            rate, _, look = flat.at_once(t, y)
            return look.guards, rate

        def along(direction, _):
            (values, rate), (slopes, _) = jax.jvp(guards_and_rate, here, (jnp.ones_like(state.t), direction))
            return rate, GuardCourse(values, slopes)

        # The first round finds the rate, the second the slopes along it: a program holds the system once.
        rounds = jax.lax.scan(along, jnp.zeros_like(here[1]), None, length=2)[1]
        return jax.tree.map(lambda both: both[1], rounds)

    def falls_at_zero(self, t) -> Bool[Array, " g"]:
        """Which guards are at zero within rounding, of this instant or of their values, and fall."""
        by_now = 64 * EPS * jnp.maximum(jnp.abs(t), 1.0) * jnp.abs(self.slopes)
        return (self.slopes < 0.0) & (self.values <= jnp.maximum(by_now, SUNK))


def still_due(
    system: AbstractSystem, state: State, due: Bool[Array, " g"], course: GuardCourse | None = None
) -> Bool[Array, " g"]:
    """Which of the guards that were due at this instant are so after the jump of another: at zero, and falling.

    Their course is found here if it is not known.
    """
    course = GuardCourse.of(system, state) if course is None else course
    return due & FlatSystem(system, state).armed() & course.falls_at_zero(state.t)


def courses(system: AbstractSystem, before: State, after: State) -> tuple[GuardCourse, GuardCourse]:
    """The course of the guards before and after a jump, one after the other: a program holds it once."""
    both = jax.tree.map(lambda *pair: jnp.stack(pair), before, after)
    found = jax.lax.map(functools.partial(GuardCourse.of, system), both)
    return GuardCourse(found.values[0], found.slopes[0]), GuardCourse(found.values[1], found.slopes[1])


class Turn(eqx.Module):
    """What a jump does to the guard that fired, told by the guard's slope along the flow before and after.

    Args:
        rises: The guard rises before the jump: at rounding level it has only seemed to fall.
        passes: It falls after the jump too: a mark that is passed, not a wall that turns the motion back.
    """

    rises: Bool[Array, ""]
    passes: Bool[Array, ""]

    @staticmethod
    def of(before: State, after: State, about: tuple[GuardCourse, GuardCourse], which: Int[Array, ""]) -> Turn:
        """What a jump does to guard value `which`."""
        one, other = ((pack(state), as_array(state.mode)) for state in (before, after))
        unchanged = (one[0] == other[0]).all() & (one[1] == other[1]).all()
        first, second = (course.slopes[which] for course in about)
        return Turn(first > 0.0, unchanged | (second < PASSES * jnp.minimum(first, 0.0)))


def turn(system: AbstractSystem, before: State, after: State, which: Int[Array, ""]) -> Turn:
    """What a jump does to guard value `which`."""
    return Turn.of(before, after, courses(system, before, after), which)


class Firing(eqx.Module):
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
    found: SearchResult,
    pile_up: PileUp,
    largest: Float[Array, " k"],
    watch: Callable[[State], Float[Array, " k"]],
    one_by_one: bool,
) -> Firing:
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
    settles = jnp.asarray([guard.settle is not None for guard in guards])
    due = jnp.where(sinks, found.sunk, found.due & found.event)

    def going_on(now: Firing):
        return now.due.any() & (now.ended_by < 0) & ~now.accumulates

    def one_more(now: Firing) -> Firing:
        which = jnp.argmax(now.due)
        owner, index, before = found.owner[which], found.element[which], now.state
        if system.apart and one_by_one:  # its jumps are long, too
            before = at_time(before, in_pieces(before.t))
        remembered, limit = now.pile_up.with_event(which, before.t, sinks)
        piles = ~jnp.isnan(limit)
        after = jump_or_settle(system, before, owner, index, limit, one_by_one)
        about = courses(system, before, after)
        turns = Turn.of(before, after, about, which)
        nothing = found.unsure[which] & turns.rises & ~piles
        accumulates = piles & ~settles[owner]
        stays = nothing | accumulates
        course = choose(stays, *about)
        after = choose(stays, before, after)
        this = jnp.arange(now.due.size) == which
        due = now.due & ~this
        due = jnp.where(sinks, due, still_due(system, after, due, course))
        fired = jnp.where(this, nothing | (~turns.passes & ~piles), now.signs.fired)
        signs, ended_by = Signs(jnp.where(this, 0.0, now.signs.last), fired), jnp.where(ends[owner] & ~stays, owner, -1)
        largest = jnp.maximum(now.largest, jnp.nan_to_num(watch(after)))
        return Firing(after, due, signs, remembered, ended_by, accumulates, now.count + ~stays, largest)

    none, no = jnp.asarray(0), jnp.asarray(False)
    done = jax.lax.while_loop(
        going_on, one_more, Firing(found.state, due, found.signs, pile_up, none - 1, no, none, largest)
    )
    armed = FlatSystem(system, found.state).armed()
    return dataclasses.replace(done, signs=done.signs.after_moment(done.state.t > found.state.t, armed))


def jump_or_settle(system: AbstractSystem, state: State, owner, index, limit, one_by_one: bool) -> State:
    """The state after the jump of guard number `owner`, or after its pile-up if there is a limit of it."""
    guards, piles = system.guards(), ~jnp.isnan(limit)
    at_limit = at_time(state, jnp.where(piles, limit, state.t))
    count = len(guards)
    known = [number for number, guard in enumerate(guards) if guard.settle is not None]
    places = jnp.asarray([count + known.index(n) if n in known else n for n in range(count)])
    rules = [jump_of(system, guard) for guard in guards] + [guards[n].settle for n in known]
    return apply_rule(rules, jnp.where(piles, places[owner], owner), at_limit, index, one_by_one)


def apply_rule(rules: list[Callable], which, state: State, index, one_by_one: bool = True) -> State:
    """The state after one of several jumps, in a program that holds stages which they share only once."""
    staged = [rule for rule in rules if isinstance(rule, StagedJump)]
    firsts = [rule.begin if isinstance(rule, StagedJump) else rule for rule in rules]
    # Told apart by identity: a method of a system whose numbers are traced has no hash.
    alike = {id(first): first for first in firsts}
    places = {name: place for place, name in enumerate(alike)}
    branch, variant = (
        jnp.asarray(numbers)[which]
        for numbers in ([places[id(first)] for first in firsts], [getattr(rule, "variant", 0) for rule in rules])
    )
    nothing = None
    if staged:
        like = eqx.filter_eval_shape(staged[0].begin, staged[0].system, state, index, variant)[2]
        nothing = jax.tree.map(jnp.zeros_like, like)

    def begin(first, state, index, variant):
        if any(first is rule.begin for rule in staged):
            after, more, known = first(staged[0].system, state, index, variant)
            return same_types(state, after), jnp.asarray(more), known
        return same_types(state, first(state, index)), jnp.asarray(False), nothing

    branches = [functools.partial(begin, first) for first in alike.values()]
    if one_by_one:
        after, more, known = jax.lax.switch(branch, branches, state, index, variant)
    else:  # Under `vmap` a switch does all of them too, and makes a copy of the system for every lane.
        ends = [one(state, index, variant) for one in branches]
        after, more, known = jax.tree.map(lambda *each: jax.lax.select_n(branch, *each), *ends)
    if not staged:
        return after
    if one_by_one:
        return jax.lax.cond(
            more, lambda: same_types(state, staged[0].rest(staged[0].system, after, known)), lambda: after
        )
    whole = same_types(state, staged[0].rest(staged[0].system, after, known))
    return choose(more, whole, after)
