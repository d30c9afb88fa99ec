"""Stones of an ensemble: what each shows over time is the very run of the ensemble, which is what it does alone."""

import numpy as np
import pytest
import xarray as xr

from saltus.cli import app
from saltus.ensembles.compute.building import sample_values
from saltus.ensembles.compute.task import ScenarioWork
from saltus.scenarios import loads
from saltus.scenarios.keys import with_values

STONES = """
kind = "ground_body"
surface = { type = "paraboloid", a = 0.02, b = 0.03 }
friction = { mu = 0.5, model = "coulomb", rolling_friction = 0.1 }
impact = { law = "soil", restitution = 0.4, settle_height = 1e-3 }
solve = { until = "rest", rtol = 1e-8, atol = 1e-10, samples = 41 }
[body]
shape = { axes = [0.3, 0.25, 0.2], exponents = 2.5 }
density = 2700.0
position = [3.0, 2.0]
height = 0.3
[ensemble]
samples = 6
design = "random"
"body.quaternion" = { rotation = "random" }
"body.shape.exponents" = { uniform = [2.0, 4.0] }
"body.shape.axes.0" = { uniform = [0.25, 0.4] }
"body.angular_velocity.1" = { normal = [0.0, 1.0] }
"""


@pytest.mark.slow
def test_a_stone_over_time_is_that_of_the_ensemble_and_does_what_it_does_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stones.toml").write_text(STONES)
    assert app.call(["ensemble", "stones.toml", "--out", "a.zarr", "--series", "6", "--workers", "1", "--quiet"]) == 0
    kept, series = xr.open_zarr("a.zarr").load(), xr.open_zarr("a.zarr", group="series").load()
    last = (series["mode"].values >= 0).sum(axis=1) - 1
    ends = series["position"].values[np.arange(6), last]
    np.testing.assert_array_equal(ends, kept["final_position"].values)  # to the last bit
    assert (series["mode"].values[np.arange(6), last] == 4).all()

    values = ScenarioWork(STONES).draw(0, 6)
    for k in range(6):
        run = with_values(loads(STONES), sample_values(values, k)).simulate()
        # A few bounces, each of which magnifies the rounding by which the two differ.
        np.testing.assert_allclose(run.end.q.centre, kept["final_position"].values[k], atol=1e-6)
        assert len(run.events) == kept["events"].values[k]
        shown = np.asarray(run.states(series["time"].values[: last[k]]).q.centre)
        np.testing.assert_allclose(series["position"].values[k, : last[k]], shown, atol=1e-6)
