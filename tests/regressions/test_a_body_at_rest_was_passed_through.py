"""The search of a body at rest had no end, and what it certified was no number: a gas missed contacts."""

import numpy as np
import pytest

from saltus.systems.gas import Bodies, HardBodies


def test_a_ball_meets_one_at_rest_across_the_edge_of_a_periodic_box():
    at_rest = np.zeros((2, 3))
    bodies = Bodies(
        axes=np.ones((2, 3)),
        mass=np.ones(2),
        inertia=np.full((2, 3), 0.4),
        place=np.array([[4.0, 0.0, 0.0], [-3.0, 0.0, 0.0]]),
        velocity=np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        quaternion=np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)),
        momentum=at_rest,
    )
    hard = HardBodies(bodies, [10.0, 10.0, 10.0], log=1)
    hard.advance(contacts=1)
    # 3 m from centre to centre across the edge, 2 m when they touch.
    assert hard.contacts()[0, 0] == pytest.approx(1.0, rel=1e-14)
    assert hard.snapshot().velocity[:, 0] == pytest.approx([0.0, 1.0], abs=1e-14)
