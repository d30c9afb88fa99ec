"""A raft of rock slides down a made-up alpine valley, with five friction coefficients: a small hazard map.

The rods between the masses are elastic and break, so the raft falls apart on its way and its pieces stop one by one.
Notice that friction hardly changes the path, which the couloir determines, but strongly changes where the pieces stop.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import saltus as sl
from saltus.io.hazard import Hazard, write_hazard
from saltus.views import hazard as view

sl.configure()

loaded = sl.scenarios.load("alpine-raft", ["release.spacing=50.0"])
raft, start = loaded.scenario.assemble()
hazard = Hazard(raft.surface.grid)
reach = []
for mu in np.linspace(0.26, 0.38, 5):
    rough = eqx.tree_at(lambda system: system.mu, raft, jnp.full_like(raft.mu, mu))
    run = sl.simulate(rough, start, until=100.0)
    data = run.to_dataset(times=201)
    hazard.add_run(data)
    reach.append(float(start.q[:, 1].mean() - data.position.values[..., 1].min()))
    broken = int((data.rod_whole.values[-1] == 0).sum())
    balance = sl.diagnostics.energy_balance(data).relative
    print(f"mu {mu:.2f}: reaches {reach[-1]:6.1f} m south, {broken} of {data.sizes['rod']} rods broken, "
          f"energy unaccounted for {balance:.0e}")  # fmt: skip
    assert balance < 1e-8 and broken > 0

write_hazard("alpine_hazard.tif", hazard)
view.save_figure(hazard, raft.surface, "alpine_hazard.png")

# Every run starts in the release area, and less friction reaches farther up the other side.
row, column, _ = hazard.grid.pixels(*np.asarray(start.q).T)
assert (hazard.maps()["passage_probability"][row, column] == 1.0).all()
assert (np.diff(reach) < 0.0).all()
