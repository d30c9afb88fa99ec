"""Two tumbling ellipsoids collide once.

The first contact is found exactly, and the elastic impulse keeps energy, momentum and angular momentum. Notice the
kink of the gap at the impact: it touches zero and never goes below.
"""

import numpy as np

import saltus as sl

sl.configure()

bodies = [
    sl.shapes.Body(
        sl.shapes.Ellipsoid([2.0, 1.0, 1.5]),
        velocity=[-0.202, -0.263, 0.08],
        quaternion=[-1.164, 1.067, -0.787, 0.742],
        angular_velocity=[3.846, -1.559, -6.218],
    ),
    sl.shapes.Body(
        sl.shapes.Ellipsoid([0.7, 1.6, 1.1]),
        center=[-3.71, -2.155, -4.223],
        velocity=[1.683, 1.11, 1.696],
        quaternion=[0.64, 0.639, -0.056, 0.007],
        angular_velocity=[2.359, -3.271, -0.059],
    ),
]
pair = sl.systems.RigidBodies(bodies)
run = sl.simulate(pair, pair.start(bodies), until=3.0)
data = run.to_dataset(times=601)

impact = run.events[0]
print(f"{impact.name} at t = {impact.t:.12f} s, impulse {impact.data['impulse']:.9f} N s")
sl.views.save_figure(data, "two_ellipsoids.png")

# The reference was computed with 36 digits.
assert abs(impact.t - 1.3438939440159474) < 1e-12 and abs(impact.data["impulse"] / 19.213877603642466 - 1) < 1e-12
for name in ("kinetic_energy", "linear_momentum", "angular_momentum"):
    assert np.ptp(data[name].values, axis=0).max() < 1e-13 * np.abs(data[name].values).max()
