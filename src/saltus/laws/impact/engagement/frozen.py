"""One linear projection with the edge link frozen along the table."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from saltus.laws.impact.engagement.base import AbstractEngagement, Engagement, as_floats


class FrozenEngagement(AbstractEngagement):
    """An impulse that treats the direction of the edge link as fixed while it acts.

    The impulse is right to some percent, but the table speed that follows is not: like
    `printed`, it creates energy. A link along the table does not turn at the edge, so that
    friction there does not enter.
    """

    name: ClassVar[str] = "frozen"
    creates_energy: ClassVar[bool] = True

    def __call__(self, angle, table_mass, response, edge_friction=0.0) -> Engagement:
        angle, table_mass, response = as_floats(angle, table_mass, response)
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        inertia = 1 + table_mass
        lengthening = 2 * jnp.sin((jnp.pi / 2 - angle) / 2) ** 2  # 1 - sin(angle)
        impulse = lengthening / (1 + response - sine**2 * table_mass / inertia)
        velocity = jnp.stack([impulse * cosine, 1 + impulse * sine / inertia])
        gain = impulse * sine + impulse**2 / 2 * (inertia * cosine**2 + sine**2 / inertia)
        return Engagement(impulse, velocity, impulse - response * impulse**2 / 2 - gain)
