"""What a jump needs of the motion after it: where a system is a short time later, and how motion begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.state import pack, unpack
from saltus.laws.friction.limit import LEAST
from saltus.numerics.elimination import solve
from saltus.numerics.runge_kutta import PROJECTION, RATE, RK4, if_asked

PROBE_TIME = 1e-4  # [s]; time over which the growth of the acceleration of slip is measured
RELEASE_PATH = 1e-9  # [m]; what is torn loose moves as time cubed; let go earlier, it would be too stiff to follow
LONGEST_MOMENT = 1e-2  # [s]
NO_PART = 1e-8  # of the largest: singular values that count as zero
NEWTON_STEPS = 8  # of the search for the direction in which slip begins


def after_short_time(system: AbstractSystem, state: State, h) -> State:
    """The state a short time `h` later in the same mode, by one projected Runge-Kutta step of fourth order."""

    def rate(t, y):
        return pack(system.rate(unpack(state, t, y)))

    return system.project(unpack(state, state.t + h, RK4(rate, state.t, pack(state), jnp.asarray(h)).y))


def see_after_short_time(system: Any, state: State, h, wanted: Callable[[Any], Any]) -> tuple[State, Any]:
    """The state a short time `h` later, and what is wanted of what the system sees there.

    As `after_short_time`, for a system that tells rate and projection by what it sees.

    All looks are rounds of one loop: a program holds what the system sees only once.
    """

    def evaluate(t, y, asked):
        here = unpack(state, t, y)
        seen = system.see(here)
        rate = if_asked(asked & RATE, lambda: pack(system.rate_by(here, seen)), y)
        return rate, if_asked(asked & PROJECTION, lambda: pack(system.project_by(here, seen)), y), wanted(seen)

    taken = RK4.with_looks(evaluate, state.t, pack(state), jnp.asarray(h), np.ones(1))
    return unpack(state, state.t + h, taken.end), jax.tree.map(lambda looks: looks[0], taken.looks)


@eqx.filter_custom_jvp
def time_to_stop(
    speeds: Array, gain: Array, act: Callable[[Array], tuple[Array, Any]], longest: Array | float
) -> Array:
    """Time until speeds that friction brakes vanish together, as they do in a straight line [s].

    Args:
        speeds: Slip, speed of the rim and the like, in one unit.
        gain: Their accelerations.
        act: The accelerations that other speeds would have, as for `begin_slip`; the derivative asks for them.
        longest: What it is at most: speeds that hardly fall, by rounding, do not vanish [s].
    """
    left = -jnp.sum(speeds * speeds) / jnp.minimum(jnp.sum(speeds * gain), -LEAST)
    return jnp.clip(left, 0.0, longest)


@time_to_stop.def_jvp
def _differentiate_time_to_stop(primals, tangents) -> tuple[Array, Array | None]:
    """The derivative by the speeds, w, for which only what outlasts the stretch to the stop counts.

    Motions that stop at other instants differ by how long they still go on, all else being of the order of the speeds
    themselves: a change of the speeds is along their acceleration a, and w . a = -1 says by how much later they vanish.
    That holds for the motion. Explicit steps follow so stiff a one within their tolerance only, and their derivatives
    have in addition changes across it, which friction would have damped: it depends on the direction of the speeds s
    alone, and answers a change with A = da/ds. What it answers lies in the range of A, and w A = 0 leaves it out.

    Both are asked of the direction midway between that of the speeds, which ring by what the tolerance leaves, and the
    last one: on the way to it w changes, and a change of the speeds meets its mean.
    """
    speeds, gain, act, longest = primals
    change = tangents[0]
    left = time_to_stop(speeds, gain, act, longest)
    if change is None:
        return left, None
    ahead = _half_way_to_last(act, speeds / jnp.sqrt(jnp.sum(speeds * speeds)))
    last_gain, turns = _gain_and_turns(act, ahead)
    # By least squares: what is always zero, such as the speed of the rim of a point, leaves a row of zeros.
    way = jnp.linalg.lstsq(turns.T - jnp.outer(ahead, last_gain), ahead, rcond=NO_PART)[0]
    way = -way / jnp.sum(way * gain)
    way = jnp.where(jnp.isfinite(way).all(), way, -speeds / jnp.minimum(jnp.sum(speeds * gain), -LEAST))
    return left, jax.lax.stop_gradient(way) @ change


def _half_way_to_last(act: Callable[[Array], tuple[Array, Any]], ahead: Array) -> Array:
    """The direction in the middle between one and that in which speeds vanish, by one step of Newton's method."""
    gain, turns = _gain_and_turns(act, ahead)
    along = jnp.sum(ahead * gain)
    slope = jnp.block([[turns - along * jnp.eye(ahead.size), -ahead[:, None]], [ahead, jnp.zeros(())]])
    # By least squares: where friction acts in all directions alike, all of them are last ones.
    turn = jnp.linalg.lstsq(slope, jnp.append(along * ahead - gain, 0.0), rcond=NO_PART)[0][:-1]
    middle = ahead + 0.5 * turn
    return middle / jnp.sqrt(jnp.sum(middle * middle))


