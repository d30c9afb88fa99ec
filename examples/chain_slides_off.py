"""A chain of ten links slides off a table, jerk after jerk.

One end is pulled over the edge by a ten-thousandth of a link. Each particle that leaves the table is jerked along by
the one before it, and some energy is lost. Notice that the last links are thrown outward: the chain shoots off.
"""

import math

import saltus as sl

sl.configure()

chain = sl.systems.Chain(10, gravity=1.0, engagement="limit", ends_off_table=True)
run = sl.simulate(chain, chain.start(overhang=1e-4), until=math.inf)
data = run.to_dataset(times=601)

for event in run.events:
    if event.name in ("crossing", "exit"):
        told = event.data
        print(f"particle {told['particle']:2d} at t = {event.t:9.6f}: angle {told['angle']:7.4f} rad, "
              f"lost {told['energy_loss']:.5f} J")  # fmt: skip
sl.views.save_figure(data, "chain_slides_off.png")

# Reference: integration with 34 digits. The run has rtol 1e-10.
assert abs(run.events[-1].t - 11.251367) < 1e-6
assert abs(float(data.jerk_loss[-1]) - 1.6430) < 1e-4
assert (data.event_energy_loss.dropna("event") > -1e-12).all()
