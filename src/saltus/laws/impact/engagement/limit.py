"""The exact law: infinite force in a vanishing time."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from saltus.laws.impact.engagement.base import AbstractEngagement, Engagement, as_floats
from saltus.laws.impact.engagement.inner_motion import InnerMotion
from saltus.laws.impact.engagement.taut_motion import final_motion
from saltus.numerics.differentiable import by_forward_jacobian


class LimitEngagement(AbstractEngagement):
    """A constant force on the new link, in the limit of infinite force and no time.

    Stage A pulls until the link stops lengthening, stage B turns the crossing particle at
    constant length of the link until it moves straight away from the edge. All energy is lost
    in A (and to friction at the edge). The finite-force motion converges to it like log(F)/F.
    Accurate to some 1e-15.
    """

    name: ClassVar[str] = "limit"

    def __call__(self, angle, table_mass, response, edge_friction=0.0) -> Engagement:
        return Engagement.of(_limit(*as_floats(angle, table_mass, response, edge_friction)))


@by_forward_jacobian
def _limit(angle, table_mass, response, edge_friction):
    jerk = InnerMotion(angle, table_mass, response, edge_friction, centrifugal=1.0)
    pulled = jerk.end()
    delta, end = final_motion(jerk, pulled)
    work = pulled.tau - response * pulled.tau**2 / 2 - pulled.r * jnp.cos(pulled.delta)
    direction = angle + delta
    return jnp.stack([
        pulled.tau + end.impulse,
        end.radial * jnp.cos(direction),
        end.radial * jnp.sin(direction),
        work + pulled.rubbing + end.rubbing,
    ])  # fmt: skip
