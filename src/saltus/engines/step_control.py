"""How long steps are: adaptive by the error of each, or constant on a grid."""

from __future__ import annotations

import abc
import functools
from typing import ClassVar, NamedTuple, TypeGuard, cast

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.engines.collocation import CollocationStepper
from saltus.engines.flat import FlatSystem, Marks
from saltus.engines.guard_test import GLANCES, may_fall
from saltus.engines.steppers import ExplicitStepper, Flat, ImplicitStepper, Scalar, Step
from saltus.engines.trial import Carry, Pace, Status, Trial
from saltus.hybrid import AbstractSystem
from saltus.numerics.runge_kutta import growth
from saltus.programs.arrays import numbers

Stepper = ExplicitStepper | ImplicitStepper
EPS = float(jnp.finfo(jnp.float64).eps)
DEEPEST = 28  # how often a constant step is halved on the way to a singular event
LEFT = 0.75  # share of a singular guard that a constant step must leave
AGREE, ALIKE = 0.25, 1e-4  # share of the change of the rates in a step, and of the rates, to which its stages agree


class Verdict(NamedTuple):
    """Whether a step is kept, how long the next ones are, and whether the flow goes on (`Status`)."""

    keep: Bool[Array, ""]
    pace: Pace
    status: Int[Array, ""]


class AbstractSteps(eqx.Module):
    """A step controller.

    Attributes:
        constant: Whether steps are constant.
        project: Whether the system's constraints are restored after each step.
    """

    constant: ClassVar[bool]
    project: bool = eqx.field(static=True, kw_only=True)

    @abc.abstractmethod
    def begin(self, pace: Pace) -> Pace:
        """The pace to begin with after that of the flow before."""

    def take(self, flat: FlatSystem, stepper: Stepper, t: Scalar, y: Flat, h: Scalar) -> tuple[Flat, Step]:
        """One step, with the constraints restored."""
        if self.at_once(stepper, flat):
            taken = stepper.with_looks(flat.moves_at_once, t, y, h, np.zeros(0))
            return taken.end, taken.step
        step = self.step_from(flat, stepper, t, y, h)
        return (flat.project(t + h, step.y) if self.project else step.y), step

    def step_from(self, flat: FlatSystem, stepper: Stepper, t: Scalar, y: Flat, h: Scalar) -> Step:
        """One step as the method takes it."""
        return stepper(flat.rate, t, y, h)

    def at_once(self, stepper: Stepper, flat: FlatSystem) -> TypeGuard[ExplicitStepper]:
        """Whether a step and the looks along it are taken in one loop (`ExplicitStepper.with_looks`)."""
        return self.project and not self.constant and isinstance(stepper, ExplicitStepper) and flat.entwined()

    @abc.abstractmethod
    def target(self, t: Scalar, h: Scalar, until: Scalar) -> Scalar:
        """Time at which the next step ends [s]."""

    def bound(self, h: Scalar, look_interval: Scalar | None) -> Scalar:
        """The length of the next step, such that looks along it are near enough (`AbstractSystem.look_interval`)."""
        if look_interval is None or self.constant:
            return h
        return jnp.minimum(h, (GLANCES.size - 1) * look_interval)

    def worth_looking(self, y: Flat, step: Step, end: Flat) -> Bool[Array, ""]:
        """Whether a step from `y` to `end` may be kept, so that guards must be looked at along it."""
        return jnp.asarray(True)

    @abc.abstractmethod
    def judge(self, trial: Trial, carry: Carry, finite, armed, marks: Marks, order: int, until) -> Verdict:
        """Whether a step that was tried is kept, whatever the guards say, and how long the next one is."""

    @abc.abstractmethod
    def after_doubt(self, pace: Pace, doubt: Bool[Array, ""]) -> Pace:
        """The pace after a step, if that one was left for the search."""

    @abc.abstractmethod
    def after_jump(self, pace: Pace, duration: Scalar | float) -> Pace:
        """The pace after a jump.

        Args:
            pace: That without the jump.
            duration: Time since the jump before [s].
        """


