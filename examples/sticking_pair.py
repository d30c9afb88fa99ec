"""A heavy mass on a rough slope holds a light one that swings about it.

The heavy mass is torn loose when the rod pulls too hard, slides a little and sticks again. Notice how it rests while
the light one swings on, and that nothing creeps.
"""

import numpy as np

import saltus as sl

sl.configure()

slope = sl.surfaces.Plane(slope_x=-0.3, slope_y=0.0)
pair = sl.systems.SlidingMasses(slope, masses=[4.0, 1.0], rods=[(0, 1)], mu=[0.5, 0.05])
start = pair.start(position=[[0.0, 0.0], [0.0, 0.6]], velocity=[[0.0, 0.0], [2.4, 0.0]])
run = sl.simulate(pair, start, until=6.0)
data = run.to_dataset(times=1201)

for event in run.events:
    print(f"{event.t:.6f} s  {event.name:8} mass {event.index}")
sl.views.save_figure(data, "sticking_pair.png")

# Held first, torn loose twice, and held in the end; while it is held it does not move by a single bit.
assert [event.name for event in run.events if event.index == 0] == ["release", "stop", "release", "stop"]
held = data.mode.values[:, 0] == pair.mode_names.index("stick")
late = held & (data.time.values > run.events[-3].t)
assert len(np.unique(data.position.values[late, 0], axis=0)) == 1
assert sl.diagnostics.energy_balance(data).relative < 1e-8
