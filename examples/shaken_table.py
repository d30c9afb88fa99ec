"""A ball on a shaken table: one bounce per period becomes two, four, and disorder.

The table moves as A sin(w t). The motion of one bounce per period is stable until one of its multipliers is -1, at an
amplitude that is known in closed form. The diagram shows the phase of the table at each impact, over the amplitude.

Notice: the orbit is found by Newton's method through the impact also where it is unstable, and no run would show it.
"""

import math

import jax.numpy as jnp
import numpy as np

import saltus as sl
from saltus.hybrid import Guard
from saltus.views import dynamics

sl.configure()
W, G, E = 33.0, 9.81, 0.8  # of the table [rad/s], of gravity [m/s2], of the impact


def bounce(t, y, p):
    speed = p["A"] * W * jnp.cos(W * t)
    return {"height": y["height"], "speed": speed - E * (y["speed"] - speed)}


ball = sl.hybrid.system(
    lambda t, y, p: {"height": y["speed"], "speed": -G},
    start={"height": 0.034, "speed": -0.58},
    guards=[Guard("table", lambda t, y, p: (y["height"] - p["A"] * jnp.sin(W * t)) / 0.01, jump=bounce)],
    parameters={"A": 0.008},
)
period = 2 * math.pi / W
throw = G * period * (1 - E) / (2 * (1 + E))  # speed of the table at the impact
doubling = math.hypot(throw / W, 2 * (1 + E**2) / (1 + E) ** 2 * G / W**2)

values = np.linspace(0.95, 1.2, 250) * doubling
found = sl.dynamics.bifurcation(ball, "A", values, lambda t, y, p: jnp.mod(W * t, 2 * jnp.pi), skip=150, keep=24)
assert found.branches(0.02)[[0, 80]].tolist() == [1, 2]
dynamics.diagram(found, "phase of the table at the impact [rad]").savefig("shaken_table.png", dpi=160)

beyond = 1.01 * doubling
phase = math.acos(throw / (beyond * W))
shaken = ball.with_parameters({"A": beyond})
top = {"height": beyond * math.sin(phase) + G * period**2 / 8, "speed": 0.0}
orbit = sl.dynamics.periodic_orbit(shaken, shaken.start(top, t=phase / W + period / 2), period=period, max_events=3)
print("multipliers just beyond the doubling:", orbit.multipliers)
assert not orbit.stable and abs(np.prod(orbit.multipliers) - E**2) < 1e-8  # an impact shrinks areas by E^2

times = float(orbit.start.t) + np.linspace(0.0, period, 200)
states = sl.simulate(shaken, orbit.start, until=times[-1]).states(times)
dynamics.orbit(orbit, states, ("height [m]", "speed [m/s]")).savefig("shaken_table_orbit.png", dpi=160)
