"""A run taken again along its own steps and events: what can be differentiated with respect to everything.

The steps have the lengths that the run found, so there is nothing to search; an event is where its
guard is zero, whatever the parameters, which gives the derivative of its time.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from saltus.engines.fire import apply_jump
from saltus.engines.flat import FlatSystem
from saltus.engines.last_stretch import SHORT, SHORTEST, damp, is_last
from saltus.engines.step_control import AbstractSteps, Stepper
from saltus.hybrid import AbstractSystem, Event, State
from saltus.hybrid.state import pack

SIZES = (32, 256)  # steps that are compiled together; longer ways go by powers of two

# The name of a guard, and how many of the same name stand before it. A number would not do: a system whose numbers are
# traced may have guards that the one of the run, with numbers known to make them needless, has not.
GuardLabel = tuple[str, int]


def labels(system: AbstractSystem) -> list[GuardLabel]:
    """The labels of all guards, in the order in which the system lists them."""
    names = [guard.name for guard in system.guards()]
    return [(name, names[:number].count(name)) for number, name in enumerate(names)]


class Replay(eqx.Module):
    """What a replayed run gives.

    Args:
        end: The last state; its time depends on the parameters if an event ended the run.
        event_times: Times of the events [s].
        after: The states after the events, stacked; None if there were none.
        states: The states at the times that were asked for, stacked; None if none were.
    """

    end: State
    event_times: Float[Array, " events"]
    after: State | None = None
    states: State | None = None


def replay(
    system: AbstractSystem,
    start: State,
    times: np.ndarray,
    events: tuple[Event, ...],
    jumps: list[int],
    guards: list[GuardLabel],
    stepper: Stepper,
    control: AbstractSteps,
    wanted=None,
) -> Replay:
    """The motion of `system` from `start` along the steps of an earlier run.

    Args:
        system: The system of that run, its numbers perhaps traced.
        start: Its start, perhaps traced.
        times: Times of that run's knots [s].
        events: Its events.
        jumps: Index among the knots of the state after each event.
        guards: Which guard fired, for each event.
        stepper: The method of that run.
        control: How long its steps were.
        wanted: Times at which the states are wanted [s].
    """
    state, at, event_times, after, found = start, 0, [], [], []
    numbers = _numbers(system, guards)
    instants = None if wanted is None or not len(wanted) else _WantedTimes(times, np.asarray(wanted, float))
    for event, jump, number in zip((*events, None), (*jumps, len(times)), (*numbers, -1), strict=True):
        for way in _ways(times, at, jump, number >= 0 and system.guards()[number].singular):
            asked = None if instants is None else instants.within(way.first, way.beyond)
            state, seen = _along(
                system, state, _pad(times[way.first + 1 : way.last + 1]), asked, stepper, control, way.stretch
            )
            found.append(seen)
        if event is not None:
            (state, fired), at = _through(system, state, number, jnp.asarray(event.index)), jump
            # Some jumps carry a motion on over its last moments, and their event is where those end; some further.
            further = float(event.after.t) - event.t
            event_times.append(fired if event.t == float(event.before.t) else state.t - further)
            after.append(state)
    return Replay(
        end=state,
        event_times=_stack(event_times) if event_times else jnp.zeros(0),
        after=_stack(after) if after else None,
        states=None if instants is None else instants.gather(found),
    )


def _numbers(system: AbstractSystem, fired: list[GuardLabel]) -> list[int]:
    """Where the guards that fired stand in the list of this system."""
    there = labels(system)
    missing = next((name for name, before in fired if (name, before) not in there), None)
    if missing is not None:
        raise ValueError(
            f"The run had an event of guard {missing!r}, which the {type(system).__name__} to replay does not have. "
            "Replay a system with the same guards as that of the run."
        )
    return [there.index(label) for label in fired]


class Stretch(enum.Enum):
    """How near steps are to a singular event that follows (`last_stretch`)."""

    other, last, very_last = range(3)


class _Way(NamedTuple):
    """Steps in a row.

    Args:
        first: The knot from which they go.
        last: That to which they go.
        beyond: States up to this knot are looked for along them.
        stretch: How near they are to a singular event.
    """

    first: int
    last: int
    beyond: int
    stretch: Stretch


def _ways(times: np.ndarray, at: int, jump: int, singular: bool) -> list[_Way]:
    """The steps between two events; those of the last stretch before a singular one, and of its very end, apart."""
    last = jump - 1
    begins = {at: Stretch.other}
    for share, stretch in ((SHORT, Stretch.last), (SHORTEST, Stretch.very_last)) if singular else ():
        near = at + int(np.argmax(is_last(times[at:jump], times[at], times[last], share)))
        if near not in (at, last):
            begins[near] = stretch  # the shorter one, where both begin at the same knot
    knots = [*begins, last]
    return [
        _Way(first, end, jump if end == last else end, stretch)
        for first, end, stretch in zip(knots, knots[1:], begins.values(), strict=False)
    ]


class _WantedTimes:
    """The times at which states are wanted, each with the knot of the earlier run that it follows."""

    def __init__(self, times: np.ndarray, wanted: np.ndarray):
        if wanted.size and (wanted.min() < times[0] or wanted.max() > times[-1]):
            raise ValueError(
                f"The times {wanted.min():g} to {wanted.max():g} s are not all within the run, "
                f"which covers {times[0]:g} to {times[-1]:g} s."
            )
        self.wanted, self.base = wanted, np.searchsorted(times, wanted, side="right") - 1
        self.rows: list[np.ndarray] = []

    def within(self, first: int, beyond: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Of those that follow the knots `first` to `beyond` - 1: the knots, counted from `first`, and the times."""
        rows = np.flatnonzero((self.base >= first) & (self.base < beyond))
        self.rows.append(rows)
        if not rows.size:
            return None
        return _pad(self.base[rows] - first), _pad(self.wanted[rows])

    def gather(self, found: list[State | None]) -> State:
        """The states in the order in which they were asked for."""
        parts = [states for states in found if states is not None]
        place, before = np.zeros(len(self.wanted), int), 0
        for rows, states in zip((rows for rows in self.rows if rows.size), parts, strict=True):
            place[rows] = before + np.arange(len(rows))
            before += states.t.shape[0]  # with those that only fill it up
        return _select(parts, place)


