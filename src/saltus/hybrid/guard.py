"""What ends a segment of smooth flow."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus import checks
from saltus.hybrid.outcome import OUTCOMES
from saltus.hybrid.state import State, same_types


def always(state: State) -> Array:
    """A guard that is watched in every mode."""
    return jnp.asarray(True)


def never(state: State) -> bool:
    """False in every state: `likely` of a guard that does not say it."""
    return False


def unchanged(state: State, index: Array) -> State:
    """The jump of an event that is only recorded: the motion goes on as it was."""
    return state


def once(function: Callable[[State], Any]) -> Callable[[State], Any]:
    """The function, computed once for a state that several guards of one list ask it for."""
    last: list[Any] = [None, None]

    def recall(state: State) -> Any:
        if last[0] is not state:
            last[:] = state, function(state)
        return last[1]

    return recall


@dataclasses.dataclass(frozen=True)
class StagedJump:
    """A jump in two stages, of which several jumps of a system may have the same: engines compile each only once.

    The second stage is the same for all staged jumps of a system. Where a run does not come to it, a single run does
    not compile it. The event is at the time to which the first stage leads, unless it tells another (`Guard.data`): the
    second lets go on what has stopped.

    Args:
        system: The system.
        begin: `begin(system, state, index, variant)`: the state after the first stage, whether that is not all, and
            what the second stage must know beside it: a tree of arrays, of the same form for all jumps of the system.
        rest: `rest(system, state, known)`: the state after the second stage.
        variant: Which of the jumps that begin alike this is.
        known: Gives what the second stage must know for a jump that has none: by it engines can compile that stage
            beside the first.
    """

    system: Any
    begin: Callable[..., tuple[State, Array, Any]]
    rest: Callable[..., State]
    variant: int = 0
    known: Callable[[], Any] | None = None

    def __call__(self, state: State, index: Array) -> State:
        """The state after both stages."""
        after, more, known = self.begin(self.system, state, index, jnp.asarray(self.variant))
        after = same_types(state, after)
        return jax.lax.cond(more, lambda: same_types(state, self.rest(self.system, after, known)), lambda: after)


@dataclasses.dataclass(frozen=True)
class Guard:
    """A function of the state that ends a segment as it falls through zero.

    For a rising crossing negate the function; for both directions list two guards. One guard
    may watch many alike things at once: `function` and `armed` then return a 1-D array, and
    the event carries the index. Scale the function so that values of order one are ordinary.

    A guard that is zero or negative at the start of a segment does not fire before it has
    been positive: nothing fires again on its own event. Only a `border` ends the run at once
    where it is not positive.

    A guard carries what happens at its event: `jump(state, index)` gives the state after it. A guard
    that has none either ends the run, or belongs to a system with a method `jump(state, guard, index)`.

    Args:
        name: Name of the event.
        function: Value that falls through zero at the event; scalar or 1-D.
        armed: Whether it is watched in this mode: a function of the state; same shape as the value, or scalar.
        ends: Name of the outcome (`hybrid.OUTCOMES`) if the event ends the run.
        message: With `ends`: a sentence for the user; `{t}` and `{index}` are filled in.
        border: With `ends`: whether the system is not defined where the function is not positive.
        singular: Whether the rate turns ever faster towards the event, as friction does with a speed that
            vanishes; constant steps are halved on the way there, and derivatives of the last ones are damped.
        winding: Whether it may rise and fall several times within a step, as the gap of a body that tumbles: an
            adaptive step in which it may fall is shortened until it does so evenly.
        jump: `jump(state, index)`: the state after the event of element `index`; `hybrid.unchanged` for an
            event that is only recorded.
        settle: `settle(state, index)`: the state in which the motion goes on where events of this guard
            pile up without end (a ball that comes to rest).
        likely: Whether nearly every run from this start comes to the event: a function of the state. Its jump is then
            compiled while the run begins.
        approach: `approach(state, index)`: what the state tends to just before the event, where that is found a moment
            too early. Only the record is told (`Event.before`); the jump starts from where the event was found.
        meanwhile: `meanwhile(state, index)`: the state from which the motion goes on while a jump takes time, where it
            does not go on as before: that of a ball which has stopped, and is held for a moment before it slips the
            other way. Only what is shown of that time is found from it.
        data: `data(index, before, after)`: what belongs to an event beside its name and index, in the place of
            `AbstractSystem.event_data`, which serves all guards that have none. It is not traced by JAX.
        to: For a system made of functions (`hybrid.system`, which also gives `function`, `jump`, `settle`
            and `likely` other arguments, and takes names of modes as `armed`): the
            mode after the event, by its name, or a function that gives its number.
    """

    name: str
    function: Callable[..., Any]
    armed: Any = always
    ends: str | None = None
    message: str = ""
    border: bool = False
    singular: bool = False
    winding: bool = False
    jump: Callable[..., Any] | None = dataclasses.field(default=None, kw_only=True)
    settle: Any = dataclasses.field(default=None, kw_only=True)
    likely: Callable[..., Any] = dataclasses.field(default=never, kw_only=True)
    approach: Callable[..., State] | None = dataclasses.field(default=None, kw_only=True)
    meanwhile: Callable[..., State] | None = dataclasses.field(default=None, kw_only=True)
    data: Callable[..., dict[str, Any]] | None = dataclasses.field(default=None, kw_only=True)
    to: str | Callable | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        if self.ends is not None:
            checks.one_of(f"outcome of guard {self.name!r}", self.ends, OUTCOMES)
        elif self.border:
            raise ValueError(
                f"Guard {self.name!r} is a border, so it ends the run: say how, such as ends='left_domain'."
            )
