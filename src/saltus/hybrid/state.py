"""What a system is at an instant."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus.hybrid.parts import Parts, as_array, as_numpy, refill
from saltus.hybrid.record import Record
from saltus.programs.arrays import numbers

T = TypeVar("T")


class State(Record):
    """A system at an instant; frozen.

    `q`, `v` and `ledger` flow, `mode` only jumps. Each is an array, or `Parts` with names; a system is free to
    choose, but keeps the form for a whole run.

    Args:
        t: Time [s].
        q: Configuration.
        v: Velocity variables; need not be the time derivative of `q` (quaternions).
        ledger: What accumulates along the motion, such as the work of friction [J].
        mode: Regime, as integers that index `system.mode_names`.
    """

    t: Float[Array, ""]
    q: Any  # Float[Array, "..."] or Parts
    v: Any  # Float[Array, "..."] or Parts
    ledger: Any  # Float[Array, " ledger"] or Parts
    mode: Any  # Int[Array, "..."] or Parts

    def replace(self, **parts: Any) -> State:
        """The state with some of its parts replaced."""
        return dataclasses.replace(self, **parts)

    @staticmethod
    def of(t: Any = 0.0, q: Any = (), v: Any = (), ledger: Any = (), mode: Any = 0) -> State:
        """Build a state from numbers and lists, or from parts with names that hold some."""
        return State(
            t=numbers(t),
            q=_as_numbers(q),
            v=_as_numbers(v),
            ledger=_as_numbers(ledger),
            mode=_as_numbers(mode, int),
        )


def _as_numbers(part: Any, kind: type = float) -> Any:
    """A part of a state as arrays of JAX; flags stay flags."""
    if not isinstance(part, Parts):
        return numbers(part, kind)
    return jax.tree.map(lambda x: numbers(x, bool if jnp.result_type(x) == jnp.bool_ else kind), part)


def known_state(t: Any, q: Any, v: Any, ledger: Any, mode: Any) -> State:
    """The state of parts that are arrays already."""
    return build_unchecked(State, t=t, q=q, v=v, ledger=ledger, mode=mode)


def build_unchecked(kind: type[T], **parts: Any) -> T:
    """A module of parts that are as they should be: without equinox's checks, which take as long as a hundred steps."""
    made = object.__new__(kind)
    for name, part in parts.items():
        object.__setattr__(made, name, part)
    return made


def pack(moving: State | Rate) -> Float[Array, " n"]:
    """One vector of all that flows."""
    return jnp.concatenate([as_array(part).ravel() for part in (moving.q, moving.v, moving.ledger)])


def pack_known(state: State) -> np.ndarray:
    """One vector of all that flows, of a state whose numbers are known: by NumPy, which compiles nothing."""
    return np.concatenate([as_numpy(part).ravel() for part in (state.q, state.v, state.ledger)])


def unpack(like: State, t: Any, y: Any, mode: Any = None) -> State:
    """The state of the form of `like` with these flowing parts; further axes in front make many states.

    Args:
        like: A state, or the shapes and types of one.
        t: Time [s].
        y: What flows, as `pack` puts it into one vector.
        mode: Modes of the states; that of `like` if None.
    """
    nq, nv, front = like.q.size, like.v.size, y.shape[:-1]
    return known_state(
        t,
        refill(like.q, y[..., :nq].reshape(*front, *like.q.shape)),
        refill(like.v, y[..., nq : nq + nv].reshape(*front, *like.v.shape)),
        refill(like.ledger, y[..., nq + nv :]),
        like.mode if mode is None else mode,
    )


def on_host(*states: State) -> tuple[State, ...]:
    """States as NumPy arrays, for code that looks at single numbers: JAX would compile every index and difference."""
    return jax.tree.map(np.asarray, states)


def same_types(like: State, state: State) -> State:
    """`state` with the types of another, none of them weak, so that plain numbers cause no compilation."""

    def cast(x, y):
        return jnp.broadcast_to(jax.lax.convert_element_type(y, x.dtype), x.shape)

    return jax.tree.map(cast, like, state)


class Rate(Record):
    """Time derivatives of the flowing parts of a `State`, in the same form."""

    q: Any
    v: Any
    ledger: Any