# Compiled as a whole: number by number, each of the many shapes would be compiled for itself.
@eqx.filter_jit
def _stack(parts: list):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts)


@eqx.filter_jit
def _select(parts: list[State], place) -> State:
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[place], *parts)


def _pad(times: np.ndarray) -> np.ndarray:
    """The times with the last one repeated, so that few lengths are compiled."""
    if times.size == 0:
        return times
    size = next((size for size in SIZES if size >= times.size), 1 << (times.size - 1).bit_length())
    return np.pad(times, (0, size - times.size), mode="edge")


def _along(
    system: AbstractSystem, state: State, times, asked, stepper: Stepper, control: AbstractSteps, stretch: Stretch
):
    """The state after steps that end at these times, and the states that are asked for on the way."""
    if times.size == 0 and asked is None:  # XLA aborts on the derivative of a program that only moves empty parts
        return state, None
    return _take_steps(system, state, times, asked, stepper, control, stretch)


@eqx.filter_jit
def _take_steps(
    system: AbstractSystem, state: State, times, asked, stepper: Stepper, control: AbstractSteps, stretch: Stretch
):
    """The steps of a run again, one after the other, and the states asked for: each a shorter step from a knot."""
    flat = FlatSystem(system, state)
    start = (state.t, flat.vector(state))

    def step_to(t, y, t_new):
        y_new, _ = control.take(flat, stepper, t, y, t_new - t)
        if stretch is Stretch.last:
            y_new = damp(flat, t, y, t_new, y_new, t_new)
        elif stretch is Stretch.very_last:
            y_new = damp(flat, *start, t_new, y_new, times[-1])
        return jnp.where(t_new > t, y_new, y)

    def step(carry, t_new):
        t, y = carry
        y_new = step_to(t, y, t_new)
        return (t_new, y_new), None if asked is None else (t_new, y_new)

    (t, y), knots = jax.lax.scan(step, start, jnp.asarray(times)) if times.size else (start, None)
    if asked is None:
        return flat.state(t, y), None
    knots = jax.tree.map(lambda x: x[None], start) if knots is None else jax.tree.map(_before, start, knots)
    base, wanted = (jnp.asarray(x) for x in asked)
    ahead = jax.vmap(step_to)(knots[0][base], knots[1][base], wanted)
    return flat.state(t, y), jax.vmap(flat.state)(wanted, ahead)


