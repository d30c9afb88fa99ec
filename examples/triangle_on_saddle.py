"""Three masses joined to a triangle tumble over a saddle.

Three rods on a curved surface leave three free motions. Notice that the rods keep their lengths to rounding, and that
what friction takes is accounted for.
"""

import saltus as sl

sl.configure()

saddle = sl.surfaces.Saddle(a=0.4, b=0.15)
triangle = sl.systems.SlidingMasses(saddle, masses=[1.0, 2.0, 3.0], rods=[(0, 1), (1, 2), (2, 0)], mu=[0.05, 0.1, 0.02])
start = triangle.start(
    position=[[0.5, 0.1], [-0.3, 0.4], [-0.1, -0.5]],
    velocity=[[0.0, 1.0], [-0.5, 0.0], [0.5, 0.5]],
    project=True,  # the nearest velocities that keep the rods' lengths
)
run = sl.simulate(triangle, start, until=2.0, rtol=1e-12)
data = run.to_dataset(times=801)

balance = sl.diagnostics.energy_balance(data)
print(f"friction took {balance.dissipated:.6f} J; unaccounted for: {balance.residual:.1e} J")
sl.views.save_figure(data, "triangle_on_saddle.png")

assert sl.diagnostics.constraint_drift(data) < 1e-12
assert balance.relative < 1e-10
assert balance.dissipated > 0
