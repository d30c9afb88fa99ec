"""A ball on rails that rolls backwards at first, with a rolling shift, crept at the instant at which its turning passed
through zero, and gained energy without end (14 of 20 random ones). Slip comes to its share of the rim speed in a time
that goes with the larger of both, not with the rim speed alone, which is zero there."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import saltus as sl

GRAVITY, RADIUS, HALF_ANGLE, MU = 9.81, 0.3, 0.5, 0.3


def hertz(s):
    """Phi0, Psi and Theta0 of Hertz's pressure for s >= 0, in closed form."""
    if s < 1e-2:
        return 1 - s**2 / 10 - 3 * s**4 / 280, s / 5 * (1 - s**2 / 14), s / 5 * (1 + s**2 / 14)
    if s < 1:
        a, q = math.asin(s), math.sqrt((1 - s) * (1 + s))
        return (
            3 / (16 * s**3) * ((4 * s**2 - 1) * a + s * q * (1 + 2 * s**2)),
            (3 * (8 * s**4 - 4 * s**2 + 1) * a + s * q * (4 * s**2 - 1) * (2 * s**2 + 3)) / (128 * s**4),
            3 / (64 * s**4) * ((8 * s**4 - 8 * s**2 + 3) * a + 3 * s * q * (2 * s**2 - 1)),
        )
    c = 1 / s
    return (
        3 * math.pi / 8 * c * (1 - c**2 / 4),
        3 * math.pi / 32 * (1 - c**2 / 2 + c**4 / 8),
        3 * math.pi / 16 * (1 - c**2 + 3 * c**4 / 8),
    )


def symmetric_motion(spot, shift, slope, start, until):
    """Velocity and turning at `until`, by the equations of symmetric motion; turning passes through zero once."""
    C, S = math.cos(HALF_ANGLE), math.sin(HALF_ANGLE)

    def rate(t, state, forward):
        velocity, turning = state
        slip, rim = velocity - RADIUS * C * turning, spot * S * abs(turning)
        way = math.copysign(1.0, slip)
        drag, lift, twist = hertz(rim / max(abs(slip), 1e-300))
        # The shifted pressure pushes both spots outwards or inwards, which changes the load.
        load = 0.5 * GRAVITY * math.cos(slope) / (C + MU * shift * lift * S)
        moment = 2 * load * (RADIUS * C * MU * drag * way - forward * (S * MU * spot * twist + C * spot / 5 * shift))
        return [GRAVITY * math.sin(slope) - 2 * MU * drag * way * load, moment / (0.4 * RADIUS**2)]

    def turns(t, state, forward):
        return state[1]

    turns.terminal = True
    options = {"method": "Radau", "rtol": 1e-10, "atol": 1e-13}
    back = math.copysign(1.0, start[1])
    first = solve_ivp(rate, (0.0, until), start, args=(back,), events=turns, **options)
    assert first.status == 1
    then = [first.y[0, -1], -1e-14 * back]
    return solve_ivp(rate, (first.t[-1], until), then, args=(-back,), **options).y[:, -1]


@pytest.mark.parametrize("spot", [0.01, 0.06])
@pytest.mark.parametrize(("velocity", "turning"), [(1.5, -3.0), (-1.0, 3.0)])
@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_a_ball_that_turns_round_goes_on_as_its_equations_say(spot, velocity, turning, slope):
    law = sl.laws.friction.Combined(MU, spot, rolling_shift=0.4)
    ball = sl.systems.BallOnRails(2.0, RADIUS, HALF_ANGLE, law, slope, GRAVITY)
    until = 0.4
    run = sl.simulate(ball, ball.start(velocity, [0.0, turning, 0.0]), until)
    assert run.outcome.name == "finished"
    found = [float(run.end.v.along), float(run.end.v.turning[1])]
    # 1e-7: the tolerances of the reference, and of the last digits that a ball with `capture` 1e-9 leaves out.
    np.testing.assert_allclose(found, symmetric_motion(spot, 0.4, slope, [velocity, turning], until), rtol=1e-7)
