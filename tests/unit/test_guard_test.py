"""The guard test in its three forms: none overlooks a passage through zero that a step resolves."""

import jax.numpy as jnp
import numpy as np
import pytest
from tests.unit.test_legs import Swing

import saltus as sl
from saltus.engines.band_step import METHOD, Leg
from saltus.engines.guard_test import GLANCES, bound_by_stages, may_fall, may_pass, stays
from saltus.engines.steppers import stepper
from saltus.hybrid import Guard

FINE = np.linspace(0.0, 1.0, 2001)


def smooth_guards(count=4000, fastest=3.0, seed=1):
    """Guards g(x) over a step 0 <= x <= 1, and their rates: a line and two waves of up to three radians per step."""
    random = np.random.default_rng(seed)
    level, slope, size, turns, phase = (random.normal(size=(count, n)) for n in (1, 1, 2, 2, 2))
    turns = fastest * np.tanh(turns)

    def rate(x):
        return slope + np.sum(size * turns * np.cos(turns * x + phase), axis=1, keepdims=True)

    def value(x):
        x = np.asarray(x, float)[None, :]
        waves = np.sum(size[:, :, None] * np.sin(turns[:, :, None] * x[:, None, :] + phase[:, :, None]), axis=1)
        return 0.3 * level + slope * x + waves

    return value, rate


def by_five_looks(value):
    looks = jnp.asarray(value(GLANCES).T)
    return np.asarray(may_fall(looks, jnp.ones(looks.shape[1], bool)))


def by_stages(value, rate):
    """The looks of a step of the classical method for y' = rate(x), whose guard is y itself."""
    before = value([0.0])[:, 0]
    first, half, last = (rate(x)[:, 0] for x in (0.0, 0.5, 1.0))
    middle, fourth, after = before + 0.5 * first, before + half, before + (first + 4.0 * half + last) / 6.0
    lowest, highest, doubt = bound_by_stages(before, middle, fourth, after)
    assert np.array_equal(may_pass(lowest, highest, doubt), ~stays(lowest, highest, doubt))  # opposites, for numbers
    return np.asarray(may_pass(lowest, highest, doubt))


def test_neither_form_overlooks_a_zero_and_both_are_sure_far_from_one():
    value, rate = smooth_guards()
    seen = value(FINE)
    falls = (seen[:, 0] > 0.0) & (seen.min(axis=1) < 0.0)
    dips = falls & (seen[:, -1] > 0.0)
    assert dips.sum() > 40  # the hard ones: positive at both ends
    looks, stages = by_five_looks(value), by_stages(value, rate)
    assert looks[falls].all() and stages[falls].all()
    # A guard that keeps ten times as far from zero as it moves is searched by neither.
    far = np.abs(seen).min(axis=1) > 10.0 * np.ptp(seen, axis=1)
    assert far.sum() > 3 and not looks[far].any() and not stages[far].any()


def test_in_short_steps_both_forms_leave_only_what_passes():
    """Both allow for what they cannot see by differences that vanish with the step: faster than the guard itself."""
    value, rate = smooth_guards()
    short = 0.02

    def shorter(x):
        return value(short * np.asarray(x))

    seen = shorter(FINE)
    passes = seen.min(axis=1) * seen.max(axis=1) <= 0.0
    for doubtful in (by_five_looks(shorter), by_stages(shorter, lambda x: short * rate(short * x))):
        assert doubtful[passes].all() and (doubtful & ~passes).sum() < 0.002 * len(passes)


class Guarded(Swing):
    """The weight on a spring with a guard: how far it is above a level."""

    names = (("level", 0),)
    at_once = np.zeros(1, bool)

    def __init__(self, level):
        super().__init__()
        self.level = level

    def rate(self, y):
        return super().rate(y)[0], np.array([y[2] - self.level])

    def onward(self, y):
        after = Guarded(self.level)
        after.start = y * [1.0, 0.0, 1.0, 1.0]  # its clock begins anew
        return after


def first_leg_with_an_event(band, until, rtol):
    leg = Leg(band, 0.0, until, rtol)
    while leg.event is None and leg.end < until:
        leg = leg.onward(rtol, until)
    return leg


@pytest.mark.parametrize("level", [0.9, 0.3, -0.5, -0.97])  # the last is a dip of 0.49 s, shorter than some steps
def test_a_leg_ends_at_the_event_that_a_single_run_has(level):
    fall = sl.hybrid.system(
        lambda t, y: jnp.stack([y[1], -y[0]]),
        jnp.array([1.0, 0.0]),
        [Guard("level", lambda t, y: y[0] - level, ends="finished")],
    )
    run = sl.simulate(fall, fall.start(), 8.0)
    leg = first_leg_with_an_event(Guarded(level), 8.0, 1e-10)
    assert leg.event == ("level", 0)
    assert leg.end == pytest.approx(float(run.end.t), abs=1e-9) == pytest.approx(np.arccos(level), abs=1e-9)


def test_a_leg_looks_at_its_guards_at_least_every_quarter_of_a_step():
    """What it may overlook is a dip between two stages, which its docstring names."""
    places = np.sort([*stepper(METHOD).c, 1.0])
    assert np.diff(places).max() < 0.28