class AdaptiveSteps(AbstractSteps):
    """Steps as long as their error allows.

    Args:
        rtol: Error allowed per step, relative to the size of each component.
        atol: Error allowed per step, absolute.
        project: Whether the system's constraints are restored after each step.
    """

    constant: ClassVar[bool] = False

    rtol: Float[Array, ""]
    atol: Float[Array, ""]
    project: bool = eqx.field(static=True, kw_only=True, default=True)

    def begin(self, pace: Pace) -> Pace:
        return pace

    def target(self, t: Scalar, h: Scalar, until: Scalar) -> Scalar:
        return jnp.where(until - t < 1.01 * h, until, t + h)

    def judge(self, trial: Trial, carry: Carry, finite, armed, marks: Marks, order: int, until) -> Verdict:
        step, h = trial.step, trial.t - carry.t
        error = jnp.where(finite, self._error(carry.y, step, trial.y), jnp.inf)
        keep = error <= 1.0
        before, allowed = carry.pace, growth(jnp.maximum(error, 1e-30), order)
        factor = jnp.clip(allowed, 0.2, jnp.where(keep, 10.0, 0.9))
        # Where the steps that the error allows become shorter and shorter, as towards a stop, the next one is foreseen
        # (Gustafsson): without that every other step is tried in vain.
        reach = h * allowed
        trend = jnp.where(keep & (before.reach > 0.0), jnp.clip(reach / before.reach, 0.2, 1.0), 1.0)
        h_next = h * factor * trend
        # A step that was cut short by `until` says nothing against longer ones.
        h_next = jnp.where(keep & (trial.t == until), jnp.maximum(h_next, before.h), h_next)
        # The first step has no length: it only tells how fast the state changes.
        begins = before.h == 0.0
        h_next = jnp.where(begins, self._cautious(carry.y, step.rate_before, until - carry.t), h_next)
        keep = keep & ~begins
        # Asked so that a length that is no number ends the flow, too: it would be tried for ever.
        shortest = jnp.where(begins, 0.0, 4 * EPS * jnp.maximum(jnp.abs(carry.t), 1e-290))
        stalled = ~keep & ~(h_next > shortest)
        pace = Pace(h_next, jnp.where(keep, reach, before.reach))
        return Verdict(keep, pace, jnp.where(stalled, Status.stalled, Status.going))

    def _error(self, y: Flat, step: Step, end: Flat) -> Scalar:
        """Error of a step from `y` to `end`, in units of what is allowed."""
        return _norm(step.error / (self.atol + self.rtol * jnp.maximum(jnp.abs(y), jnp.abs(end))))

    def worth_looking(self, y: Flat, step: Step, end: Flat) -> Bool[Array, ""]:
        """Where the error is no number too: the start may be beyond a border, and only the guards tell."""
        return ~(self._error(y, step, end) > 1.0)

    def _cautious(self, y: Flat, rate: Flat, span: Scalar) -> Scalar:
        """A first step that changes the state by about a hundredth."""
        scale = self.atol + self.rtol * jnp.abs(y)
        size, speed = _norm(y / scale), _norm(rate / scale)
        guess = jnp.where((size > 1e-5) & (speed > 1e-5), 0.01 * size / speed, 1e-6)
        return jnp.minimum(guess, span)

    def after_doubt(self, pace: Pace, doubt: Bool[Array, ""]) -> Pace:
        return pace

    def after_jump(self, pace: Pace, duration: Scalar | float) -> Pace:
        """The flow may be much quicker than before, and a short segment warns of more."""
        known = not any(isinstance(x, jax.core.Tracer) for x in (pace.h, duration))  # then nothing need be compiled
        xp, step = (np, np.asarray(pace.h)) if known else (jnp, pace.h)
        return Pace(xp.minimum(step, xp.maximum(4.0 * duration, 1e-6 * step)), xp.zeros_like(step))