def _before(first, rest):
    return jnp.concatenate([first[None], rest])


def _through(system: AbstractSystem, state: State, number: int, index) -> tuple[State, Array]:
    """The state after an event, and when its guard was zero.

    A jump may hold loops of any length, which cannot be differentiated backwards; so its derivative
    is taken forward, by the state and all traced numbers of the system, and the jump replaced by its linear part.
    """
    which = (jax.tree.map(_is_traced, system), jax.tree.map(eqx.is_inexact_array, state))
    numbers, rest = eqx.partition((system, state), which)
    about = jax.lax.stop_gradient(numbers)
    fixed_system, fixed = eqx.combine(about, rest)
    slope, (y, mode) = _event_jacobian(fixed_system, fixed, which, number, index)
    return _follow_slope(system, eqx.tree_at(lambda s: s.mode, state, mode), y, slope, numbers, about)


@eqx.filter_jit
def _follow_slope(system: AbstractSystem, state: State, y: Array, slope: Array, numbers, about) -> tuple[State, Array]:
    """The state and the time of the guard's zero, `y`, as they depend on the numbers."""
    y = y + slope @ (ravel_pytree(numbers)[0] - ravel_pytree(about)[0])
    return FlatSystem(system, state).state(y[-2], y[:-2]), y[-1]


def _is_traced(leaf) -> bool:
    return eqx.is_inexact_array(leaf) and isinstance(leaf, Tracer)


@eqx.filter_jit
def _event_jacobian(system: AbstractSystem, state: State, which, number: int, index):
    """How the state after an event and the two times of it depend on `which` numbers; these, and the mode after."""
    numbers, rest = eqx.partition((system, state), which)
    x, unpacked = ravel_pytree(numbers)

    def event(x):
        system, state = eqx.combine(unpacked(x), rest)
        state = at_zero(system, state, number, index)
        after = apply_jump(system, state, number, index)
        y = jnp.concatenate([pack(after), jnp.stack([after.t, state.t])])
        return y, (y, after.mode)

    return jax.jacfwd(event, has_aux=True)(x)


def at_zero(system: AbstractSystem, state: State, number: int, index) -> State:
    """The state at the zero of the event's guard, where it is already: only derivatives change.

    They are those of the point of the motion that stays on the zero as numbers change (implicit function theorem).
    """
    guard = system.guards()[number]
    flat = FlatSystem(system, state)
    y = flat.vector(state)
    rate = flat.rate(state.t, y)

    def value(t, y):
        return jnp.atleast_1d(guard.function(flat.state(t, y)))[index]

    g, slope = jax.jvp(value, (state.t, y), (jnp.ones_like(state.t), rate))
    slope = jax.lax.stop_gradient(slope)
    # A guard without a slope changes only how the same motion is computed: its time is kept.
    late = jnp.where(slope == 0.0, 0.0, -g / jnp.where(slope == 0.0, 1.0, slope))
    return flat.state(state.t + late, y + late * rate)
