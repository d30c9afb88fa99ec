"""The exact law: infinite force in a vanishing time."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from saltus.laws.impact.engagement.base import AbstractEngagement, Engagement, as_floats
from saltus.laws.impact.engagement.development import Cone
from saltus.laws.impact.engagement.inner_motion import InnerMotion
from saltus.numerics.differentiable import by_forward_jacobian


class LimitEngagement(AbstractEngagement):
    """A constant force on the new link, in the limit of infinite force and no time.

    Stage A pulls until the link stops lengthening, stage B turns the crossing particle at
    constant length of the link until it moves straight away from the edge. All energy is lost
    in A. The finite-force motion converges to it like log(F)/F. Accurate to some 1e-15.
    """

    name: ClassVar[str] = "limit"

    def __call__(self, angle, table_mass, response) -> Engagement:
        return Engagement.of(_limit(*as_floats(angle, table_mass, response)))


@by_forward_jacobian
def _limit(angle, table_mass, response):
    state = InnerMotion(angle, table_mass, response, centrifugal=1.0).end()
    delta, speed, impulse = Cone(table_mass, 1 / response).final_motion(state)
    loss = state.tau - response * state.tau**2 / 2 - state.r * jnp.cos(state.delta)
    direction = angle + delta
    return jnp.stack([state.tau + impulse, speed * jnp.cos(direction), speed * jnp.sin(direction), loss])
