"""Friction holds a chain until enough of it hangs over the edge.

Of a chain with 20 particles and mu = 0.5 a third must hang: six particles hang still for ever, to the last bit; with
seven it sets off at once. Notice that the critical overhang of the continuous chain lies between the two.
"""

import math

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import saltus as sl

sl.configure()

chain = sl.systems.Chain(19, gravity=1.0, table_friction=0.5, ends_off_table=True)
held, loose = chain.start(overhang=5.5), chain.start(overhang=6.5)
rest = sl.simulate(chain, held, until=math.inf)
run = sl.simulate(chain, loose, until=math.inf)
data = run.to_dataset(times=401)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(data.time, data.kinetic_energy, label="kinetic")
axes.plot(data.time, data.friction_loss, label="lost to friction")
axes.plot(data.time, data.jerk_loss, label="lost in jerks")
axes.set(xlabel="time [s]", ylabel="energy [J]", title="seven of twenty particles over the edge, mu = 0.5")
axes.legend()
figure.savefig("chain_friction.png", dpi=150)

critical = 20 * 0.5 / 1.5
print(f"held: {rest.outcome.message} loose: {run.outcome.message} critical: {critical:.2f} particles")
assert rest.outcome.name == "at_rest" and np.array_equal(rest.end.q, held.q) and not np.any(rest.end.v)
assert 6 < critical < 7
assert sl.diagnostics.energy_balance(data).relative < 1e-9
