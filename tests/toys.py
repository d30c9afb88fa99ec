"""Small hybrid systems with known answers, for tests of the engines."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State, unchanged


class BouncingBall(AbstractSystem):
    """A ball on a floor that returns a share of the speed; at rest after infinitely many bounces."""

    kind: ClassVar[str] = "ball"
    mode_names: ClassVar[tuple[str, ...]] = ("flight", "rest")
    restitution: jax.Array
    gravity: jax.Array
    settles: bool = eqx.field(static=True, default=True)

    def rate(self, state):
        flying = state.mode == 0
        fall = jnp.where(flying, -self.gravity, 0.0)
        return Rate(jnp.where(flying, state.v, 0.0), fall * jnp.ones_like(state.v), state.ledger)

    def guards(self):
        settle = self.rest if self.settles else None
        return (Guard("floor", lambda s: s.q[0], lambda s: s.mode == 0, jump=self.bounce, settle=settle),)

    def bounce(self, state, index):
        return State(state.t, jnp.zeros_like(state.q), -self.restitution * state.v, state.ledger, state.mode)

    def rest(self, state, index):
        return State(state.t, jnp.zeros_like(state.q), jnp.zeros_like(state.v), state.ledger, 1)

    def quantities(self):
        return {"height": Quantity((), "m", "height")}

    def observe(self, state):
        return {"height": state.q[0]}


def ball(restitution: float, settles: bool = True) -> BouncingBall:
    return BouncingBall(jnp.asarray(restitution), jnp.asarray(9.81), settles)


class Clock(AbstractSystem):
    """Time itself (q grows at rate 1, so steps are as long as they can be), with any guards; a jump counts.

    Guards are functions of (x) or, where numbers are given, which are data, of (x, its number).
    """

    kind: ClassVar[str] = "clock"
    functions: tuple[Callable, ...] = eqx.field(static=True)
    ends: str | None = eqx.field(static=True, default=None)
    numbers: tuple[jax.Array, ...] | None = None

    def rate(self, state):
        return Rate(jnp.ones_like(state.q), jnp.zeros_like(state.v), state.ledger)

    def guards(self):
        more = [()] * len(self.functions) if self.numbers is None else [(number,) for number in self.numbers]
        return tuple(
            Guard(f"guard{i}", lambda s, f=f, more=more[i]: f(s.q[0], *more), ends=self.ends)
            for i, f in enumerate(self.functions)
        )

    def jump(self, state, guard, index):
        return State(state.t, state.q, state.v + 1.0, state.ledger, state.mode)

    def quantities(self):
        return {"count": Quantity((), "1", "number of jumps")}

    def observe(self, state):
        return {"count": state.v[0]}


def clock_start() -> State:
    return State.of(q=[0.0], v=[0.0])


class Oscillator(AbstractSystem):
    """A spring, x'' = -x, with guards given as functions of (x, v), or of (x, v, level) where a level is given."""

    kind: ClassVar[str] = "oscillator"
    functions: tuple[Callable, ...] = eqx.field(static=True, default=())
    level: jax.Array | None = None

    def rate(self, state):
        return Rate(state.v, -state.q, state.ledger)

    def guards(self):
        more = () if self.level is None else (self.level,)
        return tuple(
            Guard(f"guard{i}", lambda s, f=f: f(s.q[0], s.v[0], *more), jump=unchanged)
            for i, f in enumerate(self.functions)
        )

    def quantities(self):
        return {"x": Quantity((), "m", "place")}

    def observe(self, state):
        return {"x": state.q[0]}


class RootFlow(AbstractSystem):
    """x' = -1 / (2 sqrt(x - 1)): defined for x > 1 only, left at t = (x0 - 1)^1.5 * 4 / 3."""

    kind: ClassVar[str] = "root"

    def rate(self, state):
        return Rate(-0.5 / jnp.sqrt(state.q - 1.0), jnp.zeros_like(state.v), state.ledger)

    def guards(self):
        return (Guard("border", lambda s: s.q[0] - 1.25, ends="left_domain", message="left at t = {t:.3f} s"),)

    def quantities(self):
        return {"x": Quantity((), "m", "place")}

    def observe(self, state):
        return {"x": state.q[0]}


BALLS = 20
FLIES, FLIES_HARD, RESTS = 0, 1, 2


