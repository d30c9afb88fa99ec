"""Numbers of the ground from where a stone came to rest, and from how it passed."""

import numpy as np
import pytest

from saltus.calibration import Observation, calibrate
from saltus.scenarios import loads

SCENARIO = """
kind = "ground_body"
surface = { type = "plane", slope_x = -0.3 }
friction = { mu = 0.6, model = "coulomb", rolling_friction = 0.12 }
impact = { law = "soil", restitution = 0.3, settle_height = 1e-6 }
solve = { until = "rest", rtol = 1e-9, atol = 1e-11 }
[body]
shape = { radius = 0.25 }
mass = 60.0
height = 0.5
velocity = [3.0, 0.5, 0.0]
"""


@pytest.mark.slow
def test_the_ground_is_found_from_a_deposit_and_from_a_passage():
    scenario = loads(SCENARIO)
    run = scenario.simulate()
    assert run.outcome.name == "at_rest"
    passing = run.states(np.array([1.0]))
    deposit = [Observation("position", float(run.end.q[k]), "end", (axis,), 0.05) for k, axis in enumerate("xy")]
    found = calibrate(scenario, deposit, {"friction.rolling_friction": {"guess": 0.11, "min": 0.08}})
    assert found.converged and found.values["friction.rolling_friction"] == pytest.approx(0.12, abs=1e-6)
    passage = [
        Observation("position", float(passing.q[0, 0]), 1.0, ("x",), 0.01),
        Observation("position", float(passing.q[0, 1]), 1.0, ("y",), 0.01),
        Observation("velocity", float(passing.v[0, 0]), 1.0, ("x",), 0.05),
    ]
    found = calibrate(scenario, passage, {"impact.restitution": 0.25, "friction.rolling_friction": 0.11})
    wanted = {"impact.restitution": 0.3, "friction.rolling_friction": 0.12}
    assert found.converged and found.values == pytest.approx(wanted, abs=1e-4)
