"""What a system is at an instant."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from saltus.programs.arrays import numbers


class State(eqx.Module):
    """A system at an instant; frozen.

    `q`, `v` and `ledger` flow, `mode` only jumps. A system is free to choose the shapes, but
    keeps them for a whole run.

    Args:
        t: Time [s].
        q: Configuration.
        v: Velocity variables; need not be the time derivative of `q` (quaternions).
        ledger: What accumulates along the motion, such as the work of friction [J].
        mode: Regime, as integers that index `system.mode_names`.
    """

    t: Float[Array, ""]
    q: Float[Array, "..."]
    v: Float[Array, "..."]
    ledger: Float[Array, " ledger"]
    mode: Int[Array, "..."]

    @staticmethod
    def of(t: Any = 0.0, q: Any = (), v: Any = (), ledger: Any = (), mode: Any = 0) -> State:
        """Build a state from numbers and lists."""
        return State(
            t=numbers(t),
            q=numbers(q),
            v=numbers(v),
            ledger=numbers(ledger),
            mode=numbers(mode, int),
        )


def on_host(*states: State) -> tuple[State, ...]:
    """States as NumPy arrays, for code that looks at single numbers: JAX would compile every index and difference."""
    return jax.tree.map(np.asarray, states)


class Rate(eqx.Module):
    """Time derivatives of the flowing parts of a `State`."""

    q: Float[Array, "..."]
    v: Float[Array, "..."]
    ledger: Float[Array, " ledger"]
