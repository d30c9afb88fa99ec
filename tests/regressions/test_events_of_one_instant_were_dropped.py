"""Nine equal masses leave and meet a hill at the same instants; an ensemble lost what came after the eighth.

A single run lost them too, once the bounces were so slow that rounding told their instants apart.
"""

import numpy as np
import pytest

from saltus.ensembles.compute import run_samples
from saltus.scenarios.keys import with_values
from saltus.scenarios.loader import validate

N = 9
HILL = {
    "kind": "sliding",
    "surface": {"type": "gaussian", "amplitude": 1.0, "width": 1.0},
    "masses": [{"mass": 1.0, "position": [-1.5, 0.1], "velocity": [5.0, 0.0], "mu": 0.2}] * N,
    "solve": {"until": 8.0, "adhesion": False, "restitution": 0.3},
}


@pytest.mark.slow
def test_every_mass_of_an_ensemble_lands_and_comes_to_rest_as_in_a_single_run():
    hill, values = validate(HILL), {"masses.0.mass": np.array([1.0, 1.00000005])}
    together = run_samples.run(hill, values)
    for row, mass in enumerate(values["masses.0.mass"]):
        alone = with_values(hill, {"masses.0.mass": float(mass)}).simulate()
        landed = [
            sum(event.index == k and event.name.startswith("landing") for event in alone.events) for k in range(N)
        ]
        assert min(landed) >= 10 and (np.asarray(alone.end.mode) == 2).all()
        assert together["events"][row] == len(alone.events)
        assert (together["final_mode"][row] == 2).all()
        # Masses that land within rounding of each other are carried along by the last stretch of the first one.
        np.testing.assert_allclose(together["final_position"][row][:, :2], alone.end.q[:, :2], rtol=0, atol=1e-8)
