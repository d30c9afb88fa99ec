"""`stop_time` of runs that had not stopped counted as the end of the run, in means and Sobol indices; and a mean of
mode numbers was printed.
"""

import json

import numpy as np
import pytest
import xarray as xr

from saltus.cli import app
from saltus.ensembles.analyse.report import summarize
from saltus.ensembles.analyse.statistics import exceedance, histogram, statistics
from saltus.ensembles.compute import run_samples
from saltus.scenarios.loader import validate

UNTIL = 10.0


def stored(path, stop_time, mode=None):
    """A store of runs that end at t = 10 s, those with a later stop as they move."""
    true = np.asarray(stop_time)
    variables = {
        "done": ("sample", np.ones(len(true), int)),
        "stopped": ("sample", (true < UNTIL).astype(int)),
        "stop_time": ("sample", np.minimum(true, UNTIL), {"units": "s", "censored_unless": "stopped"}),
        "largest_speed": ("sample", true, {"units": "m s-1"}),
        "parameter": (("sample", "key"), np.linspace(0.0, 1.0, len(true))[:, None]),
    }
    if mode is not None:
        about = {"flag_values": [0, 1, 2], "flag_meanings": "slip pulled stick"}
        variables["final_mode"] = (("sample", "mass"), np.asarray(mode), about)
    xr.Dataset(variables, {"key": ["friction.mu"]}, {"design": "random", "kind": "sliding"}).to_zarr(path)
    return path


@pytest.fixture
def store(tmp_path):
    return stored(tmp_path / "a.zarr", np.linspace(1.0, 13.0, 100), np.tile([0, 2], (100, 1)))


def test_what_censoring_hides_is_left_out_and_the_rest_is_exact():
    true = np.linspace(1.0, 13.0, 100)
    seen = statistics(np.minimum(true, UNTIL), censored=true >= UNTIL)
    assert seen.count == 100 and seen.censored == int((true >= UNTIL).sum()) == 25
    assert np.isnan([seen.mean, seen.sd, seen.standard_error, seen.maximum]).all()
    assert seen.minimum == 1.0
    np.testing.assert_array_equal(seen.quantiles[:3], np.quantile(true, (0.05, 0.25, 0.5)))
    assert np.isnan(seen.quantiles[4])


def test_half_of_the_samples_censored_leave_no_median():
    values = np.array([1.0, 2.0, 3.0, 3.0])
    assert np.isnan(statistics(values, censored=values == 3.0).quantiles[2])
    assert statistics(values).quantiles[2] == 2.5


def test_an_early_end_of_one_run_hides_later_quantiles_only():
    """A run cut off at t = 2 s may have stopped at any time after."""
    values = np.arange(1.0, 12.0)
    hidden = values == 2.0
    seen = statistics(values, censored=hidden)
    assert seen.minimum == 1.0 and np.isnan(seen.quantiles[2])


def test_curves_end_where_censoring_begins():
    true = np.linspace(1.0, 13.0, 100)
    curve = exceedance(np.minimum(true, UNTIL), true >= UNTIL)
    assert curve.values.max() < UNTIL and curve.probability[-1] == pytest.approx(0.25)
    assert histogram(np.minimum(true, UNTIL), true >= UNTIL).counts.sum() == 75


def test_the_summary_counts_what_is_censored_and_gives_no_indices_for_it(store, capsys):
    assert app.call(["summarize", str(store), "--sensitivity", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in data["columns"]}
    assert rows["stop_time"]["censored"] == 25 and rows["stop_time"]["mean"] is None
    assert rows["largest_speed"]["censored"] == 0 and rows["largest_speed"]["mean"] == pytest.approx(7.0)
    assert {row["column"] for row in data["sensitivity"]} == {"largest_speed"}
    assert "25 samples had not stopped" in data["remarks"][0] and "Sobol indices" in data["remarks"][0]
    assert app.call(["summarize", str(store)]) == 0
    told = capsys.readouterr().out
    assert "25 samples had not stopped" in told and "censored" in told and "nan" not in told


def test_modes_are_counted_and_not_averaged(store):
    summary = summarize(store)
    assert not any(row["name"].startswith("final_mode") for row in summary.columns)
    assert [(row["name"], row["value"], row["count"]) for row in summary.categories] == [
        ("final_mode.0", "slip", 100),
        ("final_mode.1", "stick", 100),
    ]


def test_an_ensemble_knows_which_runs_have_stopped():
    bowl = {
        "kind": "sliding",
        "surface": {"type": "paraboloid", "a": 0.5, "b": 0.5},
        "masses": [{"mass": 1.0, "position": [0.5, 0.0]}],
        "friction": {"mu": 0.1},
        "solve": {"until": 3.0},
    }
    found = run_samples.run(validate(bowl), {"friction.mu": np.array([0.0, 0.05, 0.4])})
    assert found["stopped"].tolist() == [0, 0, 1]
    assert found["stop_time"][:2].tolist() == [3.0, 3.0] and found["stop_time"][2] < 3.0
