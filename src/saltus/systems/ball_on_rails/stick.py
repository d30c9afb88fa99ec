"""Which point contacts of a ball on two rails slide, and which stick.

With no turning about x the two contacts slide along the rails only. The forces of Coulomb's law are piecewise
constant, so the motion is exact; what follows an event is decided by trying all nine combinations of forward,
backward and stick, of which one is consistent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saltus.systems.ball_common import sliding_force
from saltus.systems.ball_on_rails.forces import Pair, even_load

if TYPE_CHECKING:
    from saltus.systems.ball_on_rails.system import BallOnRails

MODES = ("open", "slip", "forward", "backward", "stick", "creep_forward", "creep_backward", "rest", "jammed")
OPEN, SLIP, FORWARD, BACKWARD, STICK, CREEP_FORWARD, CREEP_BACKWARD, REST, JAMMED = range(9)

# All combinations, those that stick first: where several fit by rounding, rest is preferred.
_SIGNS = np.array([[0, 0], [0, 1], [0, -1], [1, 0], [-1, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]], float)
_ROUNDING = 1e-12


def forces_along(ball: BallOnRails, sign: Float[Array, "*n 2"], slip: Pair) -> Float[Array, "*n 2"]:
    """Forces along the rails for contacts that slide forward (+1), backward (-1) or stick (0), at these slips."""
    own, other = coupling(ball)
    pull = ball.mass * ball.gravity * jnp.sin(ball.slope)
    sliding = sliding_force(ball.law, sign, slip, even_load(ball))
    both = -pull / (own + other)
    one = -(other * sliding[..., ::-1] + pull) / own
    sticks = sign == 0
    return jnp.where(sticks, jnp.where(sticks.all(-1, keepdims=True), both, one), sliding)


def coupling(ball: BallOnRails) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """What a force along a rail does to the slip there and on the other rail, times the mass."""
    return jnp.asarray(3.5), 1.0 + 2.5 * jnp.cos(2 * ball.half_angle)


def straight_modes(ball: BallOnRails, slip: Pair, negligible: Float[Array, ""]) -> Int[Array, "2"]:
    """The consistent modes for these slips along the rails; below `negligible` a slip counts as zero."""
    own, other = coupling(ball)
    signs = jnp.asarray(_SIGNS)
    force = forces_along(ball, signs, jnp.where(jnp.abs(slip) > negligible, slip, 0.0))
    limit = ball.law.capacity(even_load(ball))
    gain = (own * force + other * force[:, ::-1]) / ball.mass + ball.gravity * jnp.sin(ball.slope)
    moving = jnp.abs(slip) > negligible
    starts = jnp.where(signs == 0, jnp.abs(force) <= limit * (1 + _ROUNDING), signs * gain >= 0.0)
    fits = jnp.where(moving, signs == jnp.sign(slip), starts).all(-1)
    chosen = signs[jnp.argmax(fits)]
    return jnp.where(chosen > 0, FORWARD, jnp.where(chosen < 0, BACKWARD, STICK)).astype(int)


def sign_of(mode: Int[Array, "2"]) -> Pair:
    """+1 for forward, -1 for backward, 0 for anything else."""
    forward = (mode == FORWARD) | (mode == CREEP_FORWARD)
    backward = (mode == BACKWARD) | (mode == CREEP_BACKWARD)
    return forward * 1.0 - backward * 1.0


def rolling_limit(mu: float, half_angle: float) -> tuple[float, float]:
    """Tangent of the steepest slope on which a ball with point contacts rolls, and its acceleration over g sin(slope).

    >>> rolling_limit(0.5, 0.0)
    (1.75, 0.7142857142857143)
    """
    C = math.cos(half_angle)
    return mu * (5 * C * C + 2) / (2 * C), 5 * C * C / (5 * C * C + 2)
