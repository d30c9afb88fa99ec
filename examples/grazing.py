"""A ball flies past a spinning ellipsoid so closely that they touch without pushing.

A touch without approach from which the bodies part again (type 1) needs no force. Notice that a path nearer by a
millionth of a metre is an impact, and one farther by a millionth is nothing at all.
"""

import matplotlib.pyplot as plt
import numpy as np

import saltus as sl

sl.configure()

top = sl.shapes.Body(sl.shapes.Ellipsoid([1.0, 1.0, 2.0]), angular_velocity=[0.0, 0.0, 5.0])


def passing(distance):
    """The run of a ball of radius 1 that passes at this distance of the centres."""
    ball = sl.shapes.Body(sl.shapes.Ellipsoid([1.0, 1.0, 1.0]), center=[-1.0, distance, 0.0], velocity=[1.0, 0.0, 0.0])
    system = sl.systems.RigidBodies([top, ball])
    return sl.simulate(system, system.start([top, ball]), until=2.0)


runs = {distance: passing(distance) for distance in (2.0 - 1e-6, 2.0, 2.0 + 1e-6)}
figure, axes = plt.subplots()
for distance, run in runs.items():
    names = [event.name for event in run.events]
    print(f"distance {distance:.6f} m: {names}")
    times = np.linspace(0.99, 1.01, 41)
    gaps = [float(sl.contacts.gap(*run.system.bodies(run.at(t))).gap) for t in times]
    axes.plot(times, gaps, label=f"{distance:.6f} m: {', '.join(names) or 'nothing'}")
axes.set(xlabel="time [s]", ylabel="gap [m]")
axes.legend()
figure.savefig("grazing.png")

nearer, exact, farther = runs.values()
assert [event.name for event in nearer.events] == ["impact"]
assert [event.name for event in exact.events] == ["tangential"] and exact.events[0].data["impulse"] == 0.0
assert farther.events == ()
# The gap is (t - 1)^2 / 4 near the touch: within rounding of zero for some 1e-7 s.
assert abs(exact.events[0].t - 1.0) < 2e-7
