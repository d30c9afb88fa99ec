"""Nine equal masses leave and meet a hill at the same instants, or at instants that only rounding tells apart.

An ensemble lost what came after the eighth. A single run lost masses too, once their bounces were slow: what was due
with another mass was asked for again with less room than the rounding of a gap needs, and the last landing of one mass
carried the others through the surface.
"""

import numpy as np
import pytest

from saltus.ensembles.compute import run_samples
from saltus.scenarios.keys import with_values
from saltus.scenarios.loader import validate

N, BOUNCES = 9, 10
HILL = {
    "kind": "sliding",
    "surface": {"type": "gaussian", "amplitude": 1.0, "width": 1.0},
    "masses": [{"mass": 1.0, "position": [-1.5, 0.1], "velocity": [5.0, 0.0], "mu": 0.2}] * N,
    "solve": {"until": 8.0, "adhesion": False, "restitution": 0.3},
}
STUCK = 2


def test_masses_that_land_at_nearly_the_same_instant_all_come_to_lie():
    hill = validate(HILL)
    wanted = hill.simulate().end.q
    for mass, ahead in ((0, 2e-15), (4, -3e-15), (3, 1.5e-14), (5, 1.5e-13), (2, 1.5e-12)):
        run = with_values(hill, {f"masses.{mass}.position": [-1.5 + ahead, 0.1]}).simulate()
        landings = np.bincount([event.index for event in run.events if event.name == "landing"], minlength=N)
        assert (landings == BOUNCES).all() and (np.asarray(run.end.mode) == STUCK).all()
        # Steps that end at other instants differ by the tolerance of the run.
        np.testing.assert_allclose(run.end.q, wanted, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_every_mass_of_an_ensemble_lands_and_comes_to_rest_as_in_a_single_run():
    hill = validate(HILL)
    masses = np.array([1.0, 1.00000005, 1.0000001, 1.00000003])
    together, wanted = run_samples.run(hill, {"masses.0.mass": masses}), hill.simulate().end.q
    assert (together["final_mode"] == STUCK).all()
    # Each mass lifts off, lands so many times, and stops with the others or by itself, as rounding has it.
    by_itself = together["events"] - N * (1 + BOUNCES)
    assert ((by_itself >= 1) & (by_itself <= N)).all()
    np.testing.assert_allclose(together["final_position"][:, :, :2], [wanted[:, :2]] * masses.size, rtol=0, atol=1e-9)
