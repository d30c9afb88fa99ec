"""Two masses circle in a bowl until friction stops them.

The start is a rigid rotation, which is unstable: friction breaks it up, the masses wind down to the bottom and stop
together. Notice that the rod force ends at a value, but is undefined once nothing moves.
"""

import saltus as sl

sl.configure()

pair = sl.systems.SlidingMasses(sl.surfaces.Sphere(radius=1.0), masses=[1.0, 1.0], rods=[(0, 1)], mu=0.01)
start = pair.start(
    position=[[0.3007057995042731, 0.0], [0.40034903255689497, 0.0]],
    velocity=[[0.0, 0.9753907259440351], [0.0, 1.2986006061087387]],
)
run = sl.simulate(pair, start, until=30.0)
stop = run.events[-1]
data = run.to_dataset(times=1501)

force = float(data.rod_force.values[data.jump_side == -1][-1, 0])
print(f"both masses stop at t = {stop.t:.9f} s; the rod force just before is {force:.6f} N")
sl.views.save_figure(data, "bowl.png")

# Reference: integration with 28 digits. The run has rtol 1e-10.
assert abs(stop.t - 22.493401095440216) < 1e-8
assert sl.diagnostics.energy_balance(data).relative < 1e-9
assert data.rod_force.isnull()[-1].all() and not data.rod_force.isnull()[0].any()
