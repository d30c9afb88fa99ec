"""Stage A of a jerk: a particle pulled by a unit force and tethered over the edge to the table mass.

In the stretched time tau of the jerk every angle of the chain is frozen; only the crossing
particle moves, by an infinitesimal amount, but its direction seen from the edge turns by tens of
degrees. Polar variables r, theta of the particle, V = dr/dtau, w = r dtheta/dtau; delta = theta -
angle of the link; mass 1, force 1, start at r = 0 with V = 1 along the table (theta = pi/2);
M = m_t exp(mu (pi/2 - theta)) is the table mass with the friction of the edge.

    V' = (cos(delta) + c w^2/r) / (1 + M),   w' = -sin(delta) - V w/r

c = 1 is mechanics; c = 1 + M is the system as printed by Vrbik, without the centrifugal term of
the table mass. With d tau = r ds nothing is divided by r, the system is invariant under
r -> k^2 r, (V, w) -> k (V, w), s -> s/k, and a step of 0.5/sqrt(V^2 + w^2 + r) of 12-point Gauss
collocation is exact to 1e-17 for every angle, mass and response (measured in extended precision).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from saltus.numerics.collocation import collocation_step, gauss_nodes, mean_matrix
from saltus.numerics.trees import choose

POINTS = 12
PICARD_SWEEPS = 24  # the error falls like (step)^n / n!; 18 reach rounding
NEWTON_SWEEPS = 7
FIRST_TAU = 0.25
STEP = 0.5
MOST_STEPS = 500  # 16 is the most ever seen; the bound only keeps a NaN from looping


class InnerState(NamedTuple):
    """The particle inside the jerk, and what has accumulated.

    Args:
        r: Distance from the edge (stretched).
        delta: Angle from the link to the particle, seen from the edge [rad].
        radial, tangential: The particle's velocity along and across its direction.
        tau: Impulse of the link so far.
        rubbing: Work of friction at the edge.
        gain: (1 + m_t) (|v|^2 - 1) / 2, without cancellation.
    """

    r: Float[Array, ""]
    delta: Float[Array, ""]
    radial: Float[Array, ""]
    tangential: Float[Array, ""]
    tau: Float[Array, ""]
    rubbing: Float[Array, ""]
    gain: Float[Array, ""]


class InnerMotion(NamedTuple):
    """A unit force on the link until it stops lengthening.

    Args:
        angle, table_mass, response, edge_friction: As for the law.
        centrifugal: 1 (mechanics) or 0 (as printed): share of the table's centrifugal term.
    """

    angle: Float[Array, ""]
    table_mass: Float[Array, ""]
    response: Float[Array, ""]
    edge_friction: Float[Array, ""]
    centrifugal: float

    def end(self) -> InnerState:
        """The state as the link has just stopped lengthening."""
        state, stretching = self._end_within_start()
        return lax.cond(stretching > 0, self._end_by_marching, lambda here: here, state)

    def lengthening(self) -> Float[Array, ""]:
        """1 - sin(angle) without cancellation: how fast the link lengthens at first."""
        return 2 * jnp.sin((jnp.pi / 2 - self.angle) / 2) ** 2

    def drag(self, theta: Array) -> tuple[Array, Array]:
        """Table mass as the tether feels it, and the part of it that is friction."""
        rubbed = self.table_mass * jnp.expm1(self.edge_friction * (jnp.pi / 2 - theta))
        return self.table_mass + rubbed, rubbed

    def start(self, tau: Float[Array, ""]) -> tuple[InnerState, Array, Array]:
        """State at a small `tau`, the link's rate of lengthening there, and the derivative of that rate.

        The start is a removable singularity (direction of the zero vector). Collocation works
        with the mean velocity r/tau instead, which is analytic.
        """
        nodes, weights = gauss_nodes(POINTS)
        mean, first_moment = jnp.asarray(mean_matrix(POINTS)), jnp.asarray(mean_matrix(POINTS, 1))

        def sweep(_, carry):
            acceleration, _ = carry
            found = self._start_field(tau * nodes, mean @ acceleration, first_moment @ acceleration)
            return found[-2:]

        carry = (jnp.zeros((POINTS, 2)), jnp.zeros(POINTS))
        acceleration, rubbing = lax.fori_loop(0, PICARD_SWEEPS, sweep, carry)
        mean_end, moment_end = weights @ acceleration, (weights * nodes) @ acceleration
        velocity, direction, speed, turning, end_acceleration, _ = self._start_field(tau, mean_end, moment_end)
        change = tau * mean_end
        unit = self._link_direction()
        state = InnerState(
            r=tau * speed,
            delta=jnp.arctan2(direction[1], direction[0]) - self.angle,
            radial=velocity @ direction,
            tangential=tau * turning,
            tau=tau,
            rubbing=tau * (weights @ rubbing),
            gain=(1 + self.table_mass) / 2 * (change[0] ** 2 + change[1] * (2 + change[1])),
        )
        stretching = self.lengthening() - self.response * tau - unit @ change
        return state, stretching, -self.response - unit @ end_acceleration

    def _link_direction(self) -> Float[Array, " 2"]:
        return jnp.stack([jnp.cos(self.angle), jnp.sin(self.angle)])

    def _start_field(self, tau, mean, moment):
        """Velocity, direction, mean speed, w/tau, acceleration and edge power from means of the acceleration."""
        outward = jnp.array([0.0, 1.0])
        spread = jnp.asarray(tau)[..., None]
        velocity = outward + spread * mean
        average = outward + spread * (mean - moment)
        speed = jnp.sqrt(jnp.sum(average**2, axis=-1))
        direction = average / speed[..., None]
        turning = direction[..., 0] * moment[..., 1] - direction[..., 1] * moment[..., 0]
        mass, rubbed = self.drag(jnp.arctan2(direction[..., 1], direction[..., 0]))
        pull = (direction @ self._link_direction() + self.centrifugal * tau * turning**2 / speed) / (1 + mass)
        acceleration = self._link_direction() - (mass * pull)[..., None] * direction
        return velocity, direction, speed, turning, acceleration, rubbed * pull * jnp.sum(velocity * direction, axis=-1)

    def _end_within_start(self) -> tuple[InnerState, Array]:
        """The end, found by Newton, if it comes before FIRST_TAU; else the state there, still lengthening."""

        def ongoing(carry):
            _, _, stretching, count = carry
            beyond = (count == 1) & (stretching > 0)
            return (count < NEWTON_SWEEPS) & ~beyond

        def sweep(carry):
            tau, _, _, count = carry
            state, stretching, slope = self.start(tau)
            secant = FIRST_TAU * self.lengthening() / (self.lengthening() - stretching)
            following = jnp.where(count == 0, secant, tau - stretching / slope)
            return jnp.clip(following, 0.0, FIRST_TAU), state, stretching, count + 1

        zero = jnp.zeros_like(self.angle)
        carry = (zero + FIRST_TAU, InnerState(*[zero] * len(InnerState._fields)), zero, 0)
        _, state, stretching, count = lax.while_loop(ongoing, sweep, carry)
        return state, jnp.where(count == 1, stretching, 0.0)

    def _end_by_marching(self, first: InnerState) -> InnerState:
        """Steps until the link shortens, then the last one again with its length found by Newton."""

        def ongoing(carry):
            _, _, _, sweeps, count = carry
            return (sweeps < NEWTON_SWEEPS) & (count < MOST_STEPS)

        def march(carry):
            here, _, size, sweeps, count = carry
            there = self._step(here, size)
            left = self._stretching(there)
            onward = (sweeps == 0) & (left >= 0)
            before = self._stretching(here)
            secant = size * before / (before - left)
            shorter = jnp.where(sweeps == 0, secant, size - left / self._stretching_slope(there))
            following = choose(onward, there, here)
            size = jnp.where(onward, self._step_size(there), shorter)
            return following, there, size, jnp.where(onward, 0, sweeps + 1), count + 1

        carry = (first, first, self._step_size(first), 0, 0)
        return lax.while_loop(ongoing, march, carry)[1]

    def _step_size(self, state: InnerState):
        return STEP / jnp.sqrt(state.radial**2 + state.tangential**2 + state.r)

    def _stretching(self, state: InnerState):
        along = state.radial * jnp.cos(state.delta) - state.tangential * jnp.sin(state.delta)
        return 1 - self.response * state.tau - along

    def _stretching_slope(self, state: InnerState):
        cosine = jnp.cos(state.delta)
        mass, _ = self.drag(state.delta + self.angle)
        pull = mass / (1 + mass) * (state.r * cosine + self.centrifugal * state.tangential**2)
        return -state.r * (1 + self.response) + pull * cosine

    def _rate(self, state: InnerState) -> InnerState:
        r, delta, radial, tangential, _, _, _ = state
        cosine, sine = jnp.cos(delta), jnp.sin(delta)
        mass, rubbed = self.drag(delta + self.angle)
        pull = (r * cosine + self.centrifugal * tangential**2) / (1 + mass)
        return InnerState(
            r=r * radial,
            delta=tangential,
            radial=pull + (1 - self.centrifugal) * tangential**2,
            tangential=-r * sine - radial * tangential,
            tau=r,
            rubbing=rubbed * pull * radial,
            gain=r * (1 + self.table_mass) * (radial * cosine / (1 + mass) - tangential * sine),
        )

    def _step(self, state: InnerState, size) -> InnerState:
        """One step of Gauss collocation in s, solved by Picard sweeps."""
        start = jnp.stack(state)

        def rates(_, stages):
            return jnp.stack(self._rate(InnerState(*stages)))

        return InnerState(*collocation_step(rates, start, size, jnp.zeros((start.size, POINTS)), PICARD_SWEEPS + 1))
