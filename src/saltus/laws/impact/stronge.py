"""Impact with Coulomb friction and Stronge's energetic restitution."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from saltus.laws.impact.base import AbstractRoughImpactLaw
from saltus.numerics.roots import bisect
from saltus.numerics.runge_kutta import RK4

# Steps of the slip phase, in units of its fastest rate; the error of a whole impact is about 1e-10.
STEP = 0.02
MAX_STEPS = 20000
STILL = 1e-13  # slip, relative to its start or to the closing speed, that counts as none
BISECTIONS = 48


class Stronge(AbstractRoughImpactLaw):
    """Rough impact: Coulomb friction during the impact, energetic restitution along the normal.

    The contact force builds up over a very short time; its friction part opposes the slip of the
    moment, which turns and may stop and restart on the way. The work of the normal force
    regained after the greatest compression is restitution^2 of that spent before, so no choice of numbers ever
    gains energy (Newton's and Poisson's laws can, with friction).

    Args:
        restitution: Energetic coefficient, 0 to 1 [-].
        mu: Friction coefficient, >= 0 [-].

    References:
        Stronge 1990, Proc. R. Soc. Lond. A 431, 169-181; Keller 1986, J. Appl. Mech. 53, 1-4.
    """

    def impulse(self, velocity: Array, normal: Array, mobility: Array) -> Array:
        process = SlipProcess.of(velocity, normal, mobility, self.mu)
        kept = (1.0 - self.restitution**2) * process.pressed.work
        return process.until(lambda progress: kept - progress.work)


class Progress(eqx.Module):
    """How far an impact has come: velocity and impulse in the contact's basis, work of the normal force."""

    velocity: Array
    impulse: Array
    work: Array


class Contact(eqx.Module):
    """Mobility in the contact's basis (two tangents, then the normal), and friction."""

    mobility: Array
    mu: Array

    def push(self, direction: Array) -> Array:
        """Impulse per normal impulse while slipping along `direction` (a unit vector of the plane)."""
        return jnp.concatenate([-self.mu * direction, jnp.ones(1)])

    def stick_impulse(self) -> tuple[Array, Array]:
        """Impulse per normal impulse once slip has stopped, and whether it sticks.

        Sticking needs a friction impulse inside Coulomb's cone; outside, slip starts again along
        the one direction that it then keeps.
        """
        plane, cross = self.mobility[:2, :2], self.mobility[:2, 2]
        hold = -jnp.linalg.solve(plane, cross)
        sticks = jnp.sqrt(jnp.sum(hold * hold)) <= self.mu
        return jnp.where(sticks, jnp.concatenate([hold, jnp.ones(1)]), self.push(self._invariant_direction())), sticks

    def _invariant_direction(self) -> Array:
        """Direction in which slip grows without turning."""
        angles = jnp.linspace(-jnp.pi, jnp.pi, 361)

        def turning(angle):
            along, across = _polar(angle)
            change = (self.mobility @ self.push(along))[:2]
            return change @ across, change @ along

        turn, grow = jax.vmap(turning)(angles)
        # A stable direction: the turning falls through zero while slip grows; at least one exists.
        crossing = (turn[:-1] >= 0.0) & (turn[1:] <= 0.0) & (grow[:-1] > 0.0)
        low = angles[jnp.argmax(jnp.where(crossing, grow[:-1], -jnp.inf))]
        high = low + (angles[1] - angles[0])

        low, high = bisect(lambda angle: turning(angle)[0] >= 0.0, low, high, BISECTIONS)
        return _polar(_with_slope(lambda angle: turning(angle)[0], 0.5 * (low + high)))[0]


class SlipProcess(eqx.Module):
    """The slip during an impact, up to the greatest compression."""

    basis: Array
    parts: Contact
    start: Array
    closing: Array
    pressed: Progress

    @staticmethod
    def of(velocity: Array, normal: Array, mobility: Array, mu: Array) -> SlipProcess:
        basis = _basis(normal)
        start = basis.T @ velocity
        parts = Contact(basis.T @ mobility @ basis, mu)
        closing = start[2] < 0.0
        # A separating pair is run through the same formulas with a harmless number.
        start = start.at[2].set(jnp.where(closing, start[2], -1.0))
        pressed = _press(parts, Progress(start, jnp.zeros(3), jnp.zeros(())), lambda p: -p.velocity[2])
        return SlipProcess(basis, parts, start, closing, pressed)

    def until(self, left) -> Array:
        """The whole impulse in space, once `left` of the progress is used up."""
        over = _press(self.parts, _restart(self.pressed), left)
        return jnp.where(self.closing, self.basis @ over.impulse, 0.0)


def _polar(angle: Array) -> tuple[Array, Array]:
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([cos, sin]), jnp.stack([-sin, cos])


