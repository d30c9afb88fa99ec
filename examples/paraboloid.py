"""A light and a heavy mass turn about each other in a wide, shallow valley.

The rod pulls (its force is negative) as long as nothing is lost. Notice the two unrelated rhythms: the swing across the
valley, about 36 s, and the turning of the rod, about 19 s for half a turn.
"""

import numpy as np

import saltus as sl

sl.configure()

valley = sl.surfaces.Paraboloid(a=2e-4, b=4e-4, c=1e-5)
pair = sl.systems.SlidingMasses(valley, masses=[1.0, 5.0], rods=[(0, 1)], mu=0.0)
start = pair.start(position=[[400.0, 0.0], [-200.0, 0.0]], velocity=[[0.0, 50.0], [0.0, -50.0]])
run = sl.simulate(pair, start, until=200.0, rtol=1e-12)
data = run.to_dataset(times=2001)

swing = np.pi / np.sqrt(2 * 9.81 * 4e-4)
found = sl.diagnostics.periods(data.potential_energy)
print(f"rises of the potential energy {np.round(found, 1)} s apart; half a swing across the valley takes {swing:.1f} s")
sl.views.save_figure(data, "paraboloid.png")

# Reference: integration with 28 digits.
np.testing.assert_allclose(float(data.rod_force[0, 0]) / (3 * 9.81), -0.398214128427, rtol=1e-11)
assert (data.rod_force < 0).all()
assert sl.diagnostics.energy_balance(data).relative < 1e-10
