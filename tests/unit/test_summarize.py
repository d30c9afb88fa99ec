"""Statistics of stored ensembles, against closed forms and small cases that can be counted."""

import csv
import json
import sys

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from saltus.cli import app
from saltus.ensembles.analyse import sensitivity
from saltus.ensembles.analyse.report import summarize
from saltus.ensembles.analyse.statistics import exceedance, histogram, proportion_band, statistics
from saltus.ensembles.design import Design
from saltus.errors import ScenarioError
from saltus.scenarios.ensemble import EnsembleModel
from saltus.views.ensemble import figure

# What each key of the Ishigami function (a = 7, b = 0.1) brings about, in closed form (Ishigami and Homma 1990).
A, B = 7.0, 0.1
ALONE = np.array([0.5 * (1 + B * np.pi**4 / 5) ** 2, A**2 / 8, 0.0])
TOGETHER = 8 * B**2 * np.pi**8 / 225
VARIANCE = ALONE.sum() + TOGETHER
FIRST, TOTAL = ALONE / VARIANCE, (ALONE + np.array([TOGETHER, 0.0, TOGETHER])) / VARIANCE
KEYS = ("x", "y", "z")


def ishigami(points):
    x, y, z = points.T
    return np.sin(x) + A * np.sin(y) ** 2 + B * z**4 * np.sin(x)


def points(design, samples, seed=0):
    table = {key: {"uniform": [-np.pi, np.pi]} for key in KEYS}
    drawn = Design(EnsembleModel.model_validate({"samples": samples, "seed": seed, "design": design, **table}))
    return drawn.numbers(drawn.draw(0, samples))


def store(path, columns, parameter=None, keys=KEYS, done=None, design="random", choices=None):
    """Write a store as `saltus ensemble` lays it out."""
    count = len(next(iter(columns.values())))
    parameter = np.zeros((count, len(keys))) if parameter is None else parameter
    dims = {1: ("sample",), 2: ("sample", "rod"), 3: ("sample", "mass", "axis")}
    variables = {
        name: (dims[np.ndim(values)], np.asarray(values), {"units": "s", "long_name": name.replace("_", " ")})
        for name, values in columns.items()
    }
    if "outcome" in variables:
        flags = {"flag_values": [0, 1, 11], "flag_meanings": "finished at_rest failed", "units": ""}
        variables["outcome"] = ("sample", np.asarray(columns["outcome"], "i4"), flags)
    variables["parameter"] = (("sample", "key"), parameter, {"choices": json.dumps(choices or {})})
    variables["done"] = ("sample", np.ones(count, "u1") if done is None else np.asarray(done, "u1"))
    attributes = {"kind": "sliding", "samples": count, "seed": 0, "design": design}
    dataset = xr.Dataset(variables, {"key": np.array(keys, dtype=object)}, attributes)
    dataset.to_zarr(path, zarr_format=2, consolidated=False)
    return path