def _basis(normal: Array) -> Array:
    sign = jnp.where(normal[2] >= 0.0, 1.0, -1.0)
    a = -1.0 / (sign + normal[2])
    b = normal[0] * normal[1] * a
    first = jnp.stack([1.0 + sign * normal[0] ** 2 * a, sign * b, -sign * normal[0]])
    second = jnp.stack([b, sign + normal[1] ** 2 * a, -normal[1]])
    return jnp.stack([first, second, normal], axis=1)


def _restart(progress: Progress) -> Progress:
    """Greatest compression: the normal velocity is zero, not merely within rounding."""
    return eqx.tree_at(lambda p: p.velocity, progress, progress.velocity.at[2].set(0.0))


def _press(parts: Contact, start: Progress, left) -> Progress:
    """Let the normal impulse grow until `left` (positive before, a function of progress) is used up."""
    scale = jnp.sqrt(jnp.sum(start.velocity**2)) + 1e-300
    fastest = jnp.sqrt(jnp.sum(parts.mobility**2)) * (1.0 + parts.mu)
    full = STEP / fastest

    def going(carry):
        k, _, there = carry
        return (left(there) > 0.0) & (_size(there.velocity[:2]) > STILL * scale) & (k < MAX_STEPS)

    def step(carry):
        k, _, there = carry
        return k + 1, there, _slip_step(parts, there, full)

    # `here` is the last progress known to be short of the end, `there` one step further.
    _, here, there = jax.lax.while_loop(going, step, (jnp.zeros((), int), start, start))

    def halve(_, carry):
        low, high, _ = carry
        middle = 0.5 * (low + high)
        progress = _slip_step(parts, here, middle)
        short = left(progress) > 0.0
        return jnp.where(short, middle, low), jnp.where(short, high, middle), progress

    low, high, _ = jax.lax.fori_loop(0, BISECTIONS, halve, (jnp.zeros_like(full), full, there))
    ended = _slip_step(parts, here, _with_slope(lambda step: left(_slip_step(parts, here, step)), 0.5 * (low + high)))
    stopped = left(there) > 0.0
    finished = _finish_straight(parts, there, left)
    return jax.tree.map(lambda a, b: jnp.where(stopped, a, b), finished, ended)


def _with_slope(function, zero: Array) -> Array:
    """A zero that was found by bisection, with the derivative that it has by what the function depends on."""
    zero = jax.lax.stop_gradient(zero)
    value, slope = jax.jvp(function, (zero,), (jnp.ones_like(zero),))
    slope = jax.lax.stop_gradient(slope)
    change = jnp.where(slope == 0.0, 0.0, -value / jnp.where(slope == 0.0, 1.0, slope))
    return zero + (change - jax.lax.stop_gradient(change))


def _finish_straight(parts: Contact, start: Progress, left) -> Progress:
    """The rest after slip has stopped: velocity linear, work quadratic in the normal impulse."""
    push, sticks = parts.stick_impulse()
    change = parts.mobility @ push
    velocity = start.velocity.at[:2].set(jnp.where(sticks, 0.0, start.velocity[:2]))

    def at(normal_impulse):
        return Progress(
            velocity + change * normal_impulse,
            start.impulse + push * normal_impulse,
            start.work + velocity[2] * normal_impulse + 0.5 * change[2] * normal_impulse**2,
        )

    # Both ends are roots of a quadratic in the normal impulse: left = c0 + c1 P + c2 P^2.
    unit = jnp.maximum(jnp.abs(velocity[2]) / change[2], jnp.sqrt(jnp.abs(start.work) / change[2])) + 1e-300
    c0, c1, c2 = left(at(0.0)), left(at(unit)), left(at(2.0 * unit))
    second = 0.5 * (c2 - 2.0 * c1 + c0)
    first = c1 - c0 - second
    root = jnp.sqrt(jnp.maximum(first * first - 4.0 * second * c0, 0.0))
    falling = jnp.where(first - root < 0.0, first - root, -1e300)
    return at(jnp.where(c0 > 0.0, 2.0 * c0 / (-falling), 0.0) * unit)


def _slip_step(parts: Contact, start: Progress, step: Array) -> Progress:
    """One step of the slip phase: RK4 twice over half the step, extrapolated with one over all."""
    y, progress = ravel_pytree(start)

    def rate(_, y):
        # The parameter grows by dP / |slip|, which keeps the turning of the slip finite.
        velocity = progress(y).velocity
        slip = _size(velocity[:2])
        push = jnp.concatenate([-parts.mu * velocity[:2], slip[None]])
        return jnp.concatenate([parts.mobility @ push, push, (slip * velocity[2])[None]])

    def step_end(y, step):
        return RK4.end(rate, jnp.zeros(()), y, step)

    once, twice = step_end(y, step), step_end(step_end(y, 0.5 * step), 0.5 * step)
    return progress(twice + (twice - once) / 15.0)


def _size(slip: Array) -> Array:
    square = jnp.sum(slip * slip)
    moving = square > 0.0
    return jnp.where(moving, jnp.sqrt(jnp.where(moving, square, 1.0)), 0.0)
