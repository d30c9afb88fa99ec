"""Friction from footage: two coefficients and their uncertainty out of noisy positions.

Two blocks are thrown down a gentle slope; their positions are seen every 20th of a second to 3 mm, and where they stop.
The derivatives that the fit needs go through the stops. Notice that the bands of two standard deviations hold the
true values, and that from the time in which a chain leaves a table the friction of the table follows as well.
"""

import matplotlib.pyplot as plt
import numpy as np

import saltus as sl
from saltus.calibration import Observation

sl.configure()

TRUE, SIGMA = {"masses.0.mu": 0.30, "masses.1.mu": 0.22}, 0.003
scenario = sl.scenarios.loads("""
    kind = "sliding"
    surface = { type = "plane", slope_x = -0.05 }
    solve = { until = 2.0 }
    masses = [
        { mass = 1.0, position = [0.0, 0.0], velocity = [1.6, 0.3], mu = 0.30 },
        { mass = 2.0, position = [0.0, 0.5], velocity = [1.4, 0.0], mu = 0.22 },
    ]
""")
truth, random = scenario.simulate(), np.random.default_rng(1)


def seen(states):
    exact = np.stack([truth.system.observe(state)["position"] for state in states])
    return exact[..., :2] + SIGMA * random.standard_normal(exact[..., :2].shape)


times = np.arange(0.05, 0.6, 0.05)
places, stops = seen([truth.at(t) for t in times]), seen([truth.end])[0]
observed = [
    *(Observation("position", places[:, i, j], times, (i, "xy"[j]), SIGMA) for i in (0, 1) for j in (0, 1)),
    *(Observation("position", stops[i, j], "end", (i, "xy"[j]), SIGMA) for i in (0, 1) for j in (0, 1)),
]
found = sl.calibrate(scenario, observed, {"masses.0.mu": 0.5, "masses.1.mu": 0.1})
print(found)

path = found.run.to_dataset(times=200)["position"]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=(2, 1))
for i in (0, 1):
    axes[0].plot(path[:, i, 0], path[:, i, 1], color=f"C{i}")
    axes[0].plot(*places[:, i].T, ".", *stops[i], "x", color=f"C{i}")
axes[0].set(xlabel="x [m]", ylabel="y [m]", title="seen, and fitted")
axes[1].errorbar((0, 1), found.values.values(), 2 * np.array(list(found.sigma.values())), fmt="o", capsize=4)
axes[1].plot((0, 1), TRUE.values(), "k_", markersize=20)
axes[1].set(xticks=(0, 1), xlim=(-0.5, 1.5), xlabel="mass", title="friction ± 2 sigma, and the truth")
figure.savefig("calibrate_friction.png", dpi=150, bbox_inches="tight")

chain = sl.scenarios.load("chain", ["links=3", "overhang=0.5", "table_friction=0.12"]).scenario
left = sl.calibrate(chain, Observation("time", float(chain.simulate().end.t), "end"), {"table_friction": 0.05})
assert all(abs(found[key] - value) < 3 * found.sigma[key] for key, value in TRUE.items())
assert found.converged and abs(left["table_friction"] - 0.12) < 1e-8
