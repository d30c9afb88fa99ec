"""Samples of an ensemble over time."""

import numpy as np
import pytest
import xarray as xr
from tests.unit.test_ensemble_cli import SMALL, TABLE

import saltus
from saltus.cli import app

SOLVE = "--set solve.samples=11 --set solve.until=8.0 --set friction.mu=0.05 --quiet"


@pytest.mark.slow
def test_the_first_samples_are_kept_over_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL + TABLE.replace("uniform = [0.01, 0.05]", "uniform = [0.1, 0.9]"))
    command = f"ensemble small.toml --out a.zarr --samples 6 {SOLVE}".split()
    assert app.call([*command, "--series", "3"]) == 0
    summaries, series = xr.open_zarr("a.zarr").load(), xr.open_zarr("a.zarr", group="series").load()
    assert dict(series.position.sizes) == {"sample": 3, "time": 11, "mass": 1, "axis": 3}
    assert series.position.attrs["units"] == "m" and series.mode.attrs["flag_meanings"]
    # A hair later, so that the end of a run that a batch sees earlier is in it.
    assert 0.0 <= float(series.time[-1]) / summaries.stop_time.values[:3].max() - 1.0 < 2e-9
    # The same runs as in the batch, at rtol 1e-10.
    np.testing.assert_allclose(series.position.values[:, -1], summaries.final_position.values[:3], atol=1e-8)

    mu = float(summaries.parameter.sel(key="friction.mu")[2])
    single = saltus.scenarios.load("small.toml", [f"friction.mu={mu!r}", "solve.until=8.0"]).scenario.simulate()
    states = single.states(series.time.values)
    np.testing.assert_allclose(series.position.values[2, :, 0, :2], np.asarray(states.q)[:, 0, :2], atol=1e-12)

    before = series.position.values
    assert app.call([*command, "--series", "5", "--resume"]) == 0
    more = xr.open_zarr("a.zarr", group="series").load()
    assert more.sizes["sample"] == 5 and not list((tmp_path / "a.zarr").glob(".*"))
    np.testing.assert_array_equal(more.position.values[:3], before)
