"""How to turn the plates of a Butterfly robot so that the ball rolls to and fro as wanted.

The plan gives the plate motion; its start is found by shooting, since most plate motions run away. Then the plates
are turned by the plan and the ball is let go on them. Notice that it follows without any control, although it balances
on top of them and every error grows: that is how well plan and motion agree.
"""

import numpy as np
from scipy.optimize import brentq

import saltus as sl

sl.configure()

MASS, RADIUS, HALF_ANGLE, END = 0.05, 0.025, 0.3, 1.2
profile = sl.shapes.ButterflyProfile(a=0.11, b=0.03)
wanted = sl.systems.Turning(amplitude=0.2, frequency=2.0)  # of the ball on the plates

plan = sl.systems.ButterflyPlan(MASS, RADIUS, HALF_ANGLE, profile, wanted)


def runs_away(rate):
    """Angle of the plates at the end: to one side or the other."""
    return float(sl.simulate(plan, plan.start(rate=rate), until=END).end.q[0])


rate = brentq(runs_away, -1.0, 1.0, xtol=1e-14)
planned = sl.simulate(plan, plan.start(rate=rate), until=END).to_dataset(times=1201)
print(f"start with {rate:.6f} rad/s; the plates stay within {float(np.abs(planned.plate_angle).max()):.4f} rad")
print(f"rolling needs a friction coefficient of {float(planned.required_friction.max()):.4f}")

turning = sl.systems.TurningTable(planned.time.values, planned.plate_angle.values)
ball = sl.systems.Butterfly(MASS, RADIUS, HALF_ANGLE, profile, turning, sl.laws.friction.Coulomb(0.2))
speed = float(ball.contacts(ball.start()).track.arc) * 0.2 * 2.0
run = sl.simulate(ball, ball.start(speed=speed), until=END)
data = run.to_dataset(times=601)
off = np.abs(data.profile_angle.values - 0.2 * np.sin(2.0 * data.time.values)).max()
print(f"{run.outcome.message} The ball was off its wanted angle by at most {off:.1e} rad")
sl.views.save_figure(data, "butterfly.png")

assert run.outcome.name == "finished" and not run.events  # it rolls all the time, and never lifts off
assert off < 1e-6
assert float(planned.required_friction.max()) < 0.2 and float(planned.normal_force.min()) > 0.0
assert sl.diagnostics.energy_balance(data).relative < 1e-8
