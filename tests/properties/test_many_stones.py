"""Many stones at once on rough ground: as each by itself; none gains energy, none hangs, and twice the same bits."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from saltus.ensembles.compute import run_samples
from saltus.ensembles.compute.outputs import OUTCOME_NAMES
from saltus.ensembles.design import Design
from saltus.scenarios import load
from saltus.scenarios.keys import with_values

COUNT = 128
SCENARIO = """
kind = "ground_body"
surface = { type = "terrain", file = "slope.asc", crs = "local" }
friction = { mu = 0.5, model = "coulomb", rolling_friction = 0.2 }
impact = { law = "soil", restitution = 0.3, reference_mass = 300.0, settle_height = 1e-3 }
solve = { until = "rest", patience = 200.0, rtol = 1e-6, atol = 1e-7 }
[body]
shape = { axes = [0.4, 0.3, 0.25] }
density = 2600.0
position = [20.0, 55.0]
height = 0.5
[ensemble]
samples = 64
"body.position" = { polygon = [[10.0, 40.0], [30.0, 40.0], [30.0, 70.0], [10.0, 70.0]] }
"body.quaternion" = { rotation = "random" }
"body.shape.axes.0" = { uniform = [0.3, 0.6] }
"body.shape.axes.2" = { uniform = [0.2, 0.3] }
"body.velocity.0" = { normal = [0.0, 1.0] }
"body.velocity.2" = { normal = [0.0, 1.0] }
"body.angular_velocity.1" = { normal = [0.0, 1.0] }
"friction.mu" = { uniform = [0.3, 0.8] }
"friction.rolling_friction" = { uniform = [0.15, 0.25] }
"impact.restitution" = { uniform = [0.1, 0.5] }
"""
ENDS = ("at_rest", "left_domain", "several_contacts")


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    """A slope of 25 degrees with random hills, about a metre high and ten metres wide."""
    folder = tmp_path_factory.mktemp("slope")
    rough = gaussian_filter(np.random.default_rng(5).normal(size=(24, 40)), 2.0) * 8.0 - 0.47 * 5.0 * np.arange(40)
    rows = "\n".join(" ".join(f"{height:.6f}" for height in row) for row in rough[::-1])
    head = "ncols 40\nnrows 24\nxllcorner -2.5\nyllcorner -2.5\ncellsize 5\nNODATA_value -9999\n"
    (folder / "slope.asc").write_text(head + rows + "\n")
    (folder / "stones.toml").write_text(SCENARIO)
    return load(folder / "stones.toml").scenario


def drawn(scenario, last):
    return Design(scenario.ensemble, max(last, 64)).draw(0, last)


@pytest.mark.slow
def test_stones_of_an_ensemble_run_as_each_by_itself(scenario):
    short = scenario.model_copy(update={"solve": scenario.solve.model_copy(update={"until": 1.0})})
    values = drawn(scenario, 12)
    kept = run_samples.run(short, values)
    for row in range(4):
        run = with_values(short, {key: float(column[row]) for key, column in values.items()}).simulate()
        assert kept["events"][row] == len(run.events)
        # At rtol 1e-6; the first bounces magnify the errors of other steps by a few tens each.
        np.testing.assert_allclose(kept["final_position"][row], run.end.q[:3], atol=1e-4)


@pytest.mark.slow
def test_a_hundred_stones_lose_energy_come_to_an_end_and_do_so_twice_alike(scenario):
    values = drawn(scenario, COUNT)
    kept = run_samples.run(scenario, values)
    names = np.array(OUTCOME_NAMES)[kept["outcome"]]
    assert set(names) <= set(ENDS), np.unique(names, return_counts=True)
    assert (kept["energy_lost"] > 0.0).all()
    assert (kept["stopped"][names == "at_rest"] == 1).all() and (names == "at_rest").mean() > 0.2
    again = run_samples.run(scenario, {key: column[:64] for key, column in values.items()})
    for name, column in again.items():
        np.testing.assert_array_equal(column, kept[name][:64], err_msg=name)
