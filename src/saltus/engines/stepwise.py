"""A small system driven from Python, one compiled step at a time.

For members of a crowd that move together for a while: their rates are costly to compile, and there are few steps. One
program gives the step, the guards along it and what the members look like at its end; it serves the run, the location
of the event and every later question.
"""

from __future__ import annotations

import bisect
import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import brentq

from saltus.engines.flat import FlatSystem, pack
from saltus.engines.steppers import stepper
from saltus.hybrid import Outcome, State
from saltus.hybrid.crowd import Band

METHOD = "dopri8"
MAX_STEPS = 100_000
SHORTEST = 1e-12  # of the time elapsed, below which a dip of a guard within a step is not looked into


class Stride(eqx.Module):
    """A step taken.

    Args:
        state: Where it led.
        error: Error estimate in units of what is allowed.
        guards: Guard values at the stages of the step; the first row is the start, the last the end.
        rows: Configurations and velocities of the members at the end.
    """

    state: State
    error: Array
    guards: Float[Array, "stages g"]
    rows: tuple[Array, Array]


@eqx.filter_jit
def stride(system, start: State, h: Array, rtol: Array, atol: Array) -> Stride:
    """One step of length `h` by the explicit method `METHOD`, whose last stage is the end of the step."""
    method = stepper(METHOD)
    flat, n = FlatSystem(system, start), len(method.b)
    a = np.zeros((n, n))
    for i, row in enumerate(method.a):
        a[i + 1, : len(row)] = row
    a, c, y = jnp.asarray(a), jnp.asarray(method.c), flat.vector(start)

    def stage(i, carry):
        k, guards, _ = carry
        t, ahead = start.t + c[i] * h, y + h * jnp.sum(a[i][:, None] * k, axis=0)
        rate, values, rows = system.look(flat.state(t, ahead))
        k = jax.lax.dynamic_update_index_in_dim(k, pack(rate.q, rate.v, rate.ledger), i, 0)
        return k, jax.lax.dynamic_update_index_in_dim(guards, values, i, 0), rows

    _, values, rows = jax.eval_shape(system.look, start)
    empty = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), rows)
    begin = (jnp.zeros((n, y.size)), jnp.zeros((n, values.shape[0])), empty)
    k, guards, rows = jax.lax.fori_loop(0, n, stage, begin)
    y_new = y + h * jnp.sum(jnp.asarray(method.b)[:, None] * k, axis=0)
    error = h * jnp.sum(jnp.asarray(method.b_error)[:, None] * k, axis=0)
    scale = atol + rtol * jnp.maximum(jnp.abs(y), jnp.abs(y_new))
    size = jnp.sqrt(jnp.mean((error / scale) ** 2))
    return Stride(flat.state(start.t + h, flat.project(start.t + h, y_new)), size, guards, rows)


@dataclasses.dataclass
class Walk:
    """A band's motion: states at the accepted steps, and the event that ended it, if one did.

    Args:
        band: What moved.
        rtol: Error allowed per step, relative.
        atol: Error allowed per step, absolute.
    """

    band: Band
    rtol: float
    atol: float

    def __post_init__(self):
        self.times: list[float] = [float(self.band.start.t)]
        self.states: list[State] = [self.band.start]
        self.event: tuple[str, int] | None = None
        self.outcome: Outcome | None = None

    def step(self, start: State, h: float) -> Stride:
        """One step from a state."""
        return stride(self.band.system, start, *(jnp.asarray(x, float) for x in (h, self.rtol, self.atol)))

    def rows(self, times, side: str) -> tuple[np.ndarray, np.ndarray]:
        """Configurations and velocities of the members at these times."""
        find = bisect.bisect_right if side == "after" else bisect.bisect_left
        found = []
        for t in times:
            k = min(max(find(self.times, t) - 1, 0), len(self.times) - 1)
            found.append(self.step(self.states[k], t - self.times[k]).rows)
        return np.stack([np.asarray(q) for q, _ in found]), np.stack([np.asarray(v) for _, v in found])

    def go(self) -> Walk:
        """From the start to the end of the band or to its first event."""
        names, armed = self._guards()
        until, h = self.band.until, None
        first = np.asarray(self.step(self.band.start, 0.0).guards[0])
        due = [k for k, name in enumerate(names) if name in self.band.at_once and first[k] < 0.0]
        if due:
            self.event = names[min(due, key=lambda k: first[k])]
            return self
        was_positive = first > 0.0
        for _ in range(MAX_STEPS):
            t = self.times[-1]
            left = until - t
            h = min(left, 1e-2 * left if h is None else h)
            new = self.step(self.states[-1], h)
            error = float(new.error)
            if not error <= 1.0:
                h *= 0.2 if not np.isfinite(error) else max(0.2, 0.9 * error**-0.125)
                if h <= 4e-16 * max(abs(t), 1e-290):
                    self.outcome = Outcome("stalled", f"The contact at t = {t:.9g} s needs steps below rounding.")
                    return self
                continue
            guards = np.asarray(new.guards)
            watched = armed & was_positive
            down = watched & (guards[-1] <= 0.0)
            dips = watched & (guards.min(axis=0) <= 0.0) & ~down
            if dips.any() and h > SHORTEST * max(abs(t), left):
                h *= 0.5
                continue
            if down.any():
                self._locate(names, np.flatnonzero(down), h)
                return self
            was_positive |= guards[-1] > 0.0
            self._keep(new, until if h == left else t + h)
            if h == left:
                return self
            h *= min(4.0, 0.9 * max(error, 1e-12) ** -0.125)
        self.outcome = Outcome("too_many_steps", f"The contact at t = {self.times[-1]:.9g} s takes too many steps.")
        return self

    def _guards(self) -> tuple[list[tuple[str, int]], np.ndarray]:
        names, armed = [], []
        for guard in self.band.system.guards():
            count = len(self.band.contacts[guard.name])
            names += [(guard.name, index) for index in range(count)]
            armed.append(np.broadcast_to(np.asarray(guard.armed(self.band.start)), (count,)))
        return names, np.concatenate(armed)

    def _locate(self, names, down, h: float) -> None:
        """The earliest zero of the guards that are down at the end of the step."""
        start, t = self.states[-1], self.times[-1]

        def value(s, k):
            return float(self.step(start, s).guards[-1, k])

        def zero(k):
            return float(brentq(value, 0.0, h, args=(k,), xtol=1e-15 * max(h, 1e-3), rtol=1e-15))  # pyright: ignore

        found = {int(k): zero(k) if value(0.0, k) > 0.0 else 0.0 for k in down}
        first = min(found, key=found.get)
        self.event = names[first]
        self._keep(self.step(start, found[first]), t + found[first])

    def _keep(self, new: Stride, t: float) -> None:
        self.times.append(t)
        self.states.append(eqx.tree_at(lambda s: s.t, new.state, jnp.asarray(t, float)))