class ConstantSteps(AbstractSteps):
    """Steps that end on a grid; halved where the rate turns quickly towards a singular event.

    Args:
        step: Length of a step [s].
        origin: Time from which steps are counted [s].
        project: Whether the system's constraints are restored after each step.
    """

    constant: ClassVar[bool] = True

    step: Float[Array, ""]
    origin: Float[Array, ""]
    project: bool = eqx.field(static=True, kw_only=True, default=False)

    def begin(self, pace: Pace) -> Pace:
        return Pace(jnp.where(pace.h > 0.0, pace.h, self.step), pace.reach)

    def step_from(self, flat: FlatSystem, stepper: Stepper, t: Scalar, y: Flat, h: Scalar) -> Step:
        """One step, by collocation where the rate is not smooth: it cannot be shortened there."""
        rough = flat.rough(t, y)
        if rough is None:
            return stepper(flat.rate, t, y, h)
        careful = CollocationStepper(points=stepper.order // 2 + 1)
        return jax.lax.cond(rough, lambda: careful(flat.rate, t, y, h), lambda: stepper(flat.rate, t, y, h))

    def target(self, t: Scalar, h: Scalar, until: Scalar) -> Scalar:
        n = jnp.floor(self._behind(t, h)) + 1.0
        return jnp.minimum(self.origin + n * h, until)

    def _behind(self, t: Scalar, h: Scalar) -> Scalar:
        """How many steps of length h lie behind, a little more than that: rounding must not repeat one."""
        n = (t - self.origin) / h
        return n + jnp.maximum(1e-6, 8 * EPS * n)

    def judge(self, trial: Trial, carry: Carry, finite, armed, marks: Marks, order: int, until) -> Verdict:
        halved = self._needs_halving(trial, carry, armed, marks, finite)
        h = carry.pace.h
        pace = Pace(jnp.where(halved, 0.5 * h, self._longer(trial.t, h)), carry.pace.reach)
        return Verdict(finite & ~halved, pace, jnp.where(finite | halved, Status.going, Status.not_finite))

    def _needs_halving(self, trial: Trial, carry: Carry, armed, marks: Marks, finite) -> Bool[Array, ""]:
        """Whether a step is too long: it leaves the domain, or the rate may have turned quickly within it."""
        shortest = jnp.maximum(self.step * 0.5**DEEPEST, 64 * EPS * jnp.abs(carry.t))
        bad = ~finite
        if marks.singular.any():
            g = trial.guards
            falls = (g[0] > 0.0) & (g.min(axis=0) < LEFT * g[0])
            watched = armed & marks.singular
            bad = bad | (watched & (falls | may_fall(g, armed))).any() | (watched.any() & stiff(trial, carry, marks))
        return bad & (carry.pace.h > shortest)

    def _longer(self, t: Scalar, h: Scalar) -> Scalar:
        """The next step: twice as long if it was halved, and t is on the grid of twice its length."""
        n = self._behind(t, 2.0 * h)
        on_grid = n - jnp.floor(n) <= 2 * jnp.maximum(1e-6, 8 * EPS * n)
        return jnp.where((h < self.step) & on_grid, 2.0 * h, h)

    def after_doubt(self, pace: Pace, doubt: Bool[Array, ""]) -> Pace:
        return Pace(jnp.where(doubt, self.step, pace.h), pace.reach)

    def after_jump(self, pace: Pace, duration: Scalar | float) -> Pace:
        return Pace(self.step, pace.reach)


def steps_for(
    system: AbstractSystem, rtol: float, atol: float, step: float | None, origin
) -> AdaptiveSteps | ConstantSteps:
    """As `steps_of`, with no larger an absolute tolerance than that with which the system's guards still work."""
    limit = type(system).atol_limit(system)  # of the class: quicker than a method of an instance, with equinox
    return steps_of(rtol, min(float(atol), limit), step, origin)


def steps_of(rtol: float, atol: float, step: float | None, origin) -> AdaptiveSteps | ConstantSteps:
    """Constant steps if a step is given, else adaptive ones; the constraints are restored after adaptive steps."""
    if step is None:
        known = type(rtol) is float and type(atol) is float
        return _adaptive(rtol, atol) if known else AdaptiveSteps(numbers(rtol), numbers(atol))
    return ConstantSteps(numbers(step), numbers(origin))


@functools.lru_cache(maxsize=64)
def _adaptive(rtol: float, atol: float) -> AdaptiveSteps:
    relative, absolute = (np.asarray(error) for error in (rtol, atol))  # remembered, so nothing that is being traced
    return AdaptiveSteps(cast("Array", relative), cast("Array", absolute))


def stiff(trial: Trial, carry: Carry, marks: Marks) -> Bool[Array, ""]:
    """Whether the rate turns faster than the stages of a constant step can follow.

    Without this a slow mass slides on at a speed of about step times friction, thrown to and fro.
    """
    step, h = trial.step, trial.t - carry.t
    parts = (step.error, step.rate_after - step.rate_before, step.rate_before, step.rate_after)
    differ, change, before, after = (jnp.max(jnp.abs(part[marks.velocity]), initial=0.0) for part in parts)
    return differ > h * (AGREE * change + ALIKE * jnp.maximum(before, after))


def _norm(x: Array) -> Scalar:
    return jnp.sqrt(jnp.mean(x**2)) if x.size else jnp.asarray(0.0)
