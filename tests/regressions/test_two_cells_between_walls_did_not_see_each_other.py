"""Between walls, in a box two cells wide, bodies of the second cell did not see those of the first.

A body that made its list anew in the second cell lost all its neighbours in the first, and flew through them. Such a
box is one cell now, since a body would look into both; a long one has many.
"""

import numpy as np
import pytest

from saltus import gas
from saltus.numerics.on_host import rotation_matrices
from saltus.systems.gas.overlap import gaps

pytestmark = [pytest.mark.slow, pytest.mark.optimised]


@pytest.mark.parametrize(("edges", "many"), [((1.0, 1.0, 1.0), False), ((0.7, 0.7, 2.0), True)])
@pytest.mark.parametrize("periodic", [False, (True, True, False)])
def test_long_bodies_between_walls_never_overlap(periodic, edges, many):
    long = np.array([3.0, 1.0, 1.0]) * 0.5 / 3.0 ** (1 / 3)
    box = np.array(edges) * (128 * np.pi / 6.0 / 0.25) ** (1 / 3)
    start = gas.random_start([gas.Species(long, 128, mass=1.0)], box, periodic=periodic, temperature=1.0, seed=1)
    hard = gas.HardBodies(start, box, periodic=periodic)
    assert hard.arena.cells[:2] == (1, 1) and (hard.arena.cells[2] > 3 if many else hard.arena.cells[2] == 1)
    for _ in range(20):
        hard.advance(contacts=500)
        bodies = hard.snapshot()
        assert gaps(bodies, np.where(hard.periodic, box, np.inf)).min() > -1e-12
    assert hard.outcome is None and float(hard.fluid.tally.deepest) > -1e-13
    reach = np.sqrt(np.einsum("nij,nj->ni", rotation_matrices(bodies.quaternion) ** 2, bodies.axes**2))
    inside = 0.5 * box - reach - np.abs(bodies.place)
    assert inside[:, ~hard.periodic].min() > -1e-12