def _gain_and_turns(act: Callable[[Array], tuple[Array, Any]], ahead: Array) -> tuple[Array, Array]:
    """The acceleration of speeds with a direction, and its derivative by the speeds."""

    def twice(speeds):
        gain, _ = act(speeds)
        return gain, gain

    turns, gain = jax.jacfwd(twice, has_aux=True)(ahead)
    return gain, turns


class HeldOn(eqx.Module):
    """What is torn loose, a moment later.

    Args:
        moment: How long it was held [s].
        later: The state after it.
        first: What begins at the instant at which it lost its hold.
        last: What begins after the moment.
    """

    moment: Array
    later: State
    first: Any
    last: Any

    def velocity(self, first: Array, last: Array) -> Array:
        """Velocity gained by an acceleration that grows evenly from its first value to its last."""
        return 0.5 * self.moment * (first + last)

    def path(self, first: Array, last: Array) -> Array:
        """The path that it leads over."""
        return self.moment**2 * (first / 3.0 + last / 6.0)


def hold_on(
    system: AbstractSystem,
    state: State,
    begin: Callable[[State], tuple[Array, Any]],
    least: Array | float = 0.0,
    longest: Array | float = LONGEST_MOMENT,
) -> HeldOn:
    """What is torn loose is held for a moment more, while the acceleration that it would have grows.

    Args:
        system: The system.
        state: The instant at which it loses its hold.
        begin: Size of the acceleration with which slip begins in a state where it is still held, and what else is told
            of it.
        least: Speed of the slip that is to be reached, if it can be [m/s].
        longest: How long the moment may be: nothing else must happen in it [s].
    """

    def look(carry, n):
        moment, gain_at_first = carry
        later = after_short_time(system, state, moment)
        gain, told = begin(later)
        gain = jax.lax.stop_gradient(gain)  # how long the moment is has no meaning of its own
        at_first = jnp.where(n == 0, gain, gain_at_first)
        growth = jnp.maximum((gain - at_first) / jnp.maximum(moment, LEAST), 1e-9)
        even = jnp.maximum(at_first, LEAST)  # the acceleration as if it did not grow
        wanted = jnp.minimum(jnp.cbrt(6.0 * RELEASE_PATH / growth), jnp.sqrt(2.0 * RELEASE_PATH / even))
        wanted = jnp.maximum(wanted, jnp.minimum(jnp.sqrt(2.0 * least / growth), least / even))
        coming = jnp.minimum(jnp.where(n == 0, PROBE_TIME, jnp.maximum(wanted, 0.1 * PROBE_TIME)), longest)
        return (coming, at_first), (moment, later, told)

    # No time at all, a probe, then the moment that it asks for: in a loop, so that the program holds the motion once.
    moments, states, told = jax.lax.scan(look, (jnp.zeros(()), jnp.zeros(())), jnp.arange(3))[1]
    first, last = (jax.tree.map(lambda looks, n=n: looks[n], told) for n in (0, -1))
    return HeldOn(moments[-1], jax.tree.map(lambda looks: looks[-1], states), first, last)


def begin_slip(act: Callable[[Array], tuple[Array, Any]], guess: Array) -> tuple[Array, Array, Any]:
    """The direction in which slip begins: with friction against it, its acceleration is along it.

    Args:
        act: Acceleration of slip with friction against a direction, and what else is told of it.
        guess: A direction near it.

    Returns:
        The direction, the acceleration of slip, and what else is told there.
    """

    def excess(unknown):
        """What is left of the acceleration across the direction, and of the length of the direction over 1."""
        way, along = unknown[:-1], unknown[-1]
        gain, told = act(way)
        left = jnp.append(gain - along * way, 0.5 * (jnp.sum(way * way) - 1.0))
        return left, (left, gain, told)

    def improve(carry, _):
        unknown = carry[0]
        slope, (left, gain, told) = jax.jacfwd(excess, has_aux=True)(unknown)
        better = unknown - solve(slope, left)
        return (jnp.where(jnp.isfinite(better).all(), better, unknown), gain, told), None

    nothing = jax.tree.map(jnp.zeros_like, jax.eval_shape(act, guess))
    (unknown, gain, told), _ = jax.lax.scan(improve, (jnp.append(guess, 0.0), *nothing), None, length=NEWTON_STEPS)
    return unknown[:-1], gain, told
