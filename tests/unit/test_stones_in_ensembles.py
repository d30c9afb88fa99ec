"""Ensembles of a body on the ground: all samples in one program, the same as single runs."""

import numpy as np

from saltus.ensembles.compute import run_samples
from saltus.scenarios import loads
from saltus.scenarios.keys import with_values

TEXT = """
kind = "ground_body"
surface = { type = "plane", slope_x = -0.2 }
friction = { mu = 0.4, model = "coulomb", rolling_friction = 0.05 }
impact = { law = "soil", restitution = 0.4, settle_height = 1e-3 }
solve = { until = "rest", rtol = 1e-6, atol = 1e-8 }
[body]
shape = { axes = [0.3, 0.25, 0.2] }
density = 2700.0
height = 0.3
"""


def test_stones_of_many_shapes_and_poses_run_in_one_program_and_as_they_do_alone():
    scenario = loads(TEXT)
    rng = np.random.default_rng(4)
    values = {
        "body.shape.axes.0": rng.uniform(0.2, 0.4, 6),
        "body.quaternion.1": rng.uniform(-1.0, 1.0, 6),
        "friction.mu": rng.uniform(0.3, 0.6, 6),
    }
    work = run_samples._work(scenario)
    assert work._builder(scenario, {}, tuple(values)) is not None  # nothing has to be built one by one
    kept = run_samples.run(scenario, values)
    assert (kept["stopped"] == 1).all() and (kept["largest_jump_height"] >= 0.3).all()
    assert (kept["largest_kinetic_energy"] > 0.0).all()
    for row in (0, 3):
        run = with_values(scenario, {key: float(column[row]) for key, column in values.items()}).simulate()
        way = np.asarray(run.end.q[:2] - run.trajectory.start.q[:2])
        # Another program of the same numbers: rounding, and no more than the bounces make of it.
        np.testing.assert_allclose(kept["final_position"][row], np.asarray(run.end.q[:3]), atol=1e-6)
        np.testing.assert_allclose(kept["run_out"][row], np.hypot(*way), atol=1e-6)
        assert kept["events"][row] == len(run.events)
