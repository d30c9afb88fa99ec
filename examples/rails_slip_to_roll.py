"""A ball is thrown onto two rails: it slides, and then?

A point contact rolls without slip from then on, for ever. A real contact spot spins while the ball rolls, and a
spinning spot cannot stick: the ball creeps, with slip in proportion to its spin, and comes to rest. Notice that both
have nearly the same speed when the sliding ends, and how long the creep takes.
"""

import math

import saltus as sl
from saltus.laws.friction import Combined, Coulomb
from saltus.systems.ball_on_rails import terminal_creep

sl.configure()

MASS, RADIUS, HALF_ANGLE, MU, SPEED = 1.0, 0.5, 0.5, 0.25, 2.0

point = sl.systems.BallOnRails(MASS, RADIUS, HALF_ANGLE, Coulomb(MU))
rolling = sl.simulate(point, point.start(SPEED), until=1.0)
C = math.cos(HALF_ANGLE)
final = 5 * C**2 * SPEED / (5 * C**2 + 2)
print(f"point contact: rolls from t = {rolling.events[0].t:.6f} s on with {float(rolling.end.v[0]):.6f} m/s")

spot = sl.systems.BallOnRails(MASS, RADIUS, HALF_ANGLE, Combined(MU, spot_radius=0.05))
run = sl.simulate(spot, spot.start(SPEED), until=30.0)
stop = run.events[-1]
ratio, gain = terminal_creep(spot)
print(
    f"spot of 5 cm:  creeps, slip {float(ratio):.4f} of the rim speed, {float(gain):.4f} m/s2; rests at {stop.t:.4f} s"
)
data = run.to_dataset(times=1001)
sl.views.save_figure(data, "rails_slip_to_roll.png")

assert abs(rolling.events[0].t - SPEED / (MU * 9.81 * (1 / C + 2.5 * C))) < 1e-12
assert abs(float(rolling.end.v[0]) - final) < 1e-12
assert [event.name for event in run.events] == ["creeps", "rests"]
assert float(abs(run.end.v).max()) == 0.0
# On the ray of creep the ball decelerates evenly.
begin = run.events[0].after
assert abs(stop.t - (float(begin.t) - float(begin.v[0]) / float(gain))) < 1e-9
assert sl.diagnostics.energy_balance(data).relative < 1e-9
