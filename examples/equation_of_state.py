"""The equation of state of hard bodies, from nothing but their collisions.

Spheres and ellipsoids fly in a periodic box; the pressure is the mean of impulse times distance over all impacts.
Notice the error bars: a second of certified collisions per point gives one per cent, and long bodies push harder.
"""

import matplotlib.pyplot as plt
import numpy as np

import saltus
from saltus import gas

saltus.configure()
fractions = np.array([0.1, 0.2, 0.3, 0.4])
shapes = {"spheres": np.full(3, 0.5), "ellipsoids 3:1:1": np.array([3.0, 1.0, 1.0]) * 0.5 / 3.0 ** (1 / 3)}
count = 108
found = {}
for name, axes in shapes.items():
    for fraction in fractions:
        box = np.full(3, (count * np.pi / 6 / fraction) ** (1 / 3))
        start = gas.random_start([gas.Species(axes, count, mass=1.0)], box, temperature=1.0, seed=1)
        fluid = gas.Gas(gas.HardBodies(start, box))
        fluid.equilibrate(50 * count)
        fluid.measure(20_000)
        found[name, fraction] = fluid.results()["compressibility"]

fine = np.linspace(0.0, 0.45, 100)
for name, axes in shapes.items():
    values = [found[name, fraction] for fraction in fractions]
    line = plt.plot(fine, gas.parsons_lee(fine, axes), label=f"{name}: theory")[0]
    plt.errorbar(
        fractions, [v.value for v in values], [v.error for v in values], fmt="o", color=line.get_color(), label=name
    )
plt.xlabel("volume fraction")
plt.ylabel("compressibility factor p V / (N kT)")
plt.title("Hard bodies: Carnahan-Starling for spheres, Parsons-Lee for ellipsoids")
plt.legend()
plt.savefig("equation_of_state.png")

for fraction in fractions:
    ball = found["spheres", fraction]
    assert abs(ball.value - gas.carnahan_starling(fraction)) < 4 * ball.error + 0.02 * (ball.value - 1.0)
print({f"{name} {fraction}": f"{value.value:.3f} +- {value.error:.3f}" for (name, fraction), value in found.items()})
