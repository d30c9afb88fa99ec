"""A hybrid system as steppers see it: one vector that flows, one vector of guard values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.object_facts import ObjectFacts
from saltus.hybrid.state import pack, unpack
from saltus.hybrid.system import checked_guards
from saltus.numerics.runge_kutta import LOOK, PROJECTION, RATE, if_asked
from saltus.programs.facts import remember
from saltus.programs.text import is_data, shape_of

Flat = Float[Array, " n"]
Scalar = Float[Array, ""]

FORMS = 256  # forms of systems whose numbers of guard values are remembered
_guard_sizes: dict[Any, tuple[int, ...]] = {}
_last_sizes: ObjectFacts[tuple[tuple, tuple[int, ...]]] = ObjectFacts()


# `watch(system, state)`, or for systems that have `see` `watch(system, state, seen)` with what that gave: of what the
# largest values are kept.
Watch = Callable[..., Float[Array, " k"]]


class Look(NamedTuple):
    """What a look at a state shows: the guards, and what is watched beside them."""

    guards: Float[Array, " g"]
    watched: Float[Array, " k"]


class Marks(NamedTuple):
    """For each guard value whether it is a border, singular or winding (see `Guard`); where velocities are."""

    border: np.ndarray
    singular: np.ndarray
    winding: np.ndarray
    velocity: slice


# Traced once per kind of system: the flow, the search of events and the states between steps share them.


@eqx.filter_jit
def _rate(system: AbstractSystem, state: State) -> Flat:
    return pack(system.rate(state))


@eqx.filter_jit
def _project(system: AbstractSystem, state: State) -> Flat:
    return pack(system.project(state))


@eqx.filter_jit
def _guard_values(system: AbstractSystem, state: State) -> list[Array]:
    return [jnp.atleast_1d(guard.function(state)) for guard in system.guards()]


@eqx.filter_jit
def _see(system: AbstractSystem, state: State) -> Any:
    return system.see(state)


@eqx.filter_jit
def _rate_by(system: Any, state: State, seen: Any) -> Flat:
    return pack(system.rate_by(state, seen))


@eqx.filter_jit
def _project_by(system: Any, state: State, seen: Any) -> Flat:
    return pack(system.project_by(state, seen))


@eqx.filter_jit
def _guards_by(system: Any, state: State, seen: Any) -> Float[Array, " g"]:
    return _join(system.guards_by(state, seen))


def _join(values: list[Array]) -> Float[Array, " g"]:
    return jnp.concatenate([jnp.atleast_1d(value) for value in values]) if values else jnp.zeros(0)


def guard_sizes(system: AbstractSystem, like: State) -> tuple[int, ...]:
    """How many values each guard of a system has; nothing is computed.

    For systems of one form it is found once, and their guards are checked then.
    """
    shapes = tuple(getattr(part, "shape", ()) for part in (like.q, like.v, like.ledger, like.mode))
    last = _last_sizes.get(system)
    if last is not None and last[0] == shapes:
        return last[1]
    sizes = _sizes_of_form(system, like)
    _last_sizes.put(system, (shapes, sizes))
    return sizes


def _sizes_of_form(system: AbstractSystem, like: State) -> tuple[int, ...]:
    """How many values each guard has, remembered for systems and states of the same form."""
    leaves, form = jax.tree.flatten((system, like))
    key = form, tuple(shape_of(leaf) if is_data(leaf) else (type(leaf), leaf) for leaf in leaves)
    try:
        known = _guard_sizes.get(key)
    except TypeError:  # something that cannot be hashed
        return _count_guards(system, like)
    if known is None:
        if len(_guard_sizes) >= FORMS:
            _guard_sizes.clear()
        known = _guard_sizes[key] = _count_guards(system, like)
    return known


def _count_guards(system: AbstractSystem, like: State) -> tuple[int, ...]:
    checked_guards(system)

    def sizes() -> list[int]:
        return [value.size for value in eqx.filter_eval_shape(_guard_values, system, like)]

    return tuple(remember("guards", (system, like), sizes))


class FlatSystem(eqx.Module):
    """A system in the mode of `like`, with its flowing parts packed into one vector.

    Args:
        system: The system.
        like: A state in the mode in which it is.
        mode: That mode, where the program knows it.
    """

    system: AbstractSystem
    like: State
    mode: int | None = eqx.field(static=True, default=None)

    def state(self, t: Scalar, y: Flat) -> State:
        """The state with these flowing parts."""
        return unpack(self.like, t, y)

    def vector(self, state: State) -> Flat:
        """The flowing parts of a state."""
        return pack(state)

    def rate(self, t: Scalar, y: Flat) -> Flat:
        """Time derivative of the vector."""
        return _rate(self.system, self.state(t, y))

    def rough(self, t: Scalar, y: Flat) -> Bool[Array, ""] | None:
        """Whether the rate is not smooth near this vector; None if it is so everywhere."""
        return self.system.rough(self.state(t, y))

    def look_interval(self, t: Scalar, y: Flat) -> Scalar | None:
        """The longest time between two looks at the guards; None if the error of a step is bound enough."""
        return self.system.look_interval(self.state(t, y))

    def project(self, t: Scalar, y: Flat) -> Flat:
        """The nearest vector that satisfies the constraints."""
        return _project(self.system, self.state(t, y))

    def guards(self, t: Scalar, y: Flat) -> Float[Array, " g"]:
        """All guard values, one after the other."""
        return _join(_guard_values(self.system, self.state(t, y)))

    @property
    def sees(self) -> bool:
        """Whether guards and what is watched share a part that is computed once (`AbstractSystem.see`)."""
        return type(self.system).see is not AbstractSystem.see

    def entwined(self) -> bool:
        """Whether these three have much in common, which is computed once (`AbstractSystem.entwined`)."""
        return jax.default_backend() == "cpu" and self.system.entwined(self.mode)  # a GPU goes all ways at once

    def look(self, t: Scalar, y: Flat, watch: Watch | None = None) -> Look:
        """Guard values, and what is watched beside them."""
        state = self.state(t, y)
        if not self.sees:
            guards = self.guards(t, y)
            return Look(guards, jnp.zeros(0) if watch is None else jnp.nan_to_num(watch(self.system, state)))
        return self._look_by(state, _see(self.system, state), watch)

    def _look_by(self, state: State, seen: Any, watch: Watch | None) -> Look:
        watched = jnp.zeros(0) if watch is None else jnp.nan_to_num(watch(self.system, state, seen))
        return Look(_guards_by(self.system, state, seen), watched)

    def at_once(
        self, t: Scalar, y: Flat, asked: Int[Array, ""] | None = None, watch: Watch | None = None
    ) -> tuple[Flat, Flat, Look]:
        """Rate, projection and look by what they have in common; right are those that are asked for, or all."""
        state = self.state(t, y)
        seen = _see(self.system, state)
        parts = (*self._moves_by(state, seen), lambda: self._look_by(state, seen, watch))
        if asked is None:
            return parts[0](), parts[1](), parts[2]()
        nothing = y, y, jax.tree.map(jnp.zeros_like, jax.eval_shape(parts[2]))
        tasks = zip((RATE, PROJECTION, LOOK), parts, nothing, strict=True)
        rate, projected, look = (if_asked(asked & task, part, none) for task, part, none in tasks)
        return rate, projected, look

    def moves_at_once(self, t: Scalar, y: Flat, asked: Int[Array, ""]) -> tuple[Flat, Flat, tuple[()]]:
        """Rate and projection by what they have in common, without a look; right are those that are asked for."""
        state = self.state(t, y)
        parts = self._moves_by(state, _see(self.system, state))
        rate, projected = (
            if_asked(asked & task, part, y) for task, part in zip((RATE, PROJECTION), parts, strict=True)
        )
        return rate, projected, ()

    def _moves_by(self, state: State, seen: Any) -> tuple[Callable[[], Flat], Callable[[], Flat]]:
        """Rate and projection."""
        return lambda: _rate_by(self.system, state, seen), lambda: _project_by(self.system, state, seen)

    def armed(self) -> Bool[Array, " g"]:
        """Which guard values are watched in this mode."""
        sizes = self.guard_sizes()
        masks = [
            jnp.broadcast_to(guard.armed(self.like), (size,))
            for guard, size in zip(self.system.guards(), sizes, strict=True)
        ]
        return jnp.concatenate(masks) if masks else jnp.zeros(0, bool)

    def guard_sizes(self) -> tuple[int, ...]:
        """How many values each guard has."""
        return guard_sizes(self.system, self.like)

    def guard_numbers(self) -> tuple[Int[Array, " g"], Int[Array, " g"]]:
        """For each of all guard values the number of its guard, and its number within that guard."""
        guards = [(number, element) for number, size in enumerate(self.guard_sizes()) for element in range(size)]
        owner, element = np.array(guards, int).reshape(-1, 2).T
        return jnp.asarray(owner), jnp.asarray(element)

    def marks(self) -> Marks:
        """What is known beforehand of the guard values and of the vector."""
        guards, sizes = self.system.guards(), self.guard_sizes()
        each = ([getattr(guard, name) for guard in guards] for name in ("border", "singular", "winding"))
        border, singular, winding = (np.repeat(one, sizes).astype(bool) for one in each)
        first = self.like.q.size
        return Marks(border, singular, winding, slice(first, first + self.like.v.size))
