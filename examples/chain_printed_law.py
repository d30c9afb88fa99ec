"""The law of the jerk as it was printed creates energy.

The same chain twice: with the law of the article, and with the limit of an infinite force, which is what the article
set out to compute. Notice the energy that appears from nothing at the jerks, and that the chain leaves too early.
"""

import math
import warnings

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

import saltus as sl

sl.configure()

warnings.filterwarnings("ignore", message=".*creates energy.*")
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
lost, left = {}, {}
for law in ("limit", "printed"):
    chain = sl.systems.Chain(12, gravity=1.0, engagement=law, ends_off_table=True)
    run = sl.simulate(chain, chain.start(overhang=1e-4), until=math.inf)
    data = run.to_dataset(times=601)
    lost[law], left[law] = float(data.jerk_loss[-1]), run.events[-1].t
    axes.plot(data.time, data.jerk_loss, label=f"{law}: {lost[law]:+.3f} J, off at t = {left[law]:.4f} s")
axes.axhline(0.0, color="grey", linewidth=0.7)
axes.set(xlabel="time [s]", ylabel="energy lost in jerks [J]")
axes.legend()
figure.savefig("chain_printed_law.png", dpi=150)

print(f"lost with the right law {lost['limit']:.4f} J, with the printed one {lost['printed']:.4f} J")
assert lost["limit"] > 1.0
assert lost["printed"] < 0.0  # in total from seven links on
assert left["printed"] < left["limit"]
