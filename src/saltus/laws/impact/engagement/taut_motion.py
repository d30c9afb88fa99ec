"""Stage B of a jerk: the link is taut, and the particle turns until it moves straight away from the edge.

With a rigid link the inner motion has no scale of its own, and over the angle delta from the link to
the particle it is linear in the velocities (M: table mass as felt, a: response, V, w as in stage A):

    dV/d(delta) = w / Q,   dw/d(delta) = -V - w M sin(delta) cos(delta) / ((1 + a) Q),
    Q = 1 + M (1 - cos^2(delta) / (1 + a))

until w = 0. Without friction at the edge it is a straight line on a developed elliptic cone; the tests
compare with that closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from saltus.laws.impact.engagement.inner_motion import (
    MOST_STEPS,
    NEWTON_SWEEPS,
    PICARD_SWEEPS,
    POINTS,
    InnerMotion,
    InnerState,
)
from saltus.numerics.collocation import collocation_step

WIDEST_PANEL = 0.5


class TautState(NamedTuple):
    """The particle while the link is taut.

    Args:
        radial, tangential: Its velocity along and across its direction.
        impulse: Impulse of the link since it is taut.
        rubbing: Work of friction at the edge since then.
    """

    radial: Float[Array, ""]
    tangential: Float[Array, ""]
    impulse: Float[Array, ""]
    rubbing: Float[Array, ""]


def final_motion(jerk: InnerMotion, state: InnerState) -> tuple[Array, TautState]:
    """Angle from the link in which the particle moves in the end, and the state there."""
    sign = jnp.where(state.tangential < 0, -1.0, 1.0)

    def panel(delta):
        """Half the distance to the nearest complex zero of Q."""
        mass, _ = jerk.drag(delta + jerk.angle)
        inverse = mass / (mass * (jnp.sin(delta) ** 2 + jerk.response) + 1 + jerk.response)
        return jnp.minimum(WIDEST_PANEL, 0.5 / jnp.sqrt(jnp.maximum(inverse, 1e-300)))

    def ongoing(carry):
        _, _, _, _, _, sweeps, count = carry
        return (sweeps < NEWTON_SWEEPS) & (count < MOST_STEPS)

    def march(carry):
        delta, here, _, _, size, sweeps, count = carry
        there, values = delta + sign * size, _panel_end(jerk, delta, here, sign * size)
        left, before = sign * values.tangential, sign * here.tangential
        onward = (sweeps == 0) & (left > 0)
        secant = size * before / jnp.where(before == left, 1.0, before - left)
        slope = _rate(jerk, there, values).tangential
        shorter = jnp.where(sweeps == 0, secant, size - left / slope)
        following = TautState(*(jnp.where(onward, x, y) for x, y in zip(values, here, strict=True)))
        size = jnp.where(onward, panel(there), shorter)
        return (
            jnp.where(onward, there, delta), following, there, values, size,
            jnp.where(onward, 0, sweeps + 1), count + 1,
        )  # fmt: skip

    zero = jnp.zeros_like(state.delta)
    first = TautState(state.radial, state.tangential, zero, zero)
    carry = (state.delta, first, state.delta, first, panel(state.delta), 0, 0)
    _, _, delta, end, _, _, _ = lax.while_loop(ongoing, march, carry)
    return delta, end


def _rate(jerk: InnerMotion, delta: Array, state: TautState) -> TautState:
    """Derivatives over the angle delta."""
    cosine, sine = jnp.cos(delta), jnp.sin(delta)
    mass, rubbed = jerk.drag(delta + jerk.angle)
    stiff = 1 + mass * (1 - cosine**2 / (1 + jerk.response))
    turning = state.tangential / stiff
    pull = mass * cosine / (1 + jerk.response) * turning
    return TautState(
        radial=turning,
        tangential=-state.radial - pull * sine,
        impulse=pull,
        rubbing=rubbed * state.radial * turning,
    )


def _panel_end(jerk: InnerMotion, delta: Array, state: TautState, size: Array) -> TautState:
    """The state at the end of a panel, by Gauss collocation."""
    start = jnp.stack(state)

    def rates(nodes, stages):
        return jnp.stack(_rate(jerk, delta + size * nodes, TautState(*stages)))

    return TautState(*collocation_step(rates, start, size, jnp.zeros((start.size, POINTS)), PICARD_SWEEPS + 1))
