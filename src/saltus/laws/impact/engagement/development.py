"""Stage B of a jerk in closed form: the link is taut, and the particle turns until it moves straight from the edge.

With a rigid link the inner kinetic metric is that of an elliptic cone. A cone can be rolled out
flat, and free motion on it is a straight line: the angle psi on the flat sheet between the
particle and the direction of its motion is known at once, and the final direction follows from
one quadrature (m_h = 1/response):

    psi' = sqrt(R) / A,   A = 1 + m_t + m_h cos^2(delta),   R = 1 + m_h + m_t + m_h m_t sin^2(delta)
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from saltus.laws.impact.engagement.inner_motion import MOST_STEPS, NEWTON_SWEEPS, POINTS, InnerState
from saltus.numerics.collocation import gauss_nodes, integral_matrix

WIDEST_PANEL = 0.5


class Cone(NamedTuple):
    """The developable cone of a taut link.

    Args:
        table_mass: Mass on the table / mass of the crossing particle.
        hanging_mass: 1 / response.
    """

    table_mass: Float[Array, ""]
    hanging_mass: Float[Array, ""]

    def stretch(self, delta):
        """A: squared length on the sheet per squared distance from the edge."""
        return 1 + self.table_mass + self.hanging_mass * jnp.cos(delta) ** 2

    def shear(self, delta):
        """R = (A psi')^2."""
        masses = self.table_mass * self.hanging_mass
        return 1 + self.hanging_mass + self.table_mass + masses * jnp.sin(delta) ** 2

    def angle_rate(self, delta):
        """psi': angle on the sheet per angle seen from the edge."""
        return jnp.sqrt(self.shear(delta)) / self.stretch(delta)

    def panel(self, delta):
        """A quadrature panel: half the distance to the nearest complex singularity of psi'."""
        near_zero = self.hanging_mass * self.table_mass / self.shear(delta)
        near_right_angle = self.hanging_mass / self.stretch(delta)
        return jnp.minimum(WIDEST_PANEL, 0.5 / jnp.sqrt(jnp.maximum(near_zero, near_right_angle)))

    def final_motion(self, state: InnerState) -> tuple[Array, Array, Array]:
        """Angle from the link and speed of the straight motion in the end, and the link's further impulse."""
        _, delta, radial, tangential, _, _ = state
        cosine, sine = jnp.cos(delta), jnp.sin(delta)
        along = radial * cosine - tangential * sine
        energy = (1 + self.table_mass) * radial**2 + tangential**2 + self.hanging_mass * along**2
        root = jnp.sqrt(self.stretch(delta))
        turn = jnp.arctan2(
            tangential * self.angle_rate(delta) * root,
            (root**2 * radial - self.hanging_mass * tangential * sine * cosine) / root,
        )
        final, impulse = self._unroll(delta, jnp.abs(turn), jnp.where(turn < 0, -1.0, 1.0))
        return final, jnp.sqrt(energy / self.stretch(final)), jnp.sqrt(energy) * impulse

    def _unroll(self, delta, turn, sign):
        """Where the angle on the sheet has grown by `turn`, and the impulse for unit energy on the way."""

        def ongoing(carry):
            _, _, _, _, sweeps, count = carry
            return (sweeps < NEWTON_SWEEPS) & (count < MOST_STEPS)

        def march(carry):
            (delta, left, impulse), _, size, _, sweeps, count = carry
            covered, gained = self._panel_sums(delta, sign * size, left)
            there = delta + sign * size
            onward = (sweeps == 0) & (covered < left)
            secant = size * left / covered
            shorter = jnp.where(sweeps == 0, secant, size - (covered - left) / self.angle_rate(there))
            following = (
                jnp.where(onward, there, delta),
                jnp.where(onward, left - covered, left),
                jnp.where(onward, impulse + gained, impulse),
            )
            size = jnp.where(onward, self.panel(there), shorter)
            return following, there, size, impulse + gained, jnp.where(onward, 0, sweeps + 1), count + 1

        zero = jnp.zeros_like(turn)
        carry = ((delta, turn, zero), delta, self.panel(delta), zero, 0, 0)
        _, final, _, impulse, _, _ = lax.while_loop(ongoing, march, carry)
        return final, impulse

    def _panel_sums(self, delta, size, left):
        """Angle on the sheet over a panel, and impulse (m_t m_h int sin(psi left) cos(delta) sqrt(A) / R^(3/2))."""
        nodes, weights = gauss_nodes(POINTS)
        points = delta + size * nodes
        rates = self.angle_rate(points)
        remaining = left - jnp.abs(size) * (jnp.asarray(integral_matrix(POINTS)) @ rates)
        pulls = jnp.sin(remaining) * jnp.cos(points) * jnp.sqrt(self.stretch(points)) / self.shear(points) ** 1.5
        masses = self.table_mass * self.hanging_mass
        return jnp.abs(size) * (weights @ rates), masses * jnp.abs(size) * (weights @ pulls)