def call(capsys, *arguments):
    code = app.call([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# --- statistics of an array


def test_moments_and_quantiles_of_numbers_that_can_be_counted():
    found = statistics(np.array([4.0, 1.0, 3.0, 2.0, np.nan, np.inf]))
    assert (found.count, found.missing, found.mean, found.minimum, found.maximum) == (4, 2, 2.5, 1.0, 4.0)
    assert found.sd == pytest.approx(np.sqrt(5 / 3), rel=1e-15)
    assert found.standard_error == pytest.approx(np.sqrt(5 / 12), rel=1e-15)
    assert found.quantiles == pytest.approx((1.15, 1.75, 2.5, 3.25, 3.85), rel=1e-15)


def test_one_value_has_no_scatter_and_none_has_nothing():
    one, none = statistics(np.array([2.0])), statistics(np.array([np.nan]))
    assert one.mean == one.maximum == 2.0 and np.isnan(one.sd) and np.isnan(one.standard_error)
    assert none.count == 0 and none.missing == 1 and np.isnan(none.mean) and np.isnan(none.quantiles).all()


def test_the_standard_error_of_a_saltelli_design_does_not_count_its_samples_as_independent():
    def estimates(seed):
        values = ishigami(points("saltelli", 8 * 64, seed))
        return statistics(values, np.arange(len(values)) // 8)

    # As many values four times over say no more than once.
    values = np.random.default_rng(0).normal(size=500)
    fourfold = statistics(np.repeat(values, 4), np.repeat(np.arange(500), 4))
    assert fourfold.standard_error == pytest.approx(statistics(values).standard_error, rel=1e-12)
    found = estimates(0)
    assert found.standard_error > 1.3 * found.sd / np.sqrt(found.count)


def test_a_histogram_counts_every_finite_value_once():
    values = np.concatenate([np.random.default_rng(0).standard_cauchy(10_000), [np.nan, np.inf]])
    bars = histogram(values)
    assert bars.counts.sum() == 10_000 and len(bars.counts) <= 80
    whole = histogram(np.array([3, 5, 5, 4, 3, 3]))
    assert whole.edges.tolist() == [2.5, 3.5, 4.5, 5.5] and whole.counts.tolist() == [3, 1, 2]


@pytest.mark.parametrize("value", [0.0, 2.5, -1e300, 1e-300])
def test_a_constant_has_one_bin(value):
    bars = histogram(np.full(10, value))
    assert bars.counts.tolist() == [10] and bars.edges[0] < value < bars.edges[1]


def test_an_exceedance_curve_of_few_values_is_counted():
    curve = exceedance(np.array([1.0, 2.0, 2.0, 4.0, np.nan]))
    assert curve.values.tolist() == [1.0, 2.0, 4.0]
    assert curve.probability.tolist() == [0.75, 0.25, 0.0]
    # No value of four beyond 4: 1 - 0.025**(1/4).
    assert curve.low[-1] == 0.0 and curve.high[-1] == pytest.approx(1 - 0.025**0.25, rel=1e-12)


def test_the_band_holds_the_true_exceedance():
    true = stats.gumbel_r()
    curve = exceedance(true.rvs(20_000, random_state=np.random.default_rng(3)))
    assert 200 <= len(curve.values) <= 400
    inside = (curve.low <= true.sf(curve.values)) & (true.sf(curve.values) <= curve.high)
    # Each point is outside with probability 5 %, and neighbours together.
    assert inside.mean() > 0.85
    assert (np.diff(curve.probability) <= 0).all()


def test_the_band_of_a_share_is_that_of_scipy():
    for hits in (0, 1, 7, 10):
        exact = stats.binomtest(hits, 10).proportion_ci(0.95, method="exact")
        assert proportion_band(np.array(hits), 10) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_samples_that_could_not_be_built_do_not_count():
    counts = np.array([3, -1, 5, -1], dtype=np.int32)
    assert (statistics(counts).mean, statistics(counts).missing, statistics(counts).minimum) == (4.0, 2, 3.0)
    assert histogram(counts).counts.sum() == 2 and exceedance(counts).values.tolist() == [3.0, 5.0]


# --- sensitivity


def test_a_saltelli_design_finds_the_indices_of_ishigami():
    samples = 8 * 4096
    found = sensitivity.saltelli(KEYS, np.arange(samples), ishigami(points("saltelli", samples)))
    # The half width of the 95 % intervals is about 0.03 (S1) and 0.04 (ST, S2).
    assert found.first == pytest.approx(FIRST, abs=0.03)
    assert found.total == pytest.approx(TOTAL, abs=0.04)
    second = {(row["key"], row["other"]): row["second"] for row in found.pairs()}
    assert second[("x", "z")] == pytest.approx(TOGETHER / VARIANCE, abs=0.05)
    assert second[("x", "y")] == pytest.approx(0.0, abs=0.05) and second[("y", "z")] == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("design", ["random", "sobol", "latin"])
def test_any_samples_give_the_first_order_indices_of_ishigami(design):
    drawn = points(design, 8192)
    found = sensitivity.given_data(KEYS, drawn, ishigami(drawn), even=design == "sobol")
    # The half width of the 95 % intervals is about 0.02.
    assert found.first == pytest.approx(FIRST, abs=0.025)
    assert found.total is None


def test_a_grid_with_equal_values_does_not_confuse_its_keys():
    # 5 x 40 x 40 points: the second key alone matters.
    axes = np.meshgrid(np.arange(5.0), np.arange(40.0), np.arange(40.0), indexing="ij")
    grid = np.stack([axis.ravel() for axis in axes], axis=1)
    found = sensitivity.given_data(KEYS, grid, grid[:, 1], even=True)
    assert found.first == pytest.approx([0.0, 1.0, 0.0], abs=0.01)


@pytest.mark.parametrize("design", ["random", "sobol", "latin"])
def test_keys_without_influence_are_seen_as_such_in_few_samples(design):
    keys = tuple("abcdef")
    model = EnsembleModel.model_validate(
        {"samples": 256, "design": design} | {key: {"uniform": [0, 1]} for key in keys}
    )
    drawn = np.stack(list(Design(model).draw(0, 256).values()), axis=1)
    found = sensitivity.given_data(keys, drawn, drawn[:, 2] ** 2, even=design == "sobol")
    # By chance: the root of twice the number of classes (9), over the number of samples, is 0.017.
    assert found.first == pytest.approx([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], abs=0.07)
    assert (np.abs(found.first[[0, 1, 3, 4, 5]]) < 2.0 * found.first_confidence[[0, 1, 3, 4, 5]]).all()


def test_groups_of_a_saltelli_design_that_are_not_whole_are_left_out():
    samples = 8 * 2048
    values = ishigami(points("saltelli", samples))
    values[8 * 5 + 3] = np.nan
    kept = np.arange(samples) != 8 * 7
    whole = np.delete(np.arange(samples), [*range(40, 48), *range(56, 64)])
    found = sensitivity.saltelli(KEYS, np.flatnonzero(kept), values[kept])
    expected = sensitivity.saltelli(KEYS, np.arange(len(whole)), values[whole])
    assert (found.first == expected.first).all() and (found.total == expected.total).all()


def test_what_does_not_vary_has_no_indices():
    drawn = points("random", 128)
    assert np.isnan(sensitivity.given_data(KEYS, drawn, np.ones(128)).first).all()
    assert np.isnan(sensitivity.given_data(KEYS, drawn, np.full(128, np.nan)).first).all()
    assert np.isnan(sensitivity.saltelli(KEYS, np.arange(128), np.ones(128)).total).all()


# --- stores


def test_only_complete_samples_count(tmp_path):
    path = store(tmp_path / "a.zarr", {"stop_time": [1.0, 2.0, 99.0, 3.0]}, done=[1, 1, 0, 1])
    summary = summarize(path)
    assert summary.facts["samples"] == 4 and summary.facts["done"] == 3
    assert summary.columns[0]["mean"] == 2.0 and summary.columns[0]["max"] == 3.0


def test_outcomes_are_counted_by_name(tmp_path):
    path = store(tmp_path / "a.zarr", {"outcome": [0, 1, 0, 11, 0]})
    assert [(row["outcome"], row["count"]) for row in summarize(path).outcomes] == [
        ("finished", 3),
        ("at_rest", 1),
        ("failed", 1),
    ]


def test_entries_of_a_column_are_columns_of_their_own(tmp_path):
    values = np.arange(24.0).reshape(4, 2, 3)
    path = store(tmp_path / "a.zarr", {"final_position": values, "many": np.zeros((4, 30))})
    assert [row["name"] for row in summarize(path).columns] == [
        f"final_position.{mass}.{axis}" for mass in range(2) for axis in range(3)
    ]
    (one,) = summarize(path, ["final_position.1.2"]).columns
    assert one["mean"] == values[:, 1, 2].mean()
    assert len(summarize(path, ["many"]).columns) == 30


def test_texts_are_counted_and_not_averaged(tmp_path):
    parameter = np.array([[0.0, 0.5], [1.0, 0.7], [1.0, 0.6]])
    keys, choices = ("solve.method", "friction.mu"), {"solve.method": ["rk4", "tsit5"]}
    path = store(tmp_path / "a.zarr", {"stop_time": [1.0, 2.0, 3.0]}, parameter, keys, choices=choices)
    summary = summarize(path)
    assert [(row["value"], row["count"]) for row in summary.choices] == [("rk4", 1), ("tsit5", 2)]
    assert [row["name"] for row in summary.parameters] == ["friction.mu"]


def test_values_are_read_in_slabs(tmp_path, monkeypatch):
    monkeypatch.setattr("saltus.ensembles.analyse.result.SLAB", 7)
    values, done = np.arange(100.0), np.arange(100) % 3 == 0
    done[7:21] = False
    path = store(tmp_path / "a.zarr", {"stop_time": values}, done=done)
    assert summarize(path).columns[0]["mean"] == pytest.approx(values[done].mean(), rel=1e-15)


def test_a_store_of_one_sample_is_summarized(tmp_path, capsys):
    path = store(tmp_path / "a.zarr", {"outcome": [0], "stop_time": [2.0], "broken": [np.nan]})
    code, out, err = call(capsys, "summarize", path, "--plot", tmp_path / "a.png", "--out", tmp_path / "tables")
    assert code == 0 and err == "" and "1 of 1 complete" in out and "stop_time" in out
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert (tmp_path / "tables" / "summary.png").exists()


# --- the command


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """An ensemble of the Ishigami function, with a few holes."""
    drawn = points("sobol", 2048)
    columns = {
        "outcome": np.where(np.arange(2048) % 8 == 0, 1, 0),
        "stop_time": ishigami(drawn),
        "constant": np.full(2048, 2.5),
        "events": np.arange(2048) % 5,
        "energy_lost": np.where(np.arange(2048) % 100 == 3, np.nan, drawn[:, 1]),
    }
    done = np.arange(2048) < 2000
    return store(tmp_path_factory.mktemp("ensemble") / "result.zarr", columns, drawn, done=done, design="sobol")


def test_tables_are_printed(stored, capsys):
    code, out, err = call(capsys, "summarize", stored, "--sensitivity")
    assert code == 0 and err == ""
    for words in ("2000 of 2048 complete", "finished  1750", "87.500%", "stop_time", "first-order index", "missing"):
        assert words in out


def test_json_has_the_tables_and_the_curves_that_were_asked_for(stored, capsys):
    code, out, _ = call(capsys, "summarize", stored, "--json")
    data = json.loads(out)
    assert code == 0 and data["done"] == 2000 and "exceedance" not in data
    assert [row["name"] for row in data["columns"]] == ["constant", "energy_lost", "events", "stop_time"]
    assert data["columns"][0]["sd"] == 0.0 and data["columns"][1]["missing"] == 20
    code, out, _ = call(capsys, "summarize", stored, "--json", "--column", "stop_time", "--sensitivity")
    data = json.loads(out)
    assert list(data["exceedance"]) == ["stop_time"] and data["exceedance"]["stop_time"][-1]["probability"] == 0.0
    assert [row["first"] for row in data["sensitivity"]] == pytest.approx(list(FIRST), abs=0.05)


def test_tables_are_written(stored, tmp_path, capsys):
    code, out, _ = call(capsys, "summarize", stored, "--out", tmp_path / "tables", "--column", "events")
    assert code == 0 and f"6 files in {tmp_path / 'tables'}" in out
    with (tmp_path / "tables" / "histogram-events.csv").open() as file:
        assert [int(row["count"]) for row in csv.DictReader(file)] == [400] * 5
    with (tmp_path / "tables" / "exceedance-events.csv").open() as file:
        assert [float(row["probability"]) for row in csv.DictReader(file)] == [0.8, 0.6, 0.4, 0.2, 0.0]
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert {"columns.csv", "parameters.csv", "outcomes.csv", "summary.png"} <= names


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--column", "stop_tme"], "has no column 'stop_tme'. Did you mean 'stop_time'?"),
        (["--column", "stop_time.3"], "has no entry '3'"),
        (["--plot", "a.gif"], "--plot writes .png"),
        (["--out", "nowhere/tables"], "there is no folder"),
    ],
)
def test_wrong_options_are_told_in_one_line(stored, arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "summarize", stored, *arguments)
    assert code == 2 and out == "" and err.count("\n") == 1 and words in err


def test_what_is_no_ensemble_is_refused(tmp_path, capsys):
    assert "There is no store" in call(capsys, "summarize", tmp_path / "none.zarr")[2]
    (tmp_path / "empty.zarr").mkdir()
    assert call(capsys, "summarize", tmp_path / "empty.zarr")[0] == 2
    xr.Dataset({"x": ("time", [1.0])}).to_zarr(tmp_path / "run.zarr", zarr_format=2, consolidated=False)
    assert "it has no samples" in call(capsys, "summarize", tmp_path / "run.zarr")[2]
    begun = store(tmp_path / "begun.zarr", {"stop_time": [np.nan, np.nan]}, done=[0, 0])
    assert "No sample" in call(capsys, "summarize", begun)[2]


def test_sensitivity_says_what_it_needs(stored, tmp_path, capsys, monkeypatch):
    few = store(tmp_path / "few.zarr", {"stop_time": np.arange(10.0)})
    with pytest.raises(ScenarioError, match="at least 64 complete samples, got 10"):
        summarize(few, sensitivity=True)
    monkeypatch.setitem(sys.modules, "SALib.analyze.sobol", None)
    columns = {"stop_time": np.arange(64.0)}
    whole = store(tmp_path / "saltelli.zarr", columns, design="saltelli")
    code, _, err = call(capsys, "summarize", whole, "--sensitivity")
    assert code == 2 and "pip install 'saltus[sensitivity]'" in err


def test_the_page_of_an_ensemble_has_diagrams_and_tables_and_no_script(stored, tmp_path, capsys):
    assert app.call(["summarize", str(stored), "--html", str(tmp_path / "a.html"), "--quiet"]) == 0
    text = (tmp_path / "a.html").read_text()
    assert text.count("<svg") >= 2 and "<script" not in text
    assert "stop time [s]" in text and "probability to exceed" in text


def test_what_does_not_vary_takes_no_room(stored, capsys):
    summary = summarize(stored)
    drawn = {axes.get_xlabel() for axes in figure(summary.curves).axes}
    assert "stop time [s]" in drawn and not any("constant" in label for label in drawn)
    table = call(capsys, "summarize", stored, "--sensitivity")[1].split("first-order index")[1]
    assert "stop_time" in table and "constant" not in table and "nan" not in table
