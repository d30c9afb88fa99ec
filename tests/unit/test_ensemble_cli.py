"""saltus ensemble: what it prints, what it refuses, and that nothing is damaged by it."""

import io
import json
import os
import sys
import types

import numpy as np
import pytest
import xarray as xr
from tests.ensemble_work import Column

import saltus
from saltus.cli import app
from saltus.cli.ensemble import clock
from saltus.ensembles.compute import task
from saltus.ensembles.compute.task import fingerprint

SMALL = """
kind = "sliding"
[surface]
type = "sphere"
radius = 1.0
[[masses]]
mass = 1.0
position = [0.3, 0.0]
velocity = [0.0, 0.5]
[friction]
mu = 0.02
[solve]
until = 0.5
"""
TABLE = """
[ensemble]
samples = 100
seed = 3
"friction.mu" = { uniform = [0.01, 0.05] }
"""


def columns(scenario):
    flags = {"flag_values": [0, 1], "flag_meanings": "finished failed"}
    return {
        "outcome": Column((), (), np.dtype("int8"), "", "how it ended", flags),
        "run_out": Column(("mass",), (1,), np.dtype("float64"), "m", "how far it came"),
    }


def run(scenario, values, progress=None):
    mu = values["friction.mu"]
    return {"outcome": (mu > scenario.friction.mu * 2).astype(np.int8), "run_out": 1 / mu[:, None]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder with a scenario, and quick mechanics in place of ours."""
    monkeypatch.chdir(tmp_path)
    quick = types.ModuleType("saltus.ensembles.compute.run_samples")
    quick.columns, quick.run = columns, run
    monkeypatch.setitem(sys.modules, "saltus.ensembles.compute.run_samples", quick)
    monkeypatch.setattr(saltus.ensembles.compute, "run_samples", quick, raising=False)
    (tmp_path / "small.toml").write_text(SMALL + TABLE)
    (tmp_path / "plain.toml").write_text(SMALL)
    return tmp_path


def call(capsys, *arguments):
    """Exit code, stdout and stderr."""
    code = app.call(["ensemble", *(str(argument) for argument in arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def contents(path):
    return {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_an_ensemble_says_how_it_went_and_is_read_by_xarray(folder, capsys):
    code, out, err = call(capsys, "small.toml", "--out", "a.zarr")
    assert code == 0 and err.count("\n") == 1 and "of 100 samples could not be built. The first of them is" in err
    for words in ("100 (random, seed 3)", "finished", "failed", "per second", "a.zarr"):
        assert words in out
    with xr.open_zarr("a.zarr") as dataset:
        assert dataset.sizes["sample"] == 100 and dataset.done.all()
        assert dataset.attrs["kind"] == "sliding" and dataset.attrs["seed"] == 3
        assert dataset.attrs["design"] == "random" and dataset.attrs["saltus_version"] == saltus.__version__
        assert {"jax", "numpy", "zarr"} <= set(json.loads(dataset.attrs["versions"]))
        assert "uniform = [0.01, 0.05]" in dataset.attrs["scenario"]
        mu = dataset.parameter.sel(key="friction.mu").values
        np.testing.assert_array_equal(dataset.run_out.values[:, 0], 1 / mu)
        assert mu.min() >= 0.01 and mu.max() <= 0.05 and len(set(mu)) == 100


def test_an_ensemble_is_not_taken_for_a_run(folder, capsys):
    assert call(capsys, "small.toml", "--out", "a.zarr", "--samples", "3", "--quiet")[0] == 0
    assert app.call(["show", "a.zarr"]) == 2
    assert "is an ensemble, not a single run. `saltus summarize`" in capsys.readouterr().err


def test_json_is_one_document_for_machines(folder, capsys):
    code, out, _ = call(capsys, "small.toml", "--out", "a.zarr", "--samples", "7", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["samples"] == facts["computed"] == sum(facts["outcomes"].values()) == 7
    assert facts["found"] == 0 and facts["rate"] > 0 and facts["store"] == str(folder / "a.zarr")


def test_resume_goes_on_with_the_samples_of_the_store(folder, capsys):
    assert call(capsys, "small.toml", "--out", "a.zarr", "--samples", "200", "--chunk", "50", "--quiet")[0] == 0
    before = contents(folder / "a.zarr")
    (folder / "a.zarr" / "done" / "c" / "2").unlink()
    code, out, _ = call(capsys, "small.toml", "--out", "a.zarr", "--resume", "--json")
    facts = json.loads(out)
    assert (code, facts["samples"], facts["found"], facts["computed"]) == (0, 200, 150, 50)
    assert contents(folder / "a.zarr") == before
    code, out, _ = call(capsys, "small.toml", "--out", "a.zarr", "--resume", "--samples", "220", "--json")
    assert (code, json.loads(out)["samples"], json.loads(out)["found"]) == (0, 220, 200)


def test_other_versions_are_warned_of_and_go_on(folder, capsys, monkeypatch):
    assert call(capsys, "small.toml", "--out", "a.zarr", "--quiet")[0] == 0
    (folder / "a.zarr" / "done" / "c" / "0").unlink()
    newer = {**task.versions(), "jax": "99.0", "zarr": "99.0"}
    monkeypatch.setattr(task, "versions", lambda: newer)
    code, _, err = call(capsys, "small.toml", "--out", "a.zarr", "--resume", "--quiet")
    assert code == 0 and "other versions" in err and "and 99.0. Its samples" in err and "zarr" not in err.split(":")[2]


def test_the_python_function_does_the_same(folder):
    dataset = saltus.ensemble("small.toml", out="a.zarr", samples=10, workers=1, overrides=["friction.mu=0.5"])
    assert dataset.sizes["sample"] == 10 and (dataset.outcome == 0).all()


WRONG = {
    "no table": (["plain.toml"], 'has no table [ensemble], so there is nothing to draw. Add one: [ensemble] with sam'),
    "no samples": (["small.toml", "--samples", "0"], "at least one sample, got samples = 0"),
    "unknown device": (["small.toml", "--device", "tpu"], "Unknown device 'tpu'. Known: cpu, gpu."),
    "no workers": (["small.toml", "--workers", "0"], "`workers` must be at least 1, got 0"),
    "no scenario": (["smal.toml"], "Did you mean 'small.toml'?"),
    "unknown key": (["small.toml", "--set", "ensemble.sampels=3"], "sampels"),
}  # fmt: skip


@pytest.mark.parametrize("arguments, words", WRONG.values(), ids=WRONG)
def test_wrong_input_is_told_in_one_line_and_nothing_is_made(folder, capsys, arguments, words):
    before = names(folder)
    code, out, err = call(capsys, *arguments, "--out", "a.zarr")
    assert (code, out) == (2, "") and words in err and err.count("\n") == 1
    assert names(folder) == before


def test_a_gpu_that_is_not_there_is_told_of(folder, capsys):
    import jax

    if jax.default_backend() == "gpu":
        pytest.skip("there is one")
    code, _, err = call(capsys, "small.toml", "--out", "a.zarr", "--device", "gpu")
    assert code == 2 and "finds no GPU on this machine" in err and names(folder) == ["plain.toml", "small.toml"]


def test_places_that_cannot_be_written_are_refused(folder, capsys):
    (folder / "mine.zarr").mkdir()
    (folder / "mine.zarr" / "a.txt").write_text("precious")
    (folder / "file.zarr").write_text("precious")
    (folder / "closed").mkdir(mode=0o500)
    for place, words in (
        ("mine.zarr", "is no ensemble"),
        ("file.zarr", "is no ensemble"),
        ("a.nc", "end its name in .zarr"),
        ("nowhere/a.zarr", "there is no folder 'nowhere'"),
        *([("closed/a.zarr", "is not writable")] if os.geteuid() else []),  # root may write anywhere
    ):
        for resume in ([], ["--resume"]):
            code, out, err = call(capsys, "small.toml", "--out", place, *resume)
            assert (code, out) == (2, "") and words in err and err.count("\n") == 1
    assert (folder / "mine.zarr" / "a.txt").read_text() == (folder / "file.zarr").read_text() == "precious"


def test_a_store_is_not_overwritten_nor_mixed_with_another(folder, capsys):
    assert call(capsys, "small.toml", "--out", "a.zarr", "--quiet")[0] == 0
    before = contents(folder / "a.zarr")
    for arguments, words in (
        ([], "exists already. Give --resume to go on with it"),
        (["--resume", "--set", "ensemble.seed=4"], "with seed 3, this one is with seed 4"),
        (["--resume", "--set", "ensemble.design=sobol"], "with design 'random', this one is with design 'sobol'"),
        (["--resume", "--set", "solve.until=0.6"], "belongs to another scenario (small, or the same with other val"),
        (["--resume", "--samples", "50"], "has 100 samples, more than the 50 asked for"),
    ):
        code, out, err = call(capsys, "small.toml", "--out", "a.zarr", *arguments)
        assert (code, out) == (2, "") and words in err and err.count("\n") == 1
        assert contents(folder / "a.zarr") == before


def test_samples_that_raise_end_the_run_with_one_line(folder, capsys, monkeypatch):
    def broken(scenario, values, progress=None):
        raise FloatingPointError("Something odd.")

    monkeypatch.setattr(sys.modules["saltus.ensembles.compute.run_samples"], "run", broken)
    code, out, err = call(capsys, "small.toml", "--out", "a.zarr")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert "Samples 0 to 49 could not be computed: FloatingPointError: Something odd. 1 other chunk failed" in err
    assert "0 of 100 samples are done" in err


def test_an_ensemble_of_which_nothing_could_be_built_has_failed(folder, capsys):
    code, out, err = call(capsys, "small.toml", "--out", "a.zarr", "--set", "friction.mu=0.001")
    assert code == 1 and "100 failed" in out and "No sample could be built" in err


def test_why_samples_could_not_be_built_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = """
        kind = "sliding"
        surface = { type = "plane" }
        masses = [{ mass = 1.0, position = [0.0, 0.0], velocity = [1.0, 0.0], mu = 0.1 }]
        solve = { until = 1.0 }
        ensemble = { samples = 2, seed = 9, "masses.0.mu" = { normal = [0.0, 0.2] } }
    """
    (tmp_path / "wrong.toml").write_text(text)
    code, out, err = call(capsys, "wrong.toml", "--out", "a.zarr", "--workers", "1")
    assert code == 1 and "2 failed" in out
    assert "No sample could be built. Sample 0: `masses.0.mu` must be >= 0, got -0." in err


def test_what_tells_ensembles_apart(tmp_path):
    table = '[ensemble]\nsamples = 10\nseed = 1\n"friction.mu" = { csv = "FILE", column = "mu" }\n'
    (tmp_path / "a.csv").write_text("mu\n0.1\n")
    (tmp_path / "b.csv").write_text("mu\n0.1\n")

    def of(text, file="a.csv"):
        return fingerprint(text.replace("FILE", str(tmp_path / file)))

    same = of(table)
    assert of(table.replace("= 10", "= 20")) == of("# other\n" + table) == of(table, "b.csv") == same
    assert of(table.replace("seed = 1", "seed = 2")) != same
    (tmp_path / "b.csv").write_text("mu\n0.2\n")
    assert of(table, "b.csv") != same


def test_durations_are_told_for_people():
    told = [clock(seconds) for seconds in (0.4, 59.6, 125, 3600, float("inf"))]
    assert told == ["0 s", "1 min 00 s", "2 min 05 s", "1 h 00 min", "some time"]


def test_the_bar_shows_rate_and_time_left(monkeypatch):
    from saltus.cli.ensemble import _bar
    from saltus.ensembles.execute.runner import EnsembleProgress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "120")
    with _bar("small", quiet=False) as tell:
        tell(EnsembleProgress(1000, 0, 0, 3.0))
        tell(EnsembleProgress(1000, 250, 0, 10.0, pace=50.0))
    assert "250/1000" in screen.getvalue() and "50 per second, 15 s left" in screen.getvalue()
    with _bar("small", quiet=True) as tell:
        assert tell is None
