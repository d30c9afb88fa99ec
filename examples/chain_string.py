"""A chain of strings goes slack in flight.

Until the exit strings and rods move alike. Then the chain turns, some links would have to push, and strings let go:
they are slack until they are jerked taut again. Notice that no link is ever stretched, and none ever pushes.
"""

import numpy as np

import saltus as sl

sl.configure()

chain = sl.systems.Chain(6, gravity=1.0, material="string")
run = sl.simulate(chain, chain.start(overhang=1e-4), until=16.0)
data = run.to_dataset(times=801)

names = [event.name for event in run.events]
print(f"{names.count('slack')} times a link goes slack, {names.count('taut')} times one is jerked taut")
sl.views.save_figure(data, "chain_string.png")

hanging = np.arange(chain.n_links) < data.off_table.values[:, None] - 1
assert names.count("slack") > 0 and names.count("taut") > 0
assert (data.distance.values[hanging] < 1 + 1e-12).all()
assert (data.tension.values > -1e-8).all()
assert sl.diagnostics.energy_balance(data).relative < 1e-8