class Playground(AbstractSystem):
    """Twenty balls over floors that may shake, and a clock with marks, a dip and ends: every sort of event, by data.

    A ball in mode `FLIES` knows how to come to rest; one in mode `FLIES_HARD` does not.
    """

    kind: ClassVar[str] = "playground"
    mode_names: ClassVar[tuple[str, ...]] = ("flies", "flies_hard", "rests")
    restitution: jax.Array
    shake: jax.Array  # amplitude of the floor [m]
    pace: jax.Array  # its angular frequency [1/s]
    marks: jax.Array  # three times of the clock
    dip: jax.Array  # a time of the clock about which a guard is below zero
    width: jax.Array  # half of the time for which it is
    limit: jax.Array  # a time of the clock that is a border
    last: jax.Array  # a time of the clock that ends the run
    pause: jax.Array  # time that passes at a mark

    def rate(self, state):
        flies = state.mode < RESTS
        moved = jnp.where(flies, state.v[:BALLS], 0.0)
        falls = jnp.where(flies, -9.81, 0.0)
        return Rate(jnp.append(moved, 1.0), jnp.append(falls, 0.0), jnp.sum(moved)[None])

    def _over_floor(self, state):
        return state.q[:BALLS] - self.shake * jnp.sin(self.pace * state.t)

    def _bounced(self, state, index):
        floor = self.shake * self.pace * jnp.cos(self.pace * state.t)
        v = floor - self.restitution * (state.v[index] - floor)
        return State(state.t, state.q, state.v.at[index].set(v), state.ledger, state.mode)

    def _at_rest(self, state, index):
        v, mode = state.v.at[index].set(0.0), state.mode.at[index].set(RESTS)
        return State(state.t, state.q, v, state.ledger, mode)

    def _counted(self, state, index):
        return State(state.t, state.q, state.v.at[BALLS].add(1.0), state.ledger, state.mode)

    def _paused(self, state, index):
        counted = self._counted(state, index)
        return counted.replace(t=state.t + self.pause, q=state.q.at[BALLS].add(self.pause))

    def guards(self):
        def clock(name, function, **options):
            return Guard(name, lambda s: function(s.q[BALLS]), **options)

        return (
            Guard("floor", self._over_floor, lambda s: s.mode == FLIES, jump=self._bounced, settle=self._at_rest),
            Guard("hard", self._over_floor, lambda s: s.mode == FLIES_HARD, jump=self._bounced),
            clock("mark", lambda x: self.marks - x, jump=self._paused),
            clock("dip", lambda x: (x - self.dip) ** 2 - self.width**2, jump=self._counted),
            clock("limit", lambda x: self.limit - x, ends="left_domain", border=True),
            clock("last", lambda x: self.last - x, ends="finished"),
        )

    def quantities(self):
        return {"height": Quantity(("ball",), "m", "height")}

    def observe(self, state):
        return {"height": state.q[:BALLS]}


class PlaygroundByMode(AbstractSystem):
    """A playground whose runs go one by one, each mode in its own part of the program (`AbstractSystem.apart`).

    Every event leads from one of two modes, which are alike, to the other; the modes of the balls lie in the ledger.
    """

    kind: ClassVar[str] = "playground_by_mode"
    mode_names: ClassVar[tuple[str, ...]] = ("tick", "tock")
    inner: Playground

    @property
    def apart(self):
        return ((0,), (1,))

    @staticmethod
    def wrap(state):
        """The state of a playground, as this system has it."""
        return State(state.t, state.q, state.v, jnp.append(state.ledger, state.mode), jnp.asarray(0))

    @staticmethod
    def unwrap(state):
        """The state of the playground."""
        return State(state.t, state.q, state.v, state.ledger[:1], state.ledger[1:].astype(int))

    def rate(self, state):
        rate = self.inner.rate(self.unwrap(state))
        return Rate(rate.q, rate.v, jnp.append(rate.ledger, jnp.zeros(BALLS)))

    def _next_mode(self, jump, state, index):
        return self.wrap(jump(self.unwrap(state), index)).replace(mode=1 - state.mode)

    def guards(self):
        def around(guard):
            def of_inner(function):
                return lambda state: function(self.unwrap(state))

            jumps = {name: getattr(guard, name) for name in ("jump", "settle")}
            given = {name: jump and functools.partial(self._next_mode, jump) for name, jump in jumps.items()}
            return dataclasses.replace(guard, function=of_inner(guard.function), armed=of_inner(guard.armed), **given)

        return tuple(around(guard) for guard in self.inner.guards())

    def quantities(self):
        return self.inner.quantities()

    def observe(self, state):
        return self.inner.observe(self.unwrap(state))


def playground(**numbers) -> Playground:
    """A playground in which nothing happens but what these numbers say."""
    quiet = {
        "restitution": 0.9, "shake": 0.0, "pace": 0.0, "marks": [1e3] * 3, "dip": -1e3, "width": 1.0, "limit": 1e3,
        "last": 1e3, "pause": 0.0,
    }  # fmt: skip
    return Playground(**{name: jnp.asarray(value, float) for name, value in (quiet | numbers).items()})


def playground_start(height=0.0, velocity=0.0, mode=RESTS) -> State:
    """Balls at these heights, with these velocities, in these modes (one for all, or a list of the first ones)."""

    def row(value, rest):
        given = [value] * BALLS if isinstance(value, float | int) else [*value]
        return [*given, *[rest] * (BALLS - len(given))]

    q, v = [*row(height, 0.0), 0.0], [*row(velocity, 0.0), 0.0]
    return State.of(q=q, v=v, ledger=[0.0], mode=row(mode, RESTS))
