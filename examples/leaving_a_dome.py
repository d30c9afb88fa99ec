"""A mass slides off the top of a dome and leaves it.

It does so where the surface would have to pull: at cos(theta) = 2/3 + v² / (3 g R), whatever its mass. Notice the
reaction that falls to zero, and the parabola that follows.
"""

import numpy as np

import saltus as sl

sl.configure()

dome = sl.surfaces.Dome(radius=1.0)
ball = sl.systems.SlidingMasses(dome, masses=[1.0], mu=0.0, adhesion=False)
run = sl.simulate(ball, ball.start(position=[[0.0, 0.0]], velocity=[[0.5, 0.0]]), until=0.88)
data = run.to_dataset(times=441)

(lift_off,) = run.events
cosine = 1.0 + float(ball.observe(lift_off.before)["position"][0, 2])
exact = 2 / 3 + 0.5**2 / (3 * 9.81)
print(f"{lift_off.name} at t = {lift_off.t:.9f} s, cos(theta) = {cosine:.12f} (exactly {exact:.12f})")
sl.views.save_figure(data, "leaving_a_dome.png")

assert abs(cosine - exact) < 1e-9  # rtol 1e-10
assert abs(lift_off.t - 0.754238838002552) < 1e-9
after = data.time > lift_off.t
fall = np.polyfit(data.time[after], data.position[after, 0, 2], 2)[0]
assert abs(fall + 9.81 / 2) < 1e-6
