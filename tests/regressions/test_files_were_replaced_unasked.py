"""`--out old.nc` replaced an old result silently, and `saltus show` wrote pictures that nobody had asked for."""

import numpy as np
import pytest
import xarray as xr

import saltus
from saltus.cli import app


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a stored run that had an event with a vector, and files of earlier work."""
    monkeypatch.chdir(tmp_path)
    data = saltus.scenarios.load("bowl", ["solve.until=0.01", "solve.samples=3"]).scenario.simulate().to_dataset(3)
    events = {
        "event_time": ("event", np.array([0.005]), {"units": "s"}),
        "event_name": ("event", np.array(["impact"]), {"units": "1"}),
        "event_index": ("event", np.array([0]), {"units": "1"}),
        "event_energy_loss": ("event", np.array([0.125]), {"units": "J"}),
        "event_point": (("event", "axis"), np.array([[1.0, 2.5, np.nan]]), {"units": "m"}),
        "event_partner": ("event", np.array([-1]), {"units": "1"}),
    }
    kept = data.drop_vars([name for name in data.data_vars if name.startswith("event_")])
    saltus.io.write(kept.assign(events), tmp_path / "run.nc")
    for name in ("old.nc", "old.png", "old.gif", "old.toml", "old.tif"):
        (tmp_path / name).write_text("precious")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["run", "bowl", "--out", "old.nc"],
        ["run", "bowl", "--plot", "old.png"],
        ["run", "bowl", "--animate", "old.gif"],
        ["show", "run.nc", "--plot", "old.png"],
        ["show", "run.nc", "--animate", "old.gif"],
        ["hazard", "run.nc", "--out", "old.tif"],
        ["hazard", "run.nc", "--out", "new.tif", "--plot", "old.png"],
        ["summarize", "a.zarr", "--plot", "old.png"],
        ["calibrate", "bowl", "--observed", "run.nc", "--fit", "friction.mu=0.1", "--out", "old.toml"],
    ],
)
def test_a_file_that_is_there_is_not_replaced(folder, capsys, words):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert app.call(words) == 2
    told = capsys.readouterr().err
    assert "is there already. Give another name, or --force to replace it." in told and len(told.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_with_force_it_is_replaced(folder):
    short = ["--set", "solve.until=0.01", "--set", "solve.samples=3", "-q"]
    assert app.call(["run", "bowl", "--out", "old.nc", "--force", *short]) == 0
    with xr.open_dataset("old.nc") as data:
        assert data.sizes["time"] == 3


def test_show_prints_every_column_of_the_events_and_writes_nothing(folder, capsys):
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    for words in (["show", "run.nc"], ["show", "run.nc", "--json"]):
        assert app.call(words) == 0
    told = capsys.readouterr()
    header = next(line for line in told.out.splitlines() if line.startswith("time [s]"))
    assert header.split() == ["time", "[s]", "event", "index", "energy", "loss", "[J]", "point", "[m]"]
    assert ["0.005", "impact", "0", "0.125", "(1,", "2.5,", "-)"] in [line.split() for line in told.out.splitlines()]
    assert '"partner": -1' in told.out and told.err == ""
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
