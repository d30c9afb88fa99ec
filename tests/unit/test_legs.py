"""Legs: what is sampled within a step is as accurate as the step, and costs no step where many ask."""

import numpy as np
import pytest

from saltus.engines.band_step import Leg


class Swing:
    """A weight on a spring, in a variable that runs ahead of time: t = s + s^2 / 2."""

    members = (0,)
    stride, longest = 0.05, np.inf
    names: list = []
    at_once = np.zeros(0, bool)

    def __init__(self, stiffness=1.0, kink=0.0):
        self.start = np.array([0.0, 0.0, 1.0, 0.0])  # variable, time, place, speed
        self.stiffness, self.kink, self.asked = stiffness, kink, 0

    def rate(self, y):
        self.asked += 1
        pace = 1.0 + y[0]
        force = -self.stiffness * y[2] + self.kink * abs(y[0] - 0.013)
        return np.array([1.0, pace, pace * y[3], pace * force]), np.zeros(0)

    def clock(self, y):
        return y[..., 1]

    def tidy(self, y):
        return y

    def scales(self, y):
        return np.ones(4)

    def rows(self, y, whole=True):
        return y[None, 2:3], y[None, 3:4], np.zeros(0)


@pytest.mark.parametrize("rtol", [1e-6, 1e-10])
def test_samples_within_a_step_are_as_accurate_as_it_and_cost_no_steps(rtol):
    band = Swing()
    leg = Leg(band, 0.0, 10.0, rtol)
    times = np.linspace(leg.begin, leg.end, 41)
    leg.samples(times[1:2])
    before = band.asked
    for t in times:
        ((place, speed, _),) = leg.samples([t])
        assert abs(place[0, 0] - np.cos(t)) < rtol and abs(speed[0, 0] + np.sin(t)) < rtol
    assert band.asked == before


def test_where_the_motion_has_a_kink_samples_are_steps():
    band = Swing(kink=1e-3)
    leg = Leg(band, 0.0, 10.0, 1e-4, stride=0.05)
    leg.rtol = 1e-12  # as if the step had been accepted by mistake: no interpolation is that good here
    t = 0.3 * leg.end
    assert not leg._course_holds
    assert np.array_equal(leg.samples([t])[0][0], leg.rows(t)[0])
