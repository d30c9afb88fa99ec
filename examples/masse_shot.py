"""A billiard ball with side spin runs a curve.

Where slip and path point different ways, friction bends the path; with a point contact that is a parabola, and a
straight line once the ball rolls. Notice that the spin about the vertical does nothing at a point, but over a real spot
of 4 mm it weakens the friction: the ball curves longer and runs 6 mm beside, though in the end with the same velocity.
"""

import numpy as np

import saltus as sl
from saltus.laws.friction import Combined, Coulomb

sl.configure()

MASS, RADIUS, MU = 0.17, 0.0286, 0.2
velocity, turning = np.array([1.5, 0.0]), np.array([-90.0, -20.0, 120.0])

runs = {}
for name, law in (("point", Coulomb(MU)), ("spot", Combined(MU, spot_radius=0.004))):
    ball = sl.systems.BallOnPlane(MASS, RADIUS, law)
    runs[name] = sl.simulate(ball, ball.start(velocity, turning), until=2.0)
    end = runs[name].end
    print(f"{name}: at t = 2 s at ({float(end.q[0]):.4f}, {float(end.q[1]):.4f}) m")
    print(f"       moving with ({float(end.v[0]):.4f}, {float(end.v[1]):.4f}) m/s")
sl.views.save_figure(runs["spot"].to_dataset(times=801), "masse_shot.png")

# The contact keeps 5/7 of the velocity and 2/7 of the rolling that the spin is worth.
worth = RADIUS * np.array([turning[1], -turning[0]])
final = (5 * velocity + 2 * worth) / 7
np.testing.assert_allclose(runs["point"].end.v[:2], final, rtol=1e-12)
np.testing.assert_allclose(runs["spot"].end.v[:2], final, rtol=1e-6)
# A parabola until it rolls: half of the deceleration times the square of the time, against the slip.
roll = runs["point"].events[0].t
slip = velocity - worth
halfway = velocity * roll / 2 - 0.5 * MU * 9.81 * slip / np.linalg.norm(slip) * (roll / 2) ** 2
np.testing.assert_allclose(runs["point"].at(roll / 2).q[:2], halfway, rtol=1e-12)
assert 0.005 < np.linalg.norm(runs["spot"].end.q[:2] - runs["point"].end.q[:2]) < 0.007
