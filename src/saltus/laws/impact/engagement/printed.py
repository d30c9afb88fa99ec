"""The law as printed by Vrbik, kept to show what it does."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from saltus.laws.impact.engagement.base import AbstractEngagement, Engagement, as_floats
from saltus.laws.impact.engagement.inner_motion import InnerMotion
from saltus.numerics.differentiable import by_forward_jacobian


class PrintedEngagement(AbstractEngagement):
    """The stretched-time system (4) of the article, and its re-pointing of the edge link.

    It leaves out the centrifugal term of the table mass, of the same order as those kept, and
    sets the table speed to the particle's speed without an impulse: it creates energy.

    References:
        Vrbik, Simulating n-link chain sliding off a desktop, steps (g) and (h).
    """

    name: ClassVar[str] = "printed"
    creates_energy: ClassVar[bool] = True

    def __call__(self, angle, table_mass, response, edge_friction=0.0) -> Engagement:
        return Engagement.of(_printed_jerk(*as_floats(angle, table_mass, response, edge_friction)))


@by_forward_jacobian
def _printed_jerk(angle, table_mass, response, edge_friction):
    state = InnerMotion(angle, table_mass, response, edge_friction, centrifugal=0.0).end()
    direction = angle + state.delta
    cosine, sine = jnp.cos(direction), jnp.sin(direction)
    down = state.radial * cosine - state.tangential * sine
    outward = state.radial * sine + state.tangential * cosine
    loss = state.tau - response * state.tau**2 / 2 - state.gain
    return jnp.stack([state.tau, down, outward, loss])
